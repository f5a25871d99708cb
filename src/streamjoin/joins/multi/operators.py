"""From a plan to the operators that run it, and their settings.

Joins on one key need no shuffle between them: a shard has all tuples of its keys, so they run in
one operator. Where the key changes, another operator begins, whose input is what the one before
found:

```
((a b) c) d   a, b, c on x; d on y        operator 1: (a b) c by x  ->  operator 2: (a b c) d by y
```
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import pyarrow as pa

from streamjoin._names import Naming
from streamjoin.core.stream import Stream
from streamjoin.errors import ConfigError
from streamjoin.joins.base import WEIGHT, OutputColumn
from streamjoin.joins.multi.keys import Keys
from streamjoin.joins.multi.settings import END, START, Freshness, Input, MultiJoin
from streamjoin.metrics.catalogue import TOGETHER
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.limits import PlanLimits

REACHED: Final = "_reached"
NEWEST: Final = "_newest"
"""Columns of partial results that say how far the join before has come."""
_PARTIAL: Final = (
    (START, "_begins", pa.int64()),
    (END, "_ends", pa.int64()),
    (WEIGHT, "_weighs", pa.float64()),
)
"""Columns that partial results have besides those of their streams; weights only with limits."""
StreamColumn = tuple[str, str]
"""A stream and one of its columns, by name."""
Places = Mapping[StreamColumn, tuple[int, int]]
"""Input and position of the streams' columns."""


class Age(NamedTuple):
    """How old a tuple may be: microseconds, or tuples of its stream that came after it."""

    length: int
    counted: bool


@dataclass(frozen=True)
class Operator:
    """Joins of a plan that run together."""

    classes: tuple[int, ...]  # the key, as numbers of classes
    inputs: tuple[int, ...]
    """Nodes of the whole plan that come in: streams, or joins that earlier operators do."""
    nodes: tuple[int, ...]
    """Nodes of the whole plan by the numbers that they have here: inputs first, then joins."""
    tree: Tree  # the joins, over the inputs


@dataclass(frozen=True)
class Step:
    """One operator of a plan, with its settings."""

    join: MultiJoin
    sources: tuple[str | int, ...]
    """What its inputs are: a stream by name, or the result of an earlier step by number."""
    nodes: tuple[int, ...]  # nodes of the whole plan by the numbers that they have here


def prefixed(stream: str, column: str) -> str:
    """What a column of a stream is called in the result."""
    return f"{stream}_{column}"


def default_plan(names: Sequence[str], keys: Keys) -> Tree:
    """The plan of those who give none: one stream after the other, in the order given.

    Streams whose key is that of the join before come first, so that the key changes as seldom as
    it can on such a way; and none is joined before an equality says how.

    Examples
    --------
    >>> from streamjoin.joins.multi.keys import KeyClass
    >>> keys = Keys((KeyClass({"a": "x", "b": "x", "d": "x"}), KeyClass({"b": "y", "c": "y"})))
    >>> print(default_plan("abcd", keys))
    ((a b) d) c
    """
    order, on = [names[0]], tuple[int, ...]()
    while len(order) < len(names):
        ways = {name: keys.between(order, [name]) for name in names if name not in order}
        joined = [name for name, classes in ways.items() if classes]
        same = [name for name in joined if ways[name] == on]
        order.append((same or joined)[0])
        on = ways[order[-1]]
    return Tree.linear(order).numbered(names)


def operators_of(tree: Tree, keys: Keys, *, together: bool = False) -> list[Operator]:
    """The operators of a plan, each after those whose results it takes.

    With `together`, one n-ary join of all streams, whatever their keys are.

    Examples
    --------
    >>> from streamjoin.joins.multi.keys import KeyClass
    >>> keys = Keys((KeyClass({"a": "x", "b": "x", "c": "x"}), KeyClass({"c": "y", "d": "y"})))
    >>> [(str(o.tree), o.inputs, o.nodes) for o in operators_of(Tree.parse("((a b) c) d"), keys)]
    [('(n0 n1) n2', (0, 1, 2), (0, 1, 2, 4, 5)), ('n5 n3', (5, 3), (5, 3, 6))]
    """
    k = tree.n_streams
    if together:
        classes, nodes = tuple(range(len(keys.classes))), tuple(range(tree.root + 1))
        return [Operator(classes, nodes[:k], nodes, tree)]
    on = {k + i: _classes(tree, keys, children) for i, children in enumerate(tree.joins)}
    tops = [n for n in on if n == tree.root or on[tree.parents[n]] != on[n]]
    return [_operator(tree, on, top) for top in tops]


def _operator(tree: Tree, on: dict[int, tuple[int, ...]], top: int) -> Operator:
    inputs: list[int] = []
    joins: list[int] = []

    def walk(node: int) -> None:
        for child in tree.children(node):
            if child >= tree.n_streams and on[child] == on[top]:
                walk(child)
            else:
                inputs.append(child)
        joins.append(node)

    walk(top)
    inputs.sort(key=lambda node: min(tree.streams(node)))  # the user's order, which breaks ties
    nodes = (*inputs, *joins)
    number = {node: i for i, node in enumerate(nodes)}
    pairs = tuple((number[x], number[y]) for x, y in map(tree.children, joins))
    return Operator(on[top], tuple(inputs), nodes, Tree(tuple(f"n{n}" for n in inputs), pairs))


