"""Joins as they will run: what an engine gives names and routes, and what can be explained."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from streamjoin.budget import Budget
from streamjoin.core.stream import Stream
from streamjoin.joins.multi.arguments import ResolvedPlan
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.routing import Routing
from streamjoin.joins.window.arguments import Resolved

if TYPE_CHECKING:
    from streamjoin.joins.table.settings import TableJoin
    from streamjoin.tables.access import TableAccess


@dataclass(frozen=True)
class JoinPlan:
    """A join of two streams as it will run."""

    name: str  # of its counters
    resolved: Resolved
    routing: Routing
    n_partitions: int  # tasks over which Spark spreads the shards
    streaming: bool
    late_rows: str | None  # folder for late rows
    hot_keys: str | None  # folder for decisions about hot keys; None if they are not spread
    budget: Budget | None = None

    is_whole: ClassVar = True
    stream_names: ClassVar = None  # left and right

    @property
    def inputs(self) -> Sequence[Stream]:
        """The streams."""
        return self.resolved.join.streams


@dataclass(frozen=True)
class MultiPlan:
    """One operator of a join of many streams as it will run."""

    name: str
    resolved: ResolvedPlan  # the whole join
    step: int  # which of its operators this is
    routing: Routing
    n_partitions: int
    streaming: bool
    late_rows: str | None
    budget: Budget | None = None
    where: str | None = None  # what Spark checks of the results
    shared: str | None = None  # folder through which operators tell each other what they measured

    @property
    def n_shards(self) -> int:
        """Into how many parts the work is divided."""
        return self.routing.n_shards

    @property
    def join(self) -> MultiJoin:
        """Settings of the last operator."""
        return self.resolved.steps[-1].join

    @property
    def is_whole(self) -> bool:
        """Whether its results are those of the whole join."""
        return self.step == len(self.resolved.steps) - 1

    @property
    def operator_names(self) -> list[str]:
        """Names of the counters of all operators of the join, if this is the whole."""
        n = len(self.resolved.steps)
        return [operator_name(self.name, number, n) for number in range(n)]

    @property
    def stream_names(self) -> tuple[str, ...]:
        """What the streams are called."""
        return self.resolved.tree.names

    @property
    def streams(self) -> dict[str, Stream]:
        """The streams, in the user's order."""
        inputs = [one for step in self.resolved.steps for one in step.join.inputs]
        streams = {one.name: one.stream for one in inputs if one.end is None}
        return {name: streams[name] for name in self.stream_names}

    @property
    def inputs(self) -> Sequence[Stream]:
        """The streams, and what operators before others hand on."""
        return [one.stream for step in self.resolved.steps for one in step.join.inputs]


@dataclass(frozen=True)
class TablePlan:
    """A join with a table as it will run."""

    name: str
    join: "TableJoin"  # settings of each shard
    access: "TableAccess"
    routing: Routing
    n_partitions: int
    asked: str  # the algorithm that was asked for
    is_timed: bool  # whether rows may be left for later
    streaming: bool

    is_whole: ClassVar = True
    stream_names: ClassVar = None
    inputs: ClassVar[Sequence[Stream]] = ()  # none whose rates or windows matter

    @property
    def n_shards(self) -> int:
        """Into how many parts the work is divided."""
        return self.routing.n_shards


def operator_name(name: str, number: int, n_operators: int) -> str:
    """Name of the counters of an operator; the last has the name of the join."""
    return name if number == n_operators - 1 else f"{name} {number + 1}"


AnyPlan = JoinPlan | MultiPlan | TablePlan
