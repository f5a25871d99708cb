"""HYBRIDJOIN in batches: rows wait for the partition that has their key (NAE-A6, NAE-A7).

A partition's turn comes when one of its rows has waited long enough, or when the rows take too much
memory (then the fullest first), so that it answers as many as possible at once. Then it is loaded,
or the keys of its rows are looked up if that costs less. If there is not time for all, those that
answer most go first, and the others' rows are *spilled* once they can wait no longer: each has had
its chance before it is shed (NAE-A10). The paper takes the partition of one row at a tuned position
of its queue, because it cannot see how many rows wait for which (NAE-A14); here that is counted.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.joins.table.answers import Columns
from streamjoin.joins.table.arrivals import NOWHERE, SEVERAL
from streamjoin.joins.table.back_ends import LookUps, Places, Unreached, answered, reaching
from streamjoin.joins.table.spill import Spill
from streamjoin.joins.table.waiting import Waiting
from streamjoin.joins.table.work import Work
from streamjoin.planning.table import (
    Marks,
    affordable,
    cheapest,
    emptiest,
    fullest,
    is_waiting_cheaper,
)

PIECES: Final = 4
"""Of the rows that have room so much of one is copied at a time."""


class Turns(NamedTuple):
    """Partitions whose rows are answered now, and those whose rows are spilled."""

    due: Marks
    shed: Marks


class Hybrid:
    """Lets rows wait for their partition, or looks them up at once if that is cheaper.

    Parameters
    ----------
    work, waiting, spill
        The batch, rows that wait, and rows that are spilled.
    """

    def __init__(self, work: Work, waiting: Waiting, spill: Spill) -> None:
        self._work, self._waiting, self._spill = work, waiting, spill
        self._look_ups = LookUps(work, spill)

    def answer(self, rows: pa.RecordBatch, places: Places) -> Iterator[Columns]:
        """Results of the partitions whose turn it is."""
        try:
            parts = self._located(rows) if places is None else places
        except Unreached as error:
            error.spill(self._work, self._spill, rows)
            return
        yield from self._work.answers.without(rows.filter(pa.array(parts == NOWHERE)))
        if (parts == SEVERAL).any():
            yield from self._look_ups.answer(rows.filter(pa.array(parts == SEVERAL)))
        here = parts >= 0
        if not here.all():
            rows, parts = rows.filter(pa.array(here)), parts[here]
        turns = self._turns(rows, parts)
        if turns.shed.any():
            self._spill.add(self._taken(rows, parts, turns.shed)[0])
        for some in self._chunks(rows, parts, turns.due):
            yield from self._answered(*self._taken(rows, parts, some), some)
        later = ~(turns.due | turns.shed)[parts]
        self._waiting.add(rows.filter(pa.array(later)), parts[later], self._work.now_us)

    def _located(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        with reaching():
            return self._work.parts.locate(rows)

    def _chunks(
        self, rows: pa.RecordBatch, parts: NDArray[np.int32], due: Marks
    ) -> Iterator[Marks]:
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
        self, rows: pa.RecordBatch, parts: NDArray[np.int32], which: Marks
    ) -> tuple[pa.RecordBatch, NDArray[np.int32]]:
        """Rows of some partitions, those that came now and those that waited, in their order."""
        now = which[parts]
        old, old_parts = self._waiting.take(which)
        all_parts = np.concatenate([old_parts, parts[now]])
        order = np.argsort(all_parts, kind="stable")
        taken = pa.concat_batches([*old, rows.filter(pa.array(now))]).take(pa.array(order))
        return taken, all_parts[order]

    def _answered(
        self, rows: pa.RecordBatch, parts: NDArray[np.int32], due: Marks
    ) -> Iterator[Columns]:
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
                error.spill(self._work, self._spill, rest)
                return
            self._work.state.loads += len(some)

    def _loaded(self, some: NDArray[np.int64], rows: pa.RecordBatch) -> Iterator[Columns]:
        with reaching():
            part = self._work.parts.scan(some.tolist())
        if self._work.join.knows_places:
            yield from answered(self._work, rows, part)
            return
        # Between two questions to a database rows may move: what was not where it was said to be
        # is looked up.
        missed: list[pa.RecordBatch] = []
        yield from answered(self._work, rows, part, missed)
        for some_rows in missed:
            yield from self._look_ups.all(some_rows)

    def _groups(self, which: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """Partitions that the disk buffer has room for together."""
        filled = np.cumsum(self._work.parts.sizes(which)) // max(1, self._work.room.buffer)
        return np.split(which, np.flatnonzero(np.diff(filled)) + 1) if len(which) else []

    def _turns(self, rows: pa.RecordBatch, parts: NDArray[np.int32]) -> Turns:
        n = self._waiting.rows + np.bincount(parts, minlength=len(self._waiting.rows))
        wanted: Marks = n > 0
        nothing = np.zeros(len(n), np.bool_)
        room = self._room(rows, int(n.sum()))
        overdue = wanted & (self._waiting.since <= self._work.now_us - self._work.join.longest_wait)
        if self._work.end or not self._waits(room):
            due = wanted
        else:
            rest = np.where(overdue, 0, n)
            due = overdue | fullest(rest, int(rest.sum()) - room)
        left = self._work.left_us
        if left is None:
            return Turns(due, nothing)
        cost = cheapest(self._work.costs, n)
        if float(cost[due].sum()) <= left:
            return Turns(due, nothing)
        now = affordable(cost, n, wanted, left)
        kept = np.where(now | overdue, 0, n)
        return Turns(now, ~now & (overdue | emptiest(kept, int(kept.sum()) - room)))

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