def _classes(tree: Tree, keys: Keys, children: tuple[int, int]) -> tuple[int, ...]:
    left, right = ([tree.names[i] for i in tree.streams(child)] for child in children)
    found = keys.between(left, right)
    if not found:
        raise ConfigError(
            f"plan: '{tree}' joins {', '.join(left)} with {', '.join(right)}, and no equality says "
            "how (a cross join); allowed: plans whose joins each have one"
        )
    return found


@dataclass(frozen=True)
class StepMaker:
    """Makes the settings of the operators of a plan."""

    tree: Tree  # the whole plan
    keys: Keys
    streams: Mapping[str, Stream]
    ages: Mapping[str, Age]
    idle_us: int | None
    limits: PlanLimits | None
    naming: Naming

    def steps(self, operators: Sequence[Operator]) -> list[Step]:
        """The steps of all operators, which are in the order in which they run."""
        tops = [operator.nodes[-1] for operator in operators]
        return [self._step(operator, tops) for operator in operators]

    def _step(self, operator: Operator, tops: list[int]) -> Step:
        tree, top = self.tree, operator.nodes[-1]
        is_last, limits = top == tree.root, self.limits
        inputs = tuple(self._input(node, operator.classes) for node in operator.inputs)
        places = {
            column: (i, position)
            for i, node in enumerate(operator.inputs)
            for position, column in enumerate(self._columns(self._names(node)))
        }
        if limits is not None and is_last:
            limits = replace(limits, freshness=self._seconds())
        join = MultiJoin(
            inputs,
            Tree(tuple(one.name for one in inputs), operator.tree.joins),
            self._output(top, inputs, places),
            freshness=self._freshness(places) if is_last else (),
            idle_us=self.idle_us,
            limits=limits,
        )
        sources = tuple(
            tree.names[node] if node < tree.n_streams else tops.index(node)
            for node in operator.inputs
        )
        return Step(join, sources, operator.nodes)

    def _names(self, node: int) -> list[str]:
        return [self.tree.names[i] for i in self.tree.streams(node)]

    def _columns(self, names: Iterable[str]) -> list[StreamColumn]:
        return [(name, column) for name in names for column in self.streams[name].schema.names]

    def _input(self, node: int, classes: tuple[int, ...]) -> Input:
        names = self._names(node)
        columns, key = self._columns(names), []
        for one in (self.keys.classes[i] for i in classes):
            stream = next((name for name in names if name in one.columns), None)
            if stream is not None:
                key.append(columns.index((stream, one.columns[stream])))
        if node < self.tree.n_streams:
            return Input(names[0], replace(self.streams[names[0]], key=tuple(key)))
        fields = [
            (prefixed(name, column), self.streams[name].schema.field(column).type)
            for name, column in columns
        ]
        fields += [(name, kind) for _, name, kind in self._partial]
        n, reached = len(columns), len(fields)
        fields += [(name, pa.int64()) for name in (REACHED, NEWEST)]
        longest = max(self.streams[name].window_us for name in names)
        return Input(
            TOGETHER.join(names),
            Stream(pa.schema(fields), tuple(key), n, longest),
            end=n + 1,
            marks=(reached, reached + 1),
            weight=None if self.limits is None else n + 2,
        )

    @property
    def _partial(self) -> Sequence[tuple[int, str, pa.DataType]]:
        return _PARTIAL if self.limits is not None else _PARTIAL[:2]

    def _output(
        self, node: int, inputs: Sequence[Input], places: Places
    ) -> tuple[OutputColumn, ...]:
        """Columns of the result, or of partial results.

        Keys come first where all call them the same, then what each stream has besides.
        """
        is_last = node == self.tree.root
        shared = self.keys.classes if is_last and self.keys.shared else ()
        merged = [list(one.columns.items()) for one in shared]
        named = [(column, (stream, column)) for (stream, column), *_ in merged]
        once = {column for one in merged for column in one}
        every = self._columns(self.streams if is_last else self._names(node))
        named += [(prefixed(*column), column) for column in every if column not in once]
        output = []
        for name, column in named:
            i, position = places[column]
            kind = inputs[i].stream.schema.types[position]
            output.append(OutputColumn(i, position, name, kind))
        twice = self.naming.twice(column.name for column in output)
        if twice is not None:
            raise ConfigError(
                f"streams: the result has column {twice[1]!r} twice; allowed: names of streams and "
                "columns that keep <stream>_<column> apart"
            )
        if not is_last:
            output += [OutputColumn(0, *one) for one in self._partial]
        return tuple(output)

    def _freshness(self, places: Places) -> tuple[Freshness, ...]:
        found = []
        for name, age in self.ages.items():
            stream = self.streams[name]
            number, position = places[name, stream.schema.names[stream.time]]
            found.append(Freshness(number, position, age.length, name, age.counted))
        return tuple(found)

    def _seconds(self) -> tuple[float, ...]:
        """Ages of all streams of the plan that are times; infinity where there is none."""
        given = {name: age.length / 1e6 for name, age in self.ages.items() if not age.counted}
        return tuple(given.get(name, math.inf) for name in self.tree.names)
