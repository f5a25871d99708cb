"""Ways to answer the rows that the front stage has missed.

*inlj* (NAE-A15): each row is looked up at once. *hybridjoin* (NAE-A6): rows wait for the partition
that has their key. *meshjoin* (NAE-A4): partitions pass by in a circle, and each row waits until it
has met them all; no index is needed (`mesh.py`).

HYBRIDJOIN in batches: a partition's turn comes when one of its rows has waited long enough, or when
the rows take too much memory (then the fullest first), so that it answers as many as possible at
once (NAE-A7). Then it is loaded, or the keys of its rows are looked up if that costs less. If there
is not time for all, those that answer most go first, and the others' rows are *spilled* once they
can wait no longer: each has had its chance before it is shed (NAE-A10). The paper takes the
partition of one row at a tuned position of its queue, because it cannot see how many rows wait for
which (NAE-A14); here that is counted.
"""

import logging
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import TableError
from streamjoin.joins.table.rows import NOWHERE, SEVERAL, Columns, row_keys
from streamjoin.joins.table.settings import STREAM
from streamjoin.joins.table.state import Work
from streamjoin.joins.table.waiting import Waiting
from streamjoin.planning.table import (
    Marks,
    affordable,
    cheapest,
    emptiest,
    fullest,
    is_waiting_cheaper,
)

logger = logging.getLogger(__name__)
Places = NDArray[np.int32]
"""Partitions of rows."""
PIECES: Final = 4
"""Of the rows that have room so much of one is copied at a time."""


class Unreached(TableError):
    """The table could not be read; nothing has come of the rows that needed it."""

    def __init__(self, error: TableError) -> None:
        super().__init__(str(error))
        self.error = error

    def spill(self, work: Work, rows: pa.RecordBatch) -> None:
        """Leave the rows for later, if that is allowed."""
        if not work.is_patient:
            raise self.error
        logger.warning("%s; %d rows wait for it", self, len(rows))
        work.spill.add(rows)


@contextmanager
def reaching() -> Iterator[None]:
    """Tell errors of reading the table from all others."""
    try:
        yield
    except TableError as error:
        raise Unreached(error) from error


