"""The user's arguments, checked against the streams' schemas and turned into settings."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin.budget import Budget
from streamjoin.core.stream import Stream
from streamjoin.durations import Duration, format_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import kind_name, nullable, refuse_duplicates
from streamjoin.joins.multi.keys import Keys, OnMany, Schemas, parse_on
from streamjoin.joins.multi.operators import (
    Operator,
    default_plan,
    one_operator,
    operators_of,
)
from streamjoin.joins.multi.output import (
    BEGINS,
    ENDS,
    NEWEST,
    REACHED,
    WEIGHS,
    StreamColumn,
    final_columns,
    partial_columns,
    prefixed,
)
from streamjoin.joins.multi.settings import Freshness, Input, MultiJoin
from streamjoin.joins.multi.strategies import (
    Selectivities,
    attributes_of,
    resolve_sizes,
    resolve_strategy,
)
from streamjoin.joins.multi.streams import check_streams, column_of, for_each, for_some
from streamjoin.joins.window.arguments import not_negative, positive
from streamjoin.metrics.catalogue import TOGETHER
from streamjoin.planning.many.planners import PLANNERS
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.limits import PlanLimits
from streamjoin.windows import Rows

Window = Duration | Rows | None
MOST_STREAMS: Final = 64


class Age(NamedTuple):
    """How old a tuple may be: microseconds, or tuples of its stream that came after it."""

    length: int
    counted: bool


@dataclass(frozen=True)
class Step:
    """One operator of a plan.

    Parameters
    ----------
    join
        Settings.
    sources
        What its inputs are: a stream by name, or the result of an earlier step by number.
    nodes
        Nodes of the whole plan by the numbers that they have here.
    """

    join: MultiJoin
    sources: tuple[str | int, ...]
    nodes: tuple[int, ...]


@dataclass(frozen=True)
class ResolvedPlan:
    """A join of many streams as it will run.

    Parameters
    ----------
    tree
        The whole plan.
    keys
        What must be equal.
    steps
        Its operators, in order.
    chosen
        Whether the plan was chosen here.
    """

    tree: Tree
    keys: Keys
    steps: tuple[Step, ...]
    chosen: bool


def resolve_plan(
    schemas: Schemas,
    *,
    on: OnMany,
    time: str | Mapping[str, str],
    window: Window | Mapping[str, Window],
    plan: str | None = None,
    freshness: Window | Mapping[str, Window] = None,
    states: Mapping[str, Rows] | None = None,
    lateness: Duration = "0 seconds",
    idle_timeout: Duration | None = None,
    budget: Budget | None = None,
    planner: str = "jaqpot",
    strategy: str = "auto",
    order: str = "adaptive",
    selectivities: Selectivities | None = None,
    naming: Naming = ANY_CASE,
) -> ResolvedPlan:
    """Settings of a join of many streams, or an error that names the argument.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.int64(), "t": pa.timestamp("us")})
    >>> found = resolve_plan(dict.fromkeys("abc", schema), on="k", time="t", window="10 s")
    >>> [column.name for column in found.steps[-1].join.output]
    ['k', 'a_t', 'b_t', 'c_t']
    """
    check_streams(schemas)
    if len(schemas) > MOST_STREAMS:
        raise ConfigError.at("streams", len(schemas), f"at most {MOST_STREAMS}")
    for name, schema in schemas.items():
        refuse_duplicates(schema.names, name, naming)
    schemas = {name: nullable(schema) for name, schema in schemas.items()}
    names = list(schemas)
    keys = parse_on(on, schemas, may_be_cyclic=strategy == "mjoin", naming=naming)
    tree = _tree(plan, names, keys)
    late_us = not_negative(lateness, "lateness")
    windows = _windows(window, names)
    streams = {
        name: Stream(schemas[name], (), _time(schemas, time, name, naming), us, late_us, rows)
        for name, (us, rows) in windows.items()
    }
    _same_times(streams)
    ages = _ages(freshness, windows)
    limits = None if budget is None else _limits(budget, planner)
    if budget is None and planner != "jaqpot":
        raise ConfigError.at("planner", f"{planner!r} without a budget", "only with one")
    operators = operators_of(tree, keys)
    only_trees = {"plan": plan, "budget": budget, "states": states}
    chosen, driven = resolve_strategy(
        strategy, order, only_trees, len(names), one_key=len(operators) == 1
    )
    several = chosen == "mjoin" and len(operators) > 1
    if several:
        operators = [one_operator(tree, keys)]
    if limits is not None:
        limits = replace(limits, chained=len(operators) > 1)
    _refuse_in_chains(operators, windows, states)
    idle_us = None if idle_timeout is None else positive(idle_timeout, "idle_timeout")
    made = _Making(tree, keys, streams, ages, idle_us, limits, naming)
    steps = [made.step(number, operators) for number in range(len(operators))]
    steps[-1] = replace(steps[-1], join=_with_states(steps[-1].join, states, plan))
    is_adaptive = plan is None and len(operators) == 1 and len(names) > 2
    if selectivities is not None and not is_adaptive:
        why = "a plan" if plan is not None else "joins whose plan does not change"
        raise ConfigError.at(
            "selectivities", f"some with {why}", "only where they decide something"
        )
    if is_adaptive or chosen == "mjoin":
        join = steps[-1].join
        inputs = [(name, list(streams[name].schema.names)) for name in names]
        join = replace(
            join,
            adaptive=True,
            strategy=chosen,
            order=driven,
            sizes=resolve_sizes(selectivities, names),
            attributes=attributes_of(keys, inputs) if several else (),
        )
        steps[-1] = replace(steps[-1], join=join)
    return ResolvedPlan(tree, keys, tuple(steps), plan is None)


class _Making:
    """Makes the settings of one operator after the other."""

    def __init__(
        self,
        tree: Tree,
        keys: Keys,
        streams: dict[str, Stream],
        ages: dict[str, Age],
        idle_us: int | None,
        limits: PlanLimits | None,
        naming: Naming,
    ) -> None:
        self._tree, self._keys, self._streams, self._ages = tree, keys, streams, ages
        self._idle_us, self._limits, self._naming = idle_us, limits, naming
        self._done: dict[int, int] = {}  # joins that operators before do, by node

    def step(self, number: int, operators: list[Operator]) -> Step:
        operator, last = operators[number], number == len(operators) - 1
        inputs = tuple(self._input(node, operator.classes) for node in operator.inputs)
        places = {
            column: (i, position)
            for i, node in enumerate(operator.inputs)
            for position, column in enumerate(self._columns(node))
        }
        if last:
            output = final_columns(list(self._streams), inputs, places, self._keys, self._naming)
        else:
            columns, weighed = self._columns(operator.nodes[-1]), self._limits is not None
            output = partial_columns(columns, inputs, places, self._naming, weighed=weighed)
        limits = self._limits
        if limits is not None and last:
            limits = replace(limits, freshness=self._seconds())
        join = MultiJoin(
            inputs,
            Tree(tuple(one.name for one in inputs), operator.tree.joins),
            output,
            freshness=self._freshness(places) if last else (),
            idle_us=self._idle_us,
            limits=limits,
        )
        sources = tuple(
            self._tree.names[node] if node < self._tree.n_streams else self._done[node]
            for node in operator.inputs
        )
        self._done[operator.nodes[-1]] = number
        return Step(join, sources, operator.nodes)

    def _columns(self, node: int) -> list[StreamColumn]:
        """The columns of a node's tuples: (stream, column)."""
        names = [self._tree.names[i] for i in self._tree.streams(node)]
        return [(name, column) for name in names for column in self._streams[name].schema.names]

    def _input(self, node: int, classes: tuple[int, ...]) -> Input:
        names = [self._tree.names[i] for i in self._tree.streams(node)]
        columns = self._columns(node)
        key = []
        for one in (self._keys.classes[i] for i in classes):
            stream = next((name for name in names if name in one.columns), None)
            if stream is not None:
                key.append(columns.index((stream, one.columns[stream])))
        if node < self._tree.n_streams:
            return Input(names[0], replace(self._streams[names[0]], key=tuple(key)))
        streams = [self._streams[name] for name in names]
        fields = [
            pa.field(prefixed(name, column), self._streams[name].schema.field(column).type)
            for name, column in columns
        ]
        n = len(fields)
        fields += [pa.field(name, pa.int64()) for name in (BEGINS, ENDS)]
        weight = None if self._limits is None else len(fields)
        if weight is not None:
            fields.append(pa.field(WEIGHS, pa.float64()))
        last = len(fields)
        fields += [pa.field(name, pa.int64()) for name in (REACHED, NEWEST)]
        longest = max(one.window_us for one in streams)
        partial = Stream(pa.schema(fields), tuple(key), n, longest)
        return Input(
            TOGETHER.join(names),
            partial,
            end=n + 1,
            reached=last,
            newest=last + 1,
            weight=weight,
        )

    def _freshness(self, places: Mapping[StreamColumn, tuple[int, int]]) -> tuple[Freshness, ...]:
        found = []
        for name, age in self._ages.items():
            stream = self._streams[name]
            number, position = places[name, stream.schema.names[stream.time]]
            found.append(Freshness(number, position, age.length, name, age.counted))
        return tuple(found)

    def _seconds(self) -> tuple[float, ...]:
        """Ages of all streams of the plan that are times; infinity where there is none."""
        given = {name: age.length / 1e6 for name, age in self._ages.items() if not age.counted}
        return tuple(given.get(name, math.inf) for name in self._tree.names)


