"""The user's arguments, checked against the streams' schemas and turned into settings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, get_args

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin.budget import Budget
from streamjoin.core.stream import Stream
from streamjoin.durations import Duration, format_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import kind_name, nullable, position_of, refuse_duplicates
from streamjoin.joins.multi.keys import (
    Keys,
    OnMany,
    Schemas,
    check_streams,
    for_each,
    for_some,
    linked,
    parse_on,
    stream_of,
)
from streamjoin.joins.multi.operators import Age, Step, StepMaker, default_plan, operators_of
from streamjoin.joins.multi.settings import MultiJoin, Strategy
from streamjoin.joins.window.arguments import not_negative, positive
from streamjoin.planning.many.nary import ORDERS, Order, Sizes
from streamjoin.planning.many.planners import PLANNERS
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.limits import PlanLimits
from streamjoin.windows import Rows

Window = Duration | Rows | None
Size = tuple[int, int | None]
"""A window as microseconds and, where it counts them, rows."""
Selectivities = Mapping[str, float]
"""By names of streams, such as ``"a b"``: which part of all combinations of their rows match."""
STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
MOST_STREAMS: Final = 64


@dataclass(frozen=True)
class ResolvedPlan:
    """A join of many streams as it will run."""

    tree: Tree  # the whole plan
    keys: Keys  # what must be equal
    steps: tuple[Step, ...]  # its operators, in order
    chosen: bool  # whether the plan was chosen here


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
        operators = operators_of(tree, keys, together=True)
    if len(operators) > 1:
        _refuse_in_chains(windows, states)
        limits = None if limits is None else replace(limits, chained=True)
    idle_us = None if idle_timeout is None else positive(idle_timeout, "idle_timeout")
    steps = StepMaker(tree, keys, streams, ages, idle_us, limits, naming).steps(operators)
    join = _with_states(steps[-1].join, states, plan)
    is_adaptive = plan is None and len(operators) == 1 and len(names) > 2
    if selectivities is not None and not is_adaptive:
        why = "a plan" if plan is not None else "joins whose plan does not change"
        raise ConfigError.at(
            "selectivities", f"some with {why}", "only where they decide something"
        )
    if is_adaptive or chosen == "mjoin":
        join = replace(
            join,
            adaptive=True,
            strategy=chosen,
            order=driven,
            sizes=resolve_sizes(selectivities, names),
            attributes=_attributes(keys, streams) if several else (),
        )
    steps[-1] = replace(steps[-1], join=join)
    return ResolvedPlan(tree, keys, tuple(steps), plan is None)


def _tree(plan: str | None, names: list[str], keys: Keys) -> Tree:
    if plan is None:
        return default_plan(names, keys)
    if not isinstance(plan, str):
        raise ConfigError.at("plan", repr(plan), 'text such as "((a b) c) d", or None')
    return Tree.parse(plan, names)


def _time(schemas: Schemas, time: str | Mapping[str, str], name: str, naming: Naming) -> int:
    said, schema = for_each(time, list(schemas), "time")[name], schemas[name]
    position = position_of(schema, said, f"stream {name!r}", "time", naming)
    column, kind = schema.names[position], schema.types[position]
    if not pa.types.is_timestamp(kind):
        raise DataError(
            f"time: {name}.{column} has type {kind_name(kind)}; allowed: timestamp or timestamp_ntz"
        )
    return position


def _same_times(streams: Mapping[str, Stream]) -> None:
    first, *others = ((n, kind_name(s.schema.types[s.time])) for n, s in streams.items())
    for name, kind in others:
        if kind != first[1]:
            raise DataError.at(
                "time",
                f"{first[1]} for {first[0]!r} and {kind} for {name!r}",
                "the same type for all streams (cast one of them)",
            )


def _windows(window: Any, names: list[str]) -> dict[str, Size]:
    found: dict[str, Size] = {}
    for name, value in for_each(window, names, "window").items():
        if isinstance(value, Rows):
            found[name] = 0, value.n
        else:
            found[name] = (0 if value is None else not_negative(value, "window")), None
    if all(one == (0, None) for one in found.values()):
        raise ConfigError.at("window", repr(window), "a positive duration for at least one stream")
    return found


def _ages(freshness: Any, windows: Mapping[str, Size]) -> dict[str, Age]:
    """Freshness of the streams that have one; of the same kind as the window, and not shorter."""
    names = list(windows)
    if not isinstance(freshness, Mapping):
        freshness = dict.fromkeys(names, freshness)
    ages = {}
    for name, value in for_some(freshness, names, "freshness").items():
        if value is None:
            continue
        us, rows = windows[name]
        counted = isinstance(value, Rows)
        if counted != (rows is not None):
            kind = "a duration" if rows is None else "rows(n)"
            raise ConfigError.at(
                "freshness", f"{value!r} for {name!r}", f"{kind}, as its window is"
            )
        length = value.n if isinstance(value, Rows) else not_negative(value, "freshness")
        least = us if rows is None else rows
        if length < least:
            got, said = (f"rows({n})" if counted else format_duration(n) for n in (length, least))
            raise ConfigError.at(
                "freshness", f"{got} for {name!r}, shorter than its window", f"at least {said}"
            )
        ages[name] = Age(length, counted)
    return ages


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


def _refuse_in_chains(windows: Mapping[str, Size], states: Mapping[str, Rows] | None) -> None:
    counted = next((name for name, (_, rows) in windows.items() if rows is not None), None)
    if counted is not None:
        raise ConfigError.at(
            "window",
            f"rows(n) for {counted!r} with joins on different keys",
            "durations, or one key for all joins",
        )
    if states:
        raise ConfigError.at("states", "some with joins on different keys", "one key for all joins")


def resolve_strategy(
    asked: str, order: str, given: Mapping[str, object], n_streams: int, one_key: bool
) -> tuple[Strategy, Order]:
    """What may run, or an error that names the argument.

    Parameters
    ----------
    asked, order
        The user's.
    given
        Other arguments that only a tree can fulfil, by name; None for those that were not given.
    n_streams, one_key
        How many streams there are, and whether one key joins all.

    Examples
    --------
    >>> resolve_strategy("auto", "adaptive", {"plan": None}, n_streams=3, one_key=True)
    ('auto', 'adaptive')
    >>> resolve_strategy("mjoin", "adaptive", {"plan": "(a b) c"}, n_streams=3, one_key=True)
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: strategy: got 'mjoin' with a plan; allowed: 'tree' or 'auto' \
(one n-ary join has none)
    """
    strategy = next((one for one in STRATEGIES if one == asked), None)
    if strategy is None:
        raise ConfigError.at("strategy", repr(asked), ", ".join(STRATEGIES))
    drives = next((one for one in ORDERS if one == order), None)
    if drives is None:
        raise ConfigError.at("order", repr(order), ", ".join(ORDERS))
    only_tree = next((name for name, value in given.items() if value is not None), None)
    if strategy == "mjoin" and only_tree is not None:
        raise ConfigError.at(
            "strategy",
            f"'mjoin' with {_said(only_tree)}",
            "'tree' or 'auto' (one n-ary join has none)",
        )
    if strategy == "auto" and (only_tree is not None or not one_key or n_streams == 2):
        strategy = "tree"
    if strategy == "tree" and drives != "adaptive":
        why = "strategy='tree'" if asked == "tree" else "two streams"
        if only_tree is not None:
            why = _said(only_tree)
        elif asked == "auto" and not one_key:
            why = "joins on different keys"
        raise ConfigError.at(
            "order",
            f"{order!r} with {why}",
            "'adaptive' (only an n-ary join, strategy='mjoin', has inputs that drive one after the"
            " other)",
        )
    return strategy, drives


def resolve_sizes(selectivities: Selectivities | None, names: list[str]) -> Sizes | None:
    """What the user knows of the streams, or an error that names the argument.

    Examples
    --------
    >>> sizes = resolve_sizes({"a b": 0.01, "b c": 0.001}, ["a", "b", "c"])
    >>> sizes.selectivity(frozenset([0, 1]))
    0.01
    """
    if selectivities is None:
        return None
    if not isinstance(selectivities, Mapping) or not selectivities:
        raise ConfigError.at(
            "selectivities", repr(selectivities), 'a mapping such as {"a b": 0.001}'
        )
    found: dict[frozenset[int], float] = {}
    for label, sigma in selectivities.items():
        words = [stream_of(word, names, "selectivities") for word in str(label).split()]
        streams = frozenset(names.index(word) for word in words)
        is_number = isinstance(sigma, int | float) and not isinstance(sigma, bool)
        if len(words) != len(streams) or len(streams) < 2 or streams in found:
            raise ConfigError.at("selectivities", repr(label), "two streams or more, each set once")
        if not is_number or not 0 <= sigma <= 1:
            raise ConfigError.at("selectivities", f"{sigma!r} for {label!r}", "numbers from 0 to 1")
        found[streams] = float(sigma)
    reached = linked((streams for streams in found if len(streams) == 2), 0)
    apart = next((name for i, name in enumerate(names) if i not in reached), None)
    if apart is not None:
        raise ConfigError.at(
            "selectivities",
            f"none that links {apart!r} to {names[0]!r}",
            f"pairs such as '{names[0]} {apart}' that link all streams",
        )
    return Sizes.given(found, len(names))


def _attributes(keys: Keys, streams: Mapping[str, Stream]) -> tuple[dict[int, int], ...]:
    """For each class of equal columns, the position in each stream that has one.

    In what order the user says what must be equal does not matter.
    """
    found = (
        {
            number: stream.schema.names.index(one.columns[name])
            for number, (name, stream) in enumerate(streams.items())
            if name in one.columns
        }
        for one in keys.classes
    )
    return tuple(sorted(found, key=lambda one: list(one.items())))


def _said(argument: str) -> str:
    return argument if argument.endswith("s") else f"a {argument}"