class LookUps:
    """Looks up each row at once (INLJ)."""

    def __init__(self, work: Work) -> None:
        self._work = work

    def answer(self, rows: pa.RecordBatch, places: Places | None = None) -> Iterator[Columns]:
        """Results of all rows for which there is time; first of keys that have many."""
        left = self._work.left_us
        if left is not None and left < len(rows) * self._work.costs.look_up:
            _, at, often = np.unique(row_keys(rows), return_inverse=True, return_counts=True)
            n = max(1, int(left / self._work.costs.look_up))
            if n < len(often):
                now = np.zeros(len(often), np.bool_)
                now[np.argsort(-often, kind="stable")[:n]] = True
                self._work.spill.add(rows.filter(pa.array(~now[at])))
                rows = rows.filter(pa.array(now[at]))
        yield from self.all(rows)

    def all(self, rows: pa.RecordBatch) -> Iterator[Columns]:
        """Results of all rows, as many at a time as memory holds."""
        width = 1 + rows.nbytes // max(1, len(rows)) + int(self._work.parts.table.bytes_per_row)
        step = max(1, self._work.room.buffer // width)
        for start in range(0, len(rows), step):
            some = rows.slice(start, step)
            try:
                yield from self._work.timed(self._work.look_ups, len(some), self._found(some))
            except Unreached as error:
                error.spill(self._work, rows.slice(start))
                return

    def _found(self, rows: pa.RecordBatch) -> Iterator[Columns]:
        columns = [rows.column(i) for i in self._work.join.keys[STREAM]]
        with reaching():
            part = self._work.parts.look_up(columns)
        missed = yield from answered(self._work, rows, part)
        yield from self._work.answers.without(missed)


def answered(
    work: Work, rows: pa.RecordBatch, part: pa.RecordBatch
) -> Generator[Columns, None, pa.RecordBatch]:
    """Results of rows that a part of the table answers; returns the others."""
    found, matched = np.zeros(len(rows), np.bool_), np.zeros(len(part), np.int64)
    yield from work.answers.match(rows, part, found, matched)
    if work.front is not None:
        work.front.offer(part, matched)
    return rows.filter(pa.array(~found))


class Hybrid:
    """Lets rows wait for their partition, or looks them up at once if that is cheaper.

    Parameters
    ----------
    work, waiting
        The batch, and rows that wait.
    """

    def __init__(self, work: Work, waiting: Waiting) -> None:
        self._work, self._waiting = work, waiting
        self._look_ups = LookUps(work)

    def answer(self, rows: pa.RecordBatch, places: Places | None) -> Iterator[Columns]:
        """Results of the partitions whose turn it is."""
        try:
            with reaching():
                parts = self._work.parts.locate(rows) if places is None else places
        except Unreached as error:
            error.spill(self._work, rows)
            return
        yield from self._work.answers.without(rows.filter(pa.array(parts == NOWHERE)))
        if (parts == SEVERAL).any():
            yield from self._look_ups.answer(rows.filter(pa.array(parts == SEVERAL)))
        here = parts >= 0
        if not here.all():
            rows, parts = rows.filter(pa.array(here)), parts[here]
        due, shed = self._turns(rows, parts)
        if shed.any():
            self._work.spill.add(self._taken(rows, parts, shed)[0])
        for some in self._chunks(rows, parts, due):
            yield from self._answered(*self._taken(rows, parts, some), some)
        later = ~(due | shed)[parts]
        self._waiting.add(rows.filter(pa.array(later)), parts[later], self._work.now_us)

    def _chunks(self, rows: pa.RecordBatch, parts: Places, due: Marks) -> Iterator[Marks]:
        """Partitions that are due, not too many at a time: their rows are copied."""
        n = self._waiting.rows + np.bincount(parts, minlength=len(self._waiting.rows))
        which = np.flatnonzero(due)
        most = max(1, self._room(rows, int(n.sum())) // PIECES)
        number = np.cumsum(n[which]) // most
        for some in np.split(which, np.flatnonzero(np.diff(number)) + 1):
            marks = np.zeros(len(due), np.bool_)
            marks[some] = True
            yield marks

    def _taken(
        self, rows: pa.RecordBatch, parts: Places, which: Marks
    ) -> tuple[pa.RecordBatch, Places]:
        """Rows of some partitions, those that came now and those that waited, in their order."""
        now = which[parts]
        old, old_parts = self._waiting.take(which)
        all_parts = np.concatenate([old_parts, parts[now]])
        order = np.argsort(all_parts, kind="stable")
        taken = pa.concat_batches([*old, rows.filter(pa.array(now))]).take(pa.array(order))
        return taken, all_parts[order]

    def _answered(self, rows: pa.RecordBatch, parts: Places, due: Marks) -> Iterator[Columns]:
        """Results of rows that are due: some partitions are loaded, of others keys looked up."""
        costs = self._work.costs
        n = np.bincount(parts, minlength=len(due))
        loaded = due & (n > 0) & (n * costs.look_up >= costs.scan)
        if self._work.join.algorithm == "hybridjoin":
            loaded = due & (n > 0)
        singly = ~loaded[parts]
        if singly.any():
            yield from self._look_ups.all(rows.filter(pa.array(singly)))
        begins = np.concatenate([[0], np.cumsum(n)])
        for some in self._groups(np.flatnonzero(loaded)):
            first, last = int(begins[some[0]]), int(begins[some[-1] + 1])
            mine = rows.slice(first, last - first).filter(pa.array(loaded[parts[first:last]]))
            try:
                yield from self._work.timed(self._work.scans, len(some), self._loaded(some, mine))
            except Unreached as error:
                rest = rows.slice(first).filter(pa.array(loaded[parts[first:]]))
                error.spill(self._work, rest)
                return
            self._work.state.loads += len(some)

    def _loaded(self, some: NDArray[np.int64], rows: pa.RecordBatch) -> Iterator[Columns]:
        with reaching():
            part = self._work.parts.scan(some.tolist())
        missed = yield from answered(self._work, rows, part)
        if self._work.join.knows_places:
            yield from self._work.answers.without(missed)
        else:
            # Between two questions to a database rows may move: what was not where it was said to
            # be is looked up.
            yield from self._look_ups.all(missed)

    def _groups(self, which: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Partitions that the disk buffer has room for together."""
        table = self._work.parts.table
        sizes = table.partition_rows[which] * np.float64(table.bytes_per_row)
        filled = np.cumsum(sizes) // max(1, self._work.room.buffer)
        return np.split(which, np.flatnonzero(np.diff(filled)) + 1) if len(which) else []

    def _turns(self, rows: pa.RecordBatch, parts: Places) -> tuple[Marks, Marks]:
        """Partitions whose rows are answered now, and those whose rows are spilled."""
        n = self._waiting.rows + np.bincount(parts, minlength=len(self._waiting.rows))
        wanted: Marks = n > 0
        room = self._room(rows, int(n.sum()))
        overdue = wanted & (self._waiting.since <= self._work.now_us - self._work.join.longest_wait)
        if self._work.end or not self._waits(room):
            due = wanted
        else:
            rest = np.where(overdue, 0, n)
            due = overdue | fullest(rest, int(rest.sum()) - room)
        left, cost = self._work.left_us, cheapest(self._work.costs, n)
        if left is None or float(cost[due].sum()) <= left:
            return due, np.zeros(len(n), np.bool_)
        now = affordable(cost, n, wanted, left)
        kept = np.where(now | overdue, 0, n)
        return now, ~now & (overdue | emptiest(kept, int(kept.sum()) - room))

    def _room(self, rows: pa.RecordBatch, total: int) -> int:
        """How many rows may wait."""
        held = self._waiting.bytes + rows.nbytes
        return int(self._work.room.waiting / max(1.0, held / max(1, total)))

    def _waits(self, room: int) -> bool:
        """Whether rows wait at all; where that is free to choose, whether it is cheaper."""
        join, state = self._work.join, self._work.state
        if join.longest_wait == 0:
            return False
        if join.algorithm == "auto":
            wait_s = min(join.longest_wait / 1e6, room / max(1.0, state.rate))
            state.waits = is_waiting_cheaper(
                self._work.costs, state.rate, wait_s, self._work.parts.n, state.waits
            )
            return state.waits
        return True
