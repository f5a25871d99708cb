"""Rows that wait for a partition of the table (the paper's H_S and queue, NAE-A3).

What a batch adds is one *run*. When partitions are loaded, their rows in all runs are answered, and
a run goes when none of its rows is left. Nothing is written when rows leave: for each partition it
is known when it was last loaded, and rows of runs before that have left: runs and loads are
numbered in one sequence.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import StateError
from streamjoin.joins.table.settings import PART
from streamjoin.joins.table.state import PARTS, SPILLED, WAITING, Run, Work
from streamjoin.planning.table import Marks

MOST_RUNS: Final = 48
"""Of more than these half are written into one."""
MOST_ROWS: Final = 1 << 16
"""Of one piece."""
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
        self._work, self._state, self._store = work, work.state, work.store
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
                    n = int(mine.sum())
                    if run.left == n:
                        self._work.remove(WAITING, run)
                    else:
                        self._state.answered(run, n)
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
        found, _ = self.take(np.ones(len(self.rows), np.bool_))
        self._loaded[:] = NEVER
        return found

    def settle(self) -> None:
        """Write down what changed; of many runs the smallest become one."""
        if len(self._state.waiting) > MOST_RUNS:
            runs = sorted(self._state.waiting, key=lambda run: run.left)[: MOST_RUNS // 2]
            rows = pa.concat_batches([self._pending(run) for run in runs])
            for run in runs:
                self._work.remove(WAITING, run)
            self._write(rows)
        self._store.put_blob(PARTS, np.stack([self.rows, self.since, self._loaded]).tobytes())

    def _write(self, rows: pa.RecordBatch) -> None:
        number = self._state.next_piece
        self._work.write(WAITING, rows, mark=number)
        self._read[number] = rows

    def _pending(self, run: Run) -> pa.RecordBatch:
        rows = self._rows(run)
        return rows.filter(pa.array(self._loaded[_parts(rows)] < run.mark))

    def _rows(self, run: Run) -> pa.RecordBatch:
        rows = self._read.get(run.slice)
        if rows is None:
            rows = self._work.read(WAITING, run, pa.field(PART, pa.int32()))
            self._read[run.slice] = rows
        return rows


def _parts(rows: pa.RecordBatch) -> NDArray[np.int32]:
    return np.asarray(rows.column(rows.num_columns - 1))


class Spill:
    """Rows for which there was no time, during one batch: answered when the load falls (NAE-A12).

    They are pieces of the state, so they are under the checkpoint, survive a restart, and none of
    them is lost or answered twice. The first rows of a piece may have left.

    Attributes
    ----------
    shed, reloaded
        Rows that went and came in this batch.
    """

    def __init__(self, work: Work) -> None:
        self._work, self._state = work, work.state
        self.shed = self.reloaded = 0

    @property
    def rows(self) -> int:
        """How many are kept."""
        return sum(piece.left for piece in self._state.spilled)

    @property
    def bytes(self) -> int:
        """What they take."""
        return sum(piece.size * piece.left // piece.rows for piece in self._state.spilled)

    def add(self, rows: pa.RecordBatch) -> None:
        """Keep rows for later."""
        self.shed += len(rows)
        for start in range(0, len(rows), MOST_ROWS):
            self._work.write(SPILLED, rows.slice(start, MOST_ROWS), self._work.now_us)

    def take(self, rows: int) -> Sequence[pa.RecordBatch]:
        """The oldest rows, not more than so many."""
        found = []
        while self._state.spilled and rows > 0:
            piece = self._state.spilled[0]
            n = min(rows, piece.left)
            whole = self._work.read(SPILLED, piece)
            found.append(whole.slice(piece.rows - piece.left, n))
            if n < piece.left:
                self._state.spilled[0] = replace(piece, left=piece.left - n)
            else:
                self._work.remove(SPILLED, piece)
            rows -= n
            self.reloaded += n
        return found
