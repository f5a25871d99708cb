"""Rows that wait for a partition of the table (the paper's H_S and queue, NAE-A3).

What a batch adds is one *run*. When partitions are loaded, their rows in all runs are answered, and
a run goes when none of its rows is left. Nothing is written when rows leave: for each partition it
is known when it was last loaded, and rows of runs before that have left: runs and loads are
numbered in one sequence.
"""

import zlib
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import StateError
from streamjoin.joins.table.arrivals import stored
from streamjoin.joins.table.settings import PART
from streamjoin.joins.table.state import PARTS, WAITING, Run
from streamjoin.joins.table.work import Work
from streamjoin.planning.table import Marks

MOST_RUNS: Final = 48
"""Of more than these half are written into one."""
NEVER: Final = -1
LATEST: Final = np.iinfo(np.int64).max


class Waiting:
    """Waiting rows during one batch.

    Parameters
    ----------
    work
        The batch.

    Attributes
    ----------
    rows
        How many wait for each partition.
    since
        When the first of them came, by the clock.
    """

    def __init__(self, work: Work) -> None:
        self._join, self._state, self._store = work.join, work.state, work.store
        self._read: dict[int, pa.RecordBatch] = {}
        blob = work.store.get_blob(PARTS)
        known = np.empty((3, 0), np.int64)
        if blob is not None and len(blob) % known.itemsize == 0:
            known = np.frombuffer(blob, np.int64).reshape(3, -1)
        if known[0].sum() != self._state.n_waiting:
            raise StateError(
                "what the waiting rows wait for is missing in the state, or is of others; restore"
                " the checkpoint from a copy or start with a new one"
            )
        more = max(0, work.parts.n - known.shape[1])
        new = np.repeat([[0], [LATEST], [NEVER]], more, axis=1)
        self.rows, self.since, self._loaded = np.concatenate([known, new], axis=1)

    @property
    def total(self) -> int:
        """How many rows wait."""
        return int(self.rows.sum())

    @property
    def bytes(self) -> int:
        """What they take: of runs of which some have left, the part of those that wait."""
        return sum(run.size * run.left // run.rows for run in self._state.waiting)

    def take(self, which: Marks) -> tuple[list[pa.RecordBatch], NDArray[np.int32]]:
        """The rows that wait for some partitions, and for which each does; they no longer do."""
        found, parts = [], [np.empty(0, np.int32)]
        if self.rows[which].any():
            for run in list(self._state.waiting):
                rows = self._rows(run)
                of = _parts(rows)
                mine = which[of] & (self._loaded[of] < run.mark)
                if mine.any():
                    found.append(rows.filter(pa.array(mine)).drop_columns([PART]))
                    parts.append(of[mine])
                    self._leave(run, int(mine.sum()))
        self.rows[which], self.since[which] = 0, LATEST
        self._loaded[which] = self._state.number()
        return found, np.concatenate(parts)

    def add(self, rows: pa.RecordBatch, parts: NDArray[np.int32], now_us: int) -> None:
        """Let rows wait."""
        if not rows.num_rows:
            return
        self._write(rows.append_column(PART, pa.array(parts, pa.int32())))
        self.rows += np.bincount(parts, minlength=len(self.rows))
        here = np.unique(parts)
        self.since[here] = np.minimum(self.since[here], now_us)

    def take_all(self) -> list[pa.RecordBatch]:
        """All rows, without their partitions; none waits any more."""
        found = [self._pending(run).drop_columns([PART]) for run in self._state.waiting]
        for run in list(self._state.waiting):
            self._remove(run)
        self.rows[:], self.since[:], self._loaded[:] = 0, LATEST, NEVER
        return found

    def settle(self) -> None:
        """Write down what changed; of many runs the smallest become one."""
        if len(self._state.waiting) > MOST_RUNS:
            runs = sorted(self._state.waiting, key=lambda run: run.left)[: MOST_RUNS // 2]
            rows = pa.concat_batches([self._pending(run) for run in runs])
            for run in runs:
                self._remove(run)
            self._write(rows)
        self._store.put_blob(PARTS, np.stack([self.rows, self.since, self._loaded]).tobytes())

    def _write(self, rows: pa.RecordBatch) -> None:
        blob = rows.serialize()
        number = self._state.number()
        run = Run(
            number, self._state.sequence, len(rows), 0, 0, blob.size, zlib.crc32(blob),
            left=len(rows), mark=number,
        )  # fmt: skip
        self._store.put(WAITING, run, blob)
        self._state.waiting.append(run)
        self._read[run.slice] = rows

    def _pending(self, run: Run) -> pa.RecordBatch:
        rows = self._rows(run)
        return rows.filter(pa.array(self._loaded[_parts(rows)] < run.mark))

    def _rows(self, run: Run) -> pa.RecordBatch:
        rows = self._read.get(run.slice)
        if rows is None:
            schema = stored(self._join.stream, pa.field(PART, pa.int32()))
            rows = pa.ipc.read_record_batch(self._store.get(WAITING, run), schema)
            self._read[run.slice] = rows
        return rows

    def _leave(self, run: Run, rows: int) -> None:
        if run.left == rows:
            self._remove(run)
        else:
            self._state.answered(run, rows)

    def _remove(self, run: Run) -> None:
        self._store.remove(WAITING, run)
        self._state.waiting.remove(run)


def _parts(rows: pa.RecordBatch) -> NDArray[np.int32]:
    return np.asarray(rows.column(rows.num_columns - 1))