def _tree(plan: str | None, names: list[str], keys: Keys) -> Tree:
    if plan is not None:
        if not isinstance(plan, str):
            raise ConfigError.at("plan", repr(plan), 'text such as "((a b) c) d", or None')
        return Tree.parse(plan, names)
    return default_plan(names, keys)


def _time(schemas: Schemas, time: str | Mapping[str, str], name: str, naming: Naming) -> int:
    said = for_each(time, list(schemas), "time")[name]
    column = column_of(schemas[name], said, name, "time", naming)
    position = int(schemas[name].names.index(column))
    kind = schemas[name].types[position]
    if not pa.types.is_timestamp(kind):
        raise DataError(
            f"time: {name}.{column} has type {kind_name(kind)}; allowed: timestamp or timestamp_ntz"
        )
    return position


def _same_times(streams: Mapping[str, Stream]) -> None:
    kinds = {name: kind_name(s.schema.types[s.time]) for name, s in streams.items()}
    first = next(iter(kinds))
    for name, kind in kinds.items():
        if kind != kinds[first]:
            raise DataError.at(
                "time",
                f"{kinds[first]} for {first!r} and {kind} for {name!r}",
                "the same type for all streams (cast one of them)",
            )


def _windows(window: Any, names: list[str]) -> dict[str, tuple[int, int | None]]:
    """(microseconds, rows) of each stream."""
    found: dict[str, tuple[int, int | None]] = {}
    for name, value in for_each(window, names, "window").items():
        if isinstance(value, Rows):
            found[name] = 0, value.n
        else:
            found[name] = (0 if value is None else not_negative(value, "window")), None
    if all(one == (0, None) for one in found.values()):
        raise ConfigError.at("window", repr(window), "a positive duration for at least one stream")
    return found


