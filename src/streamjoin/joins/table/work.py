"""What everything that happens in one batch shares."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import TYPE_CHECKING, Final

from streamjoin.joins.base import WindowStore
from streamjoin.joins.table.answers import Answers, Columns
from streamjoin.joins.table.settings import FRONT_SHARE, LOOK_UP_SHARE, Room, TableJoin
from streamjoin.joins.table.state import TableJoinState
from streamjoin.planning.table import TableCosts

if TYPE_CHECKING:
    from streamjoin.joins.table.front_stage import FrontStage
    from streamjoin.joins.table.parts import Parts

FIRST_SPAN: Final = 1_000_000
LONGEST_SPAN: Final = 60_000_000
"""Microseconds that the first batch counts for, and a batch after a long silence."""
Clock = Callable[[], int]
"""Nanoseconds."""


@dataclass
class Spent:
    """Time and work of one kind in a batch."""

    us: float = 0.0
    n: int = 0


@dataclass
class Work:
    """One batch at work.

    Parameters
    ----------
    join, state, store
        Settings, directory and the place of the bytes.
    parts, answers
        The table, and what forms results.
    now_us
        The time of the batch.
    end
        Whether the stream pauses: all that waits is answered.
    clock
        Tells what things cost.
    is_patient
        Whether rows are left for later if the table cannot be reached; otherwise that is an error.
    """

    join: TableJoin
    state: TableJoinState
    store: WindowStore
    parts: "Parts"
    answers: Answers
    now_us: int
    end: bool
    clock: Clock = perf_counter_ns
    is_patient: bool = False
    front: "FrontStage | None" = None
    scans: Spent = field(default_factory=Spent)
    look_ups: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        self._started = self.clock()
        known = self.state.clock
        self.span_us = FIRST_SPAN if not known else min(LONGEST_SPAN, self.now_us - known)
        if self.join.front_share is not None:
            self.state.front_share = self.join.front_share
        elif not self.state.front_share:
            self.state.front_share = FRONT_SHARE if self.join.longest_wait else LOOK_UP_SHARE

    @property
    def costs(self) -> TableCosts:
        """Prices as they are believed to be."""
        return self.state.costs or self.join.costs

    @property
    def room(self) -> Room:
        """How the memory is divided."""
        return self.join.room(self.state.front_share)

    @property
    def allowed_us(self) -> float | None:
        """Time for the whole batch; None for any."""
        if self.end or not self.join.has_work_limit:
            return None
        if self.join.work_us is not None:
            return float(self.join.work_us)
        assert self.join.work_share is not None
        return self.join.work_share * max(0, self.span_us)

    @property
    def spent_us(self) -> float:
        """Time since the batch began; what takes the results is part of it."""
        return (self.clock() - self._started) / 1000

    @property
    def left_us(self) -> float | None:
        """What is left of the time; None for any."""
        allowed = self.allowed_us
        return None if allowed is None else max(0.0, allowed - self.spent_us)

    def timed(self, spent: Spent, n: int, results: Iterator[Columns]) -> Iterator[Columns]:
        """Results, noting what it takes to make them."""
        us = 0.0
        while True:
            began = self.clock()
            columns = next(results, None)
            us += (self.clock() - began) / 1000
            if columns is None:
                break
            yield columns
        spent.us += us
        spent.n += n
