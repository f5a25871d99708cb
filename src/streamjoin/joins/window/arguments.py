"""The user's arguments, checked against the two schemas and turned into settings.

A tuple always means (left, right); a list always means several.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias, TypeVar, get_args

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin._typing import SIDES, Side, both
from streamjoin.budget import Budget
from streamjoin.core.keys import can_be_key, comparable
from streamjoin.core.stream import Stream
from streamjoin.durations import Duration, format_duration, parse_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import (
    SIDE_NAMES,
    kind_name,
    nullable,
    output_columns,
    position_of,
    refuse_duplicates,
    with_weight,
)
from streamjoin.joins.where import Where, parse_where
from streamjoin.joins.window.settings import Algorithm, Direction, How, Invalidation, WindowJoin
from streamjoin.shedding.limits import Shed, limits_of, refuse_without_budget
from streamjoin.windows import Rows

T = TypeVar("T")
L = TypeVar("L", bound=str)
On = str | tuple[str, str] | Sequence[str | tuple[str, str]] | None
"""Key columns: ``"k"``, ``("k_left", "k_right")``, or a list of such; None for no equality."""
Both: TypeAlias = T | tuple[T, T]
"""One value for both sides, or (left, right)."""
Window = Duration | Rows | None
"""How long or how many; None: this stream is not remembered, it only probes."""

Schemas = tuple[pa.Schema, pa.Schema]
Size = tuple[int, int | None]
"""A window as microseconds and, where it counts them, rows."""

HOWS: Final[tuple[How, ...]] = get_args(How)
DIRECTIONS: Final[tuple[Direction, ...]] = get_args(Direction)
ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)
INVALIDATIONS: Final[tuple[Invalidation, ...]] = get_args(Invalidation)
# With Spark's own spellings.
_SPELLINGS: Final[dict[str, How]] = {
    **{how: how for how in HOWS},
    "leftouter": "left", "rightouter": "right", "outer": "full", "fullouter": "full",
    "leftsemi": "semi", "leftanti": "anti",
}  # fmt: skip
# What the columns that an argument names may be.
_ALLOWED: Final[dict[str, tuple[tuple[Callable[[pa.DataType], bool], ...], str]]] = {
    "time": ((pa.types.is_timestamp,), "timestamp or timestamp_ntz"),
    "utility": (
        (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal), "a number",
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Resolved:
    """A join's settings, and what of its predicate must be evaluated elsewhere.

    Parameters
    ----------
    join
        Settings.
    where
        The predicate as it was understood; None if there was none.
    """

    join: WindowJoin
    where: Where | None = None

    @property
    def rest(self) -> str | None:
        """The part of the predicate that only SQL can evaluate, as SQL."""
        if self.where is None or not self.where.rest:
            return None
        return " AND ".join(f"({conjunct})" for conjunct in self.where.rest)


def resolve(
    schemas: Schemas,
    *,
    on: On = None,
    where: str | None = None,
    how: str = "inner",
    direction: str = "backward",
    time: Both[str],
    window: Both[Window],
    lateness: Duration = "0 seconds",
    idle_timeout: Duration | None = None,
    suffixes: tuple[str, str] = ("_left", "_right"),
    freshness: Both[Duration | None] = None,
    budget: Budget | None = None,
    shed: Shed = None,
    split: str = "best",
    utility: Both[str | None] = None,
    weights: bool = False,
    algorithm: Both[str] = "auto",
    invalidation: str = "active",
    time_zone: str = "UTC",
    naming: Naming = ANY_CASE,
) -> Resolved:
    """Settings of a window join, or an error that names the argument.

    `time_zone` is that of timestamps in `where` that name none, `naming` says which names of
    columns are one; for the rest see `streamjoin.join`.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "x": pa.float64()})
    >>> join = resolve((schema, schema), on="k", time="t", window="10 s").join
    >>> [column.name for column in join.output]
    ['k', 't_left', 'x_left', 't_right', 'x_right']
    """
    for side in SIDES:
        refuse_duplicates(schemas[side].names, SIDE_NAMES[side], naming)
    schemas = nullable(schemas[0]), nullable(schemas[1])
    kind = _how(how)
    keys = _keys(on, schemas, naming)
    found = None if where is None else parse_where(where, schemas, time_zone, naming)
    if found is not None:
        _check_where(found, kind)
    toward = _direction(direction, kind)
    times = _times(time, schemas, naming)
    windows = _windows(window, kind, toward)
    late_us = not_negative(lateness, "lateness")
    all_keys = list(dict.fromkeys([*keys, *(found.equalities if found else ())]))
    left, right = (
        Stream(
            schemas[s], tuple(key[s] for key in all_keys), times[s],
            windows[s][0], late_us, windows[s][1],
        )
        for s in SIDES
    )  # fmt: skip
    join = WindowJoin(
        left,
        right,
        output_columns(left, right, len(keys), kind, _pair(suffixes, "suffixes", str), naming),
        kind,
        toward,
        found.predicate if found else None,
        found.band if found else None,
        found.sets if found else None,
        None if idle_timeout is None else positive(idle_timeout, "idle_timeout"),
        *_methods(algorithm, invalidation, found.indexed if found else None),
        freshness_us=_freshness(freshness, windows, kind),
    )
    if not isinstance(weights, bool):
        raise ConfigError.at("weights", repr(weights), "True or False")
    if weights:
        if kind != "inner":
            raise ConfigError.at("weights", f"True with how={how!r}", "only with 'inner'")
        join = replace(join, output=with_weight(join.output, naming))
    if budget is None:
        refuse_without_budget(shed=shed, split=split, utility=utility)
        return Resolved(join, found)
    shedding = limits_of(budget, shed, split, how=join.how, has_row_windows=join.is_ordered)
    worth = _utility(utility, schemas, shedding.policy is not None, naming)
    return Resolved(replace(join, shedding=shedding, utility=worth), found)


def _freshness(
    freshness: Both[Duration | None], windows: tuple[Size, Size], how: How
) -> tuple[int | None, int | None]:
    """Ages in microseconds, not shorter than the windows (JAQ-A9)."""
    values = freshness if isinstance(freshness, tuple) else (freshness, freshness)
    if len(values) != 2:
        raise ConfigError.at("freshness", repr(freshness), "one duration or a pair (left, right)")
    if how != "inner" and any(value is not None for value in values):
        raise ConfigError.at("freshness", f"{freshness!r} with how={how!r}", "only with 'inner'")
    return both(lambda side: _age(values[side], windows[side], side))


def _age(value: Duration | None, window: Size, side: Side) -> int | None:
    if value is None:
        return None
    age, (window_us, rows) = not_negative(value, "freshness"), window
    if rows is not None:
        raise ConfigError.at(
            "freshness",
            f"{value!r} with rows({rows}) as the {SIDE_NAMES[side]} window",
            "with windows of time",
        )
    if age < window_us:
        raise ConfigError.at(
            "freshness",
            f"{format_duration(age)} for the {SIDE_NAMES[side]} stream, shorter than its window",
            f"at least {format_duration(window_us)}",
        )
    return age


def _utility(
    utility: Both[str | None], schemas: Schemas, selective: bool, naming: Naming
) -> tuple[int | None, int | None]:
    """Positions of the columns that say what a result is worth."""
    if utility is None:
        return None, None
    names = utility if isinstance(utility, tuple) else (utility, utility)
    is_named = all(name is None or isinstance(name, str) for name in names)
    if len(names) != 2 or names == (None, None) or not is_named:
        raise ConfigError.at("utility", repr(utility), "a column name or a pair (left, right)")
    if not selective:
        raise ConfigError.at("utility", f"{utility!r} with shed='drop'", "only with 'selective'")

    def position(side: Side) -> int | None:
        name = names[side]
        return None if name is None else _position(schemas, name, side, "utility", naming)

    return both(position)


def _methods(
    algorithm: Both[str], invalidation: str, indexed: str | None
) -> tuple[tuple[Algorithm, Algorithm], Invalidation]:
    words = _pair(algorithm, "algorithm", str)
    methods = both(lambda side: one_of(words[side], "algorithm", ALGORITHMS))
    if indexed and not {*methods} <= {"auto", "batch"}:
        raise ConfigError.at(
            "algorithm", f"{algorithm!r} with {indexed} in `where`", "'auto' or 'batch'"
        )
    return methods, one_of(invalidation, "invalidation", INVALIDATIONS)


def one_of(value: object, argument: str, allowed: tuple[L, ...]) -> L:
    """One of some words, or an error that names the argument."""
    for known in allowed:
        if value == known:
            return known
    raise ConfigError.at(argument, repr(value), ", ".join(map(str, allowed)))


def _how(how: object) -> How:
    word = how.lower().replace("_", "").replace(" ", "") if isinstance(how, str) else ""
    if word not in _SPELLINGS:
        raise ConfigError.at("how", repr(how), ", ".join(HOWS))
    return _SPELLINGS[word]


def _direction(direction: object, how: How) -> Direction:
    toward = one_of(direction, "direction", DIRECTIONS)
    if toward != "backward" and how != "asof":
        raise ConfigError.at("direction", f"{direction!r} with how={how!r}", "only with 'asof'")
    return toward


def _check_where(where: Where, how: How) -> None:
    if how == "asof":
        raise ConfigError.at(
            "where", f"{where.text!r} with how='asof'", "none (use `on` for equal keys)"
        )
    if where.rest and how != "inner":
        raise ConfigError(
            f"where: {where.rest[0]!r} can only be evaluated after an inner join, and this one is "
            f"{how!r}; allowed: comparisons, arithmetic, abs, overlap, inner_product, BETWEEN, IN, "
            "IS NULL, AND, OR, NOT"
        )


def _pair(value: object, argument: str, kind: type[T]) -> tuple[T, T]:
    if isinstance(value, kind):
        return value, value
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, kind) for v in value):
        return value
    raise ConfigError.at(argument, repr(value), f"one {kind.__name__} or a pair (left, right)")


def _position(schemas: Schemas, name: str, side: Side, argument: str, naming: Naming) -> int:
    """Position of a column that an argument names."""
    schema, side_name = schemas[side], SIDE_NAMES[side]
    position = position_of(schema, name, f"the {side_name} stream", argument, naming)
    are_allowed, allowed = _ALLOWED.get(argument, ((), ""))
    kind = schema.types[position]
    if are_allowed and not any(is_allowed(kind) for is_allowed in are_allowed):
        raise DataError(
            f"{argument}: {side_name} column {name!r} has type {kind_name(kind)}; "
            f"allowed: {allowed}"
        )
    return position


def _keys(on: On, schemas: Schemas, naming: Naming) -> list[tuple[int, int]]:
    if on is None:
        return []
    entries = list(on) if isinstance(on, list) else [on]
    if not entries:
        raise ConfigError.at("on", "no column", "one or more column names")
    keys = []
    for entry in entries:
        names = _pair(entry, "on", str)
        left, right = (_position(schemas, names[s], s, "on", naming) for s in SIDES)
        _check_key(schemas[0].field(left), schemas[1].field(right))
        if (left, right) in keys:
            raise ConfigError.at("on", f"{entry!r} twice", "each pair of columns once")
        keys.append((left, right))
    return keys


def _check_key(left: pa.Field, right: pa.Field) -> None:
    if not comparable(left.type, right.type):
        raise DataError(
            f"on: {left.name!r} is {kind_name(left.type)} on the left and {right.name!r} is "
            f"{kind_name(right.type)} on the right; allowed: equal types (cast one of them)"
        )
    for field in (left, right):
        if not can_be_key(field.type):
            raise DataError(
                f"on: {field.name!r} has type {kind_name(field.type)}; allowed: any type that can "
                "be compared for equality (maps cannot)"
            )


def _windows(window: Both[Window], how: How, direction: Direction) -> tuple[Size, Size]:
    """The windows of both sides."""
    values = window if isinstance(window, tuple) else (window, window)
    if len(values) != 2:
        raise ConfigError.at("window", repr(window), "one window or a pair (left, right)")
    left, right = (_window(value, how) for value in values)
    if left == right == (0, None):
        raise ConfigError.at("window", repr(window), "a positive duration for at least one side")
    if how == "asof" and direction == "backward":
        left = (0, None)  # the right tuple is never the later one
    return left, right


def _window(value: Window, how: How) -> Size:
    if isinstance(value, Rows):
        if how == "asof":
            raise ConfigError.at("window", f"rows({value.n}) with how='asof'", "a duration")
        return 0, value.n
    return (0 if value is None else not_negative(value, "window")), None


def not_negative(value: Duration, argument: str) -> int:
    """Microseconds of an argument that may be zero."""
    length = parse_duration(value, argument)
    if length < 0:
        raise ConfigError.at(argument, repr(value), "zero or a positive duration")
    return length


def positive(value: Duration, argument: str) -> int:
    """Microseconds of an argument that may not."""
    length = parse_duration(value, argument)
    if length <= 0:
        raise ConfigError.at(argument, repr(value), "a positive duration")
    return length


def _times(time: Both[str], schemas: Schemas, naming: Naming) -> tuple[int, int]:
    names = _pair(time, "time", str)
    left, right = (_position(schemas, names[s], s, "time", naming) for s in SIDES)
    kinds = schemas[0].types[left], schemas[1].types[right]
    if kinds[0] != kinds[1]:
        raise DataError.at(
            "time",
            " and ".join(
                f"{n!r} of type {kind_name(k)}" for n, k in zip(names, kinds, strict=True)
            ),
            "the same type on both sides (cast one of them)",
        )
    return left, right
