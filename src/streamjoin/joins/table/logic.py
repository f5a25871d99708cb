"""What happens to a batch of a join of a stream with a table.

1. If the table has changed, rows of the cache that may be others now are dropped, and rows that
   wait for partitions that are gone come again.
2. If there is time, rows that were spilled come again; if rows are shed upfront and there is not
   time for all, some of those that came are spilled.
3. Rows whose table row is cached are answered.
4. The back end takes the others: it answers them, and others that have waited, or lets them wait,
   or spills them.
5. Table rows that were read and are frequent enough enter the cache; what things cost is noted.
"""

from collections import Counter
from collections.abc import Iterator
from time import perf_counter_ns
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin.joins.base import WindowStore
from streamjoin.joins.table.back_ends import Hybrid, LookUps, Places
from streamjoin.joins.table.front_stage import FrontStage
from streamjoin.joins.table.mesh import Mesh
from streamjoin.joins.table.rows import Answers, Columns, Parts, TableArrival
from streamjoin.joins.table.settings import LOOK_UP_SHARE, TableJoin
from streamjoin.joins.table.state import Clock, TableJoinState, Work
from streamjoin.joins.table.waiting import Spill, Waiting
from streamjoin.metrics import Details
from streamjoin.planning.table import WEIGHT, best_front_share, skew_from_hits
from streamjoin.tables.base import Changes, OpenTable

Counts = Counter[str]
REVIEW: Final = 16
"""Batches after which the division of the memory is thought over."""
ENOUGH_ROWS: Final = 1000
SMALL_STEP: Final = 1_000_000
"""Microseconds by which a clock may be put back without notice."""


