"""Settings of a join of many streams.

Tuples of all streams form a *result* iff their keys are equal and each is still in its window when
the last of them comes: ``(largest of their times) - t_i <= w_i`` for every stream i. Two streams
thus match as in the window join. The plan does not change what the results are, only how they are
found.

Where a window counts tuples, those of its stream that come before the last one in the total order
(time, stream, arrival) are counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, Literal

from streamjoin.core.stream import Stream
from streamjoin.joins.base import OutputColumn
from streamjoin.joins.routing import ByKey, Routing, shares_for
from streamjoin.joins.window.settings import format_window
from streamjoin.planning.many.nary import Order, Sizes
from streamjoin.planning.many.tree import Tree
from streamjoin.planning.two.algorithm_choice import OperationCosts
from streamjoin.shedding.limits import PlanLimits

Strategy = Literal["auto", "mjoin", "tree"]
Attribute = Mapping[int, int]
"""Position of a column by input."""
STATE_VERSION: Final = 1
FAR: Final = 2**62
"""An end that never comes."""
START: Final = -2
END: Final = -3
"""Positions that mean no column of an input: when a result begins and when it ends."""


@dataclass(frozen=True)
class Input:
    """One input: a stream, or what another join of the same plan found.

    Parameters
    ----------
    name
        The stream, or the streams.
    stream
        Columns, key, time and window. Of partial results the window is the longest that one has.
    end
        Position of the column that says when a partial result ends; None for a stream.
    marks
        Positions of the columns that say how far the join before has come: its watermark, and the
        newest time that it has seen.
    weight
        Position of the column that says for how many each stands, where some are left out.
    """

    name: str
    stream: Stream
    end: int | None = None
    marks: tuple[int, int] | None = None
    weight: int | None = None


@dataclass(frozen=True)
class Freshness:
    """How old a tuple of a stream may be in a result (JAQ-A9).

    Parameters
    ----------
    input, time
        Where the stream's time is.
    age
        Microseconds, by the newest time that any stream has shown; or, if `counted`, tuples of the
        stream that came after it.
    name
        The stream.
    """

    input: int
    time: int
    age: int
    name: str
    counted: bool = False


@dataclass(frozen=True)
class MultiJoin:
    """Settings: values only.

    Parameters
    ----------
    inputs
        What is joined; all on one key.
    tree
        The plan; its streams are numbered as the inputs are.
    output
        Columns of the result.
    adaptive
        Whether another plan may take over while the join runs.
    freshness
        What results must fulfil besides.
    states
        How many partial results each node remembers, where that is limited (the paper's |S_AB|);
        None where they are remembered for as long as all their tuples are in their windows.
    idle_us
        After so long without a row an input no longer holds the watermark; None for never.
    limits
        What probing may take; None for an exact join.
    strategy
        Whether results are found by the tree, by one n-ary join without intermediate state
        (VAL-A1), or by whichever is cheaper.
    order
        Which input of an n-ary join drives when.
    sizes
        Sizes of joins of the streams, where they are given; else they are measured.
    attributes
        For each class of columns that must be equal, the inputs that have one and its position;
        none where all inputs have one key. Only an n-ary join can have several.
    operations
        What its operations cost.
    """

    inputs: tuple[Input, ...]
    tree: Tree
    output: tuple[OutputColumn, ...]
    adaptive: bool = False
    freshness: tuple[Freshness, ...] = ()
    states: tuple[int | None, ...] = ()
    idle_us: int | None = None
    limits: PlanLimits | None = None
    strategy: Strategy = "tree"
    order: Order = "adaptive"
    sizes: Sizes | None = None
    attributes: tuple[Attribute, ...] = ()
    operations: OperationCosts = OperationCosts()  # noqa: RUF009  # frozen

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the streams, and of partial results."""
        return tuple(one.name for one in self.inputs)

    @cached_property
    def counted(self) -> tuple[int, ...]:
        """Inputs whose windows count tuples: each is an axis besides that of time."""
        return tuple(i for i, x in enumerate(self.inputs) if x.stream.window_rows is not None)

    @cached_property
    def n_axes(self) -> int:
        """Axes on which windows are measured: time, and one for each window that counts."""
        return 1 + len(self.counted)

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """Columns, key, time and window of the inputs."""
        return tuple(one.stream for one in self.inputs)

    @cached_property
    def is_partial(self) -> bool:
        """Whether what comes out goes to another operator of the same plan."""
        return any(column.position == START for column in self.output)

    def marks_of(self, number: int) -> tuple[int, int] | None:
        """Columns of partial results that say how far the join before has come."""
        return self.inputs[number].marks

    def keeps(self, number: int) -> bool:
        """Whether rows of an input come out alone: they never do."""
        return False

    def limit_of(self, node: int) -> int | None:
        """How many partial results a node remembers, where that is limited."""
        return self.states[node] if node < len(self.states) else None

    def can_follow(self, done: frozenset[int], number: int) -> bool:
        """Whether an equality links an input to some others."""
        return not self.attributes or any(
            number in one and not done.isdisjoint(one) for one in self.attributes
        )

    def routing(self, n_shards: int) -> Routing:
        """How rows are spread over shards."""
        if self.attributes:
            return shares_for(n_shards, self.attributes, len(self.inputs))
        return ByKey(n_shards)

    def over_shards(self, routing: Routing, n_cores: int) -> "MultiJoin":
        """Settings of one of several shards, among which limits are divided."""
        n = routing.n_shards
        states = tuple(None if most is None else max(1, -(-most // n)) for most in self.states)
        limits = None if self.limits is None else self.limits.over_shards(n, n_cores)
        return replace(self, states=states, limits=limits)

    def _equality(self, attribute: Attribute) -> str:
        names = ((self.inputs[i], position) for i, position in sorted(attribute.items()))
        return " = ".join(f"{one.name}.{one.stream.schema.names[p]}" for one, p in names)

    def describe(self) -> dict[str, str]:
        """What a checkpoint of this join must agree on, in the user's words."""
        said = {"version": f"multi {STATE_VERSION}"}
        said["plan"] = "chosen while it runs" if self.adaptive else str(self.tree)
        if self.attributes:
            said["plan"] = f"one n-ary join on {'; '.join(map(self._equality, self.attributes))}"
        said["streams"] = ", ".join(self.names)  # pieces go by their order
        for one in self.inputs:
            names = one.stream.schema.names
            said[f"{one.name} key"] = ", ".join(names[i] for i in one.stream.key)
            said[f"{one.name} time"] = names[one.stream.time]
            said[f"{one.name} window"] = format_window(one.stream)
            columns = (f"{field.name} {field.type}" for field in one.stream.schema)
            said[f"{one.name} schema"] = ", ".join(columns)
        for node, n in enumerate(self.states):
            if n is not None:
                said[f"state of {self.tree.label(node)}"] = f"{n} rows"
        return said
