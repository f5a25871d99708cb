"""MESHJOIN: the table passes by, part after part, and each row meets all of it (NAE-A4)."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.core.index import HashIndex
from streamjoin.errors import StateError
from streamjoin.joins.table.back_ends import Places, Unreached, reaching
from streamjoin.joins.table.rows import Columns, row_keys
from streamjoin.joins.table.state import WAITING, Run, Work

ANSWERED: Final = 4
"""First number of the keys of blobs that say which rows of a run have got a result."""
Entry = tuple[Run, pa.RecordBatch, NDArray[np.bool_]]


class Mesh:
    """Loads some partitions in each batch.

    Parameters
    ----------
    work
        The batch.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._state, self._store = work.state, work.store

    def answer(self, rows: pa.RecordBatch, places: Places | None) -> Iterator[Columns]:
        """Let rows in, load partitions, let out rows that have met all of them."""
        n = self._state.circle = self._work.parts.n
        if n == 0:
            yield from self._work.answers.without(rows)
            return
        n_loads = n if self._work.end else self._n_loads(rows)
        room = n_loads * self._work.room.waiting // max(1, n)
        if self._work.left_us is not None and rows.nbytes > room:  # there is not time for all
            kept = room * len(rows) // rows.nbytes
            self._work.spill.add(rows.slice(kept))
            rows = rows.slice(0, kept)
        self._enter(rows)
        runs = self._entries()
        for _ in range(n_loads if runs else 0):
            here = [one for one in runs if self._state.loads - one[0].mark < n]
            passing = self._met(self._state.loads % n, here)
            try:
                yield from self._work.timed(self._work.scans, 1, passing)
            except Unreached as error:
                error.spill(self._work, rows.slice(0, 0))
                break
            self._state.loads += 1
        for run, some, found in runs:
            if self._state.loads - run.mark >= n:
                yield from self._work.answers.without(some.filter(pa.array(~found)))
                self._remove(run)
            elif (left := int((~found).sum())) < run.left:
                self._store.put_blob(_key(run), np.packbits(found).tobytes())
                self._state.answered(run, run.left - left)

    def restart(self) -> Iterator[Columns]:
        """The table is another one now: rows that have got nothing yet meet all of it again.

        Rows that have are done if keys are unique; otherwise they meet those partitions that were
        still before them, under the numbers that these have now.
        """
        for run, rows, found in self._entries():
            if not self._work.join.unique and found.any():
                some = rows.filter(pa.array(found))
                before_them = range(self._state.loads, run.mark + self._state.circle)
                for partition in {number % self._state.circle for number in before_them}:
                    if partition < self._work.parts.n:
                        with reaching():
                            part = self._work.parts.scan([partition])
                        yes, n = np.ones(len(some), np.bool_), np.zeros(len(part), np.int64)
                        yield from self._work.answers.match(some, part, yes, n)
            self._remove(run)
            self._enter(rows.filter(pa.array(~found)))

    def _met(self, partition: int, runs: list[Entry]) -> Iterator[Columns]:
        with reaching():
            part = self._work.parts.scan([partition])
        matched = np.zeros(len(part), np.int64)
        for run, rows, found in runs:
            index = self._index(run, rows)
            yield from self._work.answers.match(rows, part, found, matched, index)
        if self._work.front is not None:
            self._work.front.offer(part, matched)

    def _n_loads(self, rows: pa.RecordBatch) -> int:
        """So many that no row waits too long, and that all that wait have room (w = h_S / k)."""
        n, runs, join = self._work.parts.n, self._state.waiting, self._work.join
        if join.longest_wait == 0:
            wanted = n
        else:
            by_wait = 1
            if runs:
                left = n - (self._state.loads - runs[0].mark)
                pace = max(1, self._work.now_us - runs[-1].first)
                in_time = max(1, (runs[0].first + join.longest_wait - self._work.now_us) // pace)
                by_wait = -(-left // in_time)
            by_room = -(-n * int(rows.nbytes) // self._work.room.waiting)
            wanted = max(1, min(n, max(by_wait, by_room)))
        left_us = self._work.left_us
        return wanted if left_us is None else min(wanted, 1 + int(left_us / self._work.costs.scan))

    def _entries(self) -> list[Entry]:
        return [
            (run, self._work.read(WAITING, run), self._answered(run)) for run in self._state.waiting
        ]

    def _enter(self, rows: pa.RecordBatch) -> None:
        if rows.num_rows:
            self._work.write(WAITING, rows, self._work.now_us, self._state.loads)

    def _remove(self, run: Run) -> None:
        self._work.remove(WAITING, run)
        self._store.remove_blob(_key(run))

    def _answered(self, run: Run) -> NDArray[np.bool_]:
        blob = self._store.get_blob(_key(run))
        if blob is None:
            if run.left != run.rows:
                raise StateError(
                    f"which waiting rows of run {run.slice} are answered is missing in the state;"
                    " restore the checkpoint from a copy or start with a new one"
                )
            return np.zeros(run.rows, np.bool_)
        return np.unpackbits(np.frombuffer(blob, np.uint8), count=run.rows).astype(np.bool_)

    def _index(self, run: Run, rows: pa.RecordBatch) -> HashIndex:
        index = self._store.get_index(WAITING, run)
        if index is None:
            keys = row_keys(rows)
            index = HashIndex.build(keys, np.zeros_like(keys))
            self._store.put_index(WAITING, run, index)
        return index


def _key(run: Run) -> tuple[int, int, int]:
    return ANSWERED, run.slice, 0