class TableJoinLogic:
    """Joins batch after batch; knows no engine.

    Parameters
    ----------
    join
        Settings.
    state
        Directory of what is remembered; changed in place.
    store
        Where the pieces of that directory are.
    table
        The table.
    clock
        Tells what things cost, in nanoseconds; not what time it is.
    is_patient
        Whether rows are left for later if the table cannot be reached.

    Attributes
    ----------
    counts
        What happened in the last batch.
    """

    def __init__(
        self,
        join: TableJoin,
        state: TableJoinState,
        store: WindowStore,
        table: OpenTable,
        clock: Clock = perf_counter_ns,
        is_patient: bool = False,
    ) -> None:
        self.join, self.state, self._store, self._table = join, state, store, table
        self._clock, self._is_patient = clock, is_patient
        self.counts = Counts()

    def on_batch(
        self,
        arrival: TableArrival,
        now_us: int,
        changes: Changes | None = None,
        end: bool = False,
    ) -> Iterator[Columns]:
        """Join one batch and hand out its results, column by column.

        Parameters
        ----------
        arrival
            What the stream brings.
        now_us
            The clock.
        changes
            How the table differs from what it was in the batch before; None for not at all.
        end
            Whether the stream ends here: all that waits is answered. So it is after the clock was
            put back, for then nobody knows how long anything has waited.

        The caller must exhaust the iterator; `counts` then speaks of this batch.
        """
        self.counts = Counts(rows=len(arrival.rows) + len(arrival.loose), null=len(arrival.loose))
        if now_us < self.state.clock - SMALL_STEP:
            self.state.clock, end = now_us, True
        work = Work(
            self.join, self.state, self._store, Parts(self.join, self._table), Answers(self.join),
            now_us, end, self._clock, self._is_patient,
        )  # fmt: skip
        if self.join.is_cached and (self.join.unique or self.join.algorithm != "meshjoin"):
            work.front = FrontStage(work)
        is_left = bool(self.state.waiting) and self.join.algorithm != "meshjoin"
        if self.join.has_places or is_left:
            work.waiting = Waiting(work)
        self._allowed_us = work.allowed_us
        work.spill = spill = Spill(work)
        loads, waited = self.state.loads, self.state.n_waiting
        yield from work.answers.without(arrival.loose)
        again: list[pa.RecordBatch] = []
        if work.waiting is not None and not self.join.has_places:
            again += work.waiting.take_all()  # they wait since another algorithm was at work
        if self._table.version != self.state.version:
            yield from self._change(work, changes, again)
        back_end, left = self._back_end(work), spill.rows
        rows, places = self._admitted(work, arrival, again)
        n_rows = 0
        while True:
            missed = np.ones(len(rows), np.bool_)
            if work.front is not None:
                yield from work.front.answer(rows, missed)
            if not n_rows:
                self._note_rate(work, int(missed.sum()))
            n_rows += len(rows)
            if not missed.all():
                rows = rows.filter(pa.array(missed))
                places = None if places is None else places[missed]
            yield from back_end.answer(rows, places)
            # What was spilled before comes again, as much at a time as there is room for.
            if work.allowed_us is not None or spill.reloaded >= left:
                break
            room = work.room.waiting // max(1, spill.bytes // max(1, spill.rows))
            rows = pa.concat_batches(spill.take(min(left - spill.reloaded, max(1, room))))
            places = None
        if work.front is not None:
            self._review(work, work.front, n_rows)
        answered = n_rows + waited - self.state.n_waiting - spill.shed
        self._settle(work, answered)
        self.counts["loads"] = self.state.loads - loads
        self._count(work)

    @property
    def details(self) -> Details:
        """What is to be told of the batch besides its counts."""
        costs = self.state.costs or self.join.costs
        names = ("row", "look_up", "scan")
        return Details(
            budget_us=round(self._allowed_us or 0.0),
            costs_us={name: float(f"{getattr(costs, name):.4g}") for name in names},
            algorithm=("cache, " if self.join.is_cached else "") + self.join.algorithm,
        )

    def _change(
        self, work: Work, changes: Changes | None, again: list[pa.RecordBatch]
    ) -> Iterator[Columns]:
        """Act on another table; `again` gets the rows that must look for their place anew."""
        waiting = work.waiting
        is_known, self.state.version = bool(self.state.version), self._table.version
        if not is_known:
            return
        if changes is None:
            changes = Changes(whole=True)
        if work.front is not None:
            if changes.whole:
                work.front.clear()
            else:
                work.front.forget(lambda columns: self._table.touched(changes, columns))
        if waiting is not None and (changes.whole or not self.join.unique):
            again += waiting.take_all()
        elif waiting is not None:
            gone = np.zeros(len(waiting.rows), np.bool_)
            gone[list(changes.removed)] = True
            again += waiting.take(gone)[0]
        elif self.join.algorithm == "meshjoin":
            yield from Mesh(work).restart()

    def _admitted(
        self, work: Work, arrival: TableArrival, again: list[pa.RecordBatch]
    ) -> tuple[pa.RecordBatch, Places | None]:
        """The rows that this batch deals with."""
        rows, places = arrival.rows, arrival.places
        allowed, price = work.allowed_us, max(1e-3, work.costs.row)
        if allowed is not None:
            fits = int(allowed / price)
            if len(rows) < fits:
                again = [*again, *work.spill.take(fits - len(rows))]
            elif self.join.shed == "upfront" and len(rows) > fits:
                chance = np.random.default_rng(self.state.sequence).random(len(rows))
                kept = chance < fits / len(rows)  # each row is as likely to go (NAE-A13)
                work.spill.add(rows.filter(pa.array(~kept)))
                rows = rows.filter(pa.array(kept))
                places = None if places is None else places[kept]
        if again:
            return pa.concat_batches([*again, rows]), None
        return rows, places

    def _back_end(self, work: Work) -> LookUps | Mesh | Hybrid:
        if self.join.algorithm == "inlj":
            return LookUps(work)
        if self.join.algorithm == "meshjoin":
            return Mesh(work)
        assert work.waiting is not None
        return Hybrid(work, work.waiting)

    def _note_rate(self, work: Work, missed: int) -> None:
        """Rows per second that the back end gets; the first batch has no span to speak of."""
        if work.span_us > 0 and not work.end:
            now = missed / (work.span_us / 1e6)
            known = self.state.rate
            self.state.rate = (1 - WEIGHT) * known + WEIGHT * now if known else now

    def _settle(self, work: Work, answered: int) -> None:
        if work.waiting is not None:
            work.waiting.settle()
        if work.front is not None:
            work.front.settle()
        self.state.costs = work.costs.learn(
            self.join.costs,
            scan=(work.scans.us, work.scans.n),
            look_up=(work.look_ups.us, work.look_ups.n),
            row=(0.0 if work.end else work.spent_us, 0 if work.end else answered),
        )
        self.state.sequence += 1
        self.state.clock = max(self.state.clock, work.now_us)

    def _review(self, work: Work, front: FrontStage, rows: int) -> None:
        """Divide the memory anew, where that is left to the cost model (NAE-A19)."""
        is_time = self.state.sequence % REVIEW == REVIEW - 1
        if self.join.front_share is not None or not self.join.longest_wait or not is_time:
            return
        if not self.state.waits:  # nothing needs the room
            self.state.front_share = LOOK_UP_SHARE
        elif rows >= ENOUGH_ROWS and front.rows >= ENOUGH_ROWS:
            n_keys = max(int(self._table.partition_rows.sum()), front.rows)
            skew = skew_from_hits(front.hits / rows, front.rows, n_keys)
            share = best_front_share(self.join.memory, front.bytes_per_row, n_keys, skew)
            self.state.front_share = share

    def _count(self, work: Work) -> None:
        front, spill = work.front, work.spill
        self.counts.update(
            hits=0 if front is None else front.hits,
            cached_rows=0 if front is None else front.rows,
            looked_up=work.look_ups.n,
            pairs=work.answers.pairs,
            alone=work.answers.alone,
            waiting_rows=self.state.n_waiting,
            spilled_rows=spill.rows,
            shed=spill.shed,
            reloaded=spill.reloaded,
            state_bytes=sum(piece.size for pieces in self.state.pieces for piece in pieces),
        )