def _ages(freshness: Any, windows: Mapping[str, tuple[int, int | None]]) -> dict[str, Age]:
    """Freshness of the streams that have one; of the same kind as the window, and not shorter."""
    names = list(windows)
    if freshness is None:
        return {}
    given = (
        for_some(freshness, names, "freshness")
        if isinstance(freshness, Mapping)
        else dict.fromkeys(names, freshness)
    )
    found = {}
    for name, value in given.items():
        if value is None:
            continue
        us, rows = windows[name]
        if isinstance(value, Rows) != (rows is not None):
            kind = "a duration" if rows is None else "rows(n)"
            raise ConfigError.at(
                "freshness", f"{value!r} for {name!r}", f"{kind}, as its window is"
            )
        counted = isinstance(value, Rows)
        length = value.n if isinstance(value, Rows) else not_negative(value, "freshness")
        least = us if rows is None else rows
        if length < least:
            said = f"rows({least})" if counted else format_duration(least)
            got = f"rows({length})" if counted else format_duration(length)
            raise ConfigError.at(
                "freshness", f"{got} for {name!r}, shorter than its window", f"at least {said}"
            )
        found[name] = Age(length, counted)
    return found


def _limits(budget: object, planner: str) -> PlanLimits:
    if not isinstance(budget, Budget):
        raise ConfigError.at("budget", repr(budget), "a Budget such as Budget(cpu=0.5)")
    if budget.memory is not None:
        raise ConfigError(
            f"budget: got memory={budget.memory!r}; allowed with many streams: cpu or rate"
        )
    if planner not in PLANNERS:
        raise ConfigError.at("planner", repr(planner), ", ".join(PLANNERS))
    share = budget.cpu_share
    return PlanLimits(
        planner,
        rate=budget.rate,
        cpu_us_per_second=None if share is None else share * 1e6,
        cpu_us_per_batch=budget.cpu_us_per_batch,
    )


def _with_states(join: MultiJoin, states: Mapping[str, Rows] | None, plan: str | None) -> MultiJoin:
    if not states:
        return join
    tree = join.tree
    if not isinstance(states, Mapping):
        raise ConfigError.at("states", repr(states), 'a mapping such as {"a b": rows(2000)}')
    if plan is None:
        raise ConfigError.at(
            "states", "some without a plan", "only with one, as they belong to its joins"
        )
    known = {frozenset(tree.label(node).lower().split(" ")): node for node in tree.susceptible}
    limits: list[int | None] = [None] * tree.root
    for label, rows in states.items():
        node = known.get(frozenset(str(label).lower().split()))
        if node is None or not isinstance(rows, Rows) or limits[node] is not None:
            allowed = f"rows(n), once for each of {_labels(tree)}"
            raise ConfigError.at("states", f"{label!r}: {rows!r}", allowed)
        limits[node] = rows.n
    if any(limits[node] is None for node in tree.susceptible):
        raise ConfigError.at("states", ", ".join(map(repr, states)), f"each of {_labels(tree)}")
    plan_limits = None if join.limits is None else replace(join.limits, limited=True)
    return replace(join, states=tuple(limits), limits=plan_limits)


def _labels(tree: Tree) -> str:
    return (
        ", ".join(repr(tree.label(node)) for node in tree.susceptible) or "no join (there is one)"
    )


def _refuse_in_chains(
    operators: list[Operator],
    windows: Mapping[str, tuple[int, int | None]],
    states: Mapping[str, Rows] | None,
) -> None:
    if len(operators) == 1:
        return
    counted = next((name for name, (_, rows) in windows.items() if rows is not None), None)
    if counted is not None:
        raise ConfigError.at(
            "window",
            f"rows(n) for {counted!r} with joins on different keys",
            "durations, or one key for all joins",
        )
    if states:
        raise ConfigError.at("states", "some with joins on different keys", "one key for all joins")
