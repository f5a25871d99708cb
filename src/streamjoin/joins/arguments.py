"""The user's arguments, checked against the two schemas and turned into settings.

A tuple always means (left, right); a list always means several.
"""

from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final, TypeAlias, TypeVar

import pyarrow as pa

from streamjoin._typing import SIDES, Side
from streamjoin.core.keys import can_be_key
from streamjoin.core.stream import Stream
from streamjoin.durations import Duration, parse_duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.base import OutputColumn
from streamjoin.joins.window_join import WindowJoin

T = TypeVar("T")
On = str | tuple[str, str] | Sequence[str | tuple[str, str]]
"""Key columns: ``"k"``, ``("k_left", "k_right")``, or a list of such."""
Both: TypeAlias = T | tuple[T, T]
"""One value for both sides, or (left, right)."""

_NAMES: Final = ("left", "right")


def resolve(
    schemas: tuple[pa.Schema, pa.Schema],
    *,
    on: On,
    time: Both[str],
    window: Both[Duration],
    lateness: Duration,
    suffixes: tuple[str, str],
) -> WindowJoin:
    """Settings of a window join, or an error that names the argument.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "x": pa.float64()})
    >>> join = resolve((schema, schema), on="k", time="t", window="10 s",
    ...                lateness="1 s", suffixes=("_left", "_right"))
    >>> [column.name for column in join.output]
    ['k', 't_left', 'x_left', 't_right', 'x_right']
    """
    for side in SIDES:
        _refuse_duplicates(schemas[side], side)
    schemas = _nullable(schemas[0]), _nullable(schemas[1])
    keys = _keys(on, schemas)
    times = _pair(time, "time", str)
    windows = _windows(window)
    time_positions = [_time_position(schemas[s], times[s], s) for s in SIDES]
    if schemas[0].types[time_positions[0]] != schemas[1].types[time_positions[1]]:
        kinds = [_kind(schemas[s].types[time_positions[s]]) for s in SIDES]
        msg = (
            f"time: got {times[0]!r} of type {kinds[0]} and {times[1]!r} of type {kinds[1]}; "
            "allowed: the same type on both sides (cast one of them)"
        )
        raise DataError(msg)
    late_us = parse_duration(lateness, "lateness")
    if late_us < 0:
        msg = f"lateness: got {lateness!r}; allowed: zero or a positive duration"
        raise ConfigError(msg)
    left, right = (
        Stream(schemas[s], tuple(key[s] for key in keys), time_positions[s], windows[s], late_us)
        for s in SIDES
    )
    return WindowJoin(left, right, _output(left, right, suffixes))


def _nullable(schema: pa.Schema) -> pa.Schema:
    """Schema in which everything may be null: an expression that became so is the same column."""
    return pa.schema([pa.field(f.name, _nullable_type(f.type)) for f in schema])


def _nullable_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _nullable_type(f.type)) for f in kind])
    if pa.types.is_list(kind):
        return pa.list_(pa.field(kind.value_field.name, _nullable_type(kind.value_type)))
    if pa.types.is_map(kind):
        return pa.map_(_nullable_type(kind.key_type), _nullable_type(kind.item_type))
    return kind


def _refuse_duplicates(schema: pa.Schema, side: Side) -> None:
    # Spark does not tell apart names that differ in case, so neither can a result.
    twice = [name for name, n in Counter(name.lower() for name in schema.names).items() if n > 1]
    if twice:
        msg = (
            f"{_NAMES[side]}: column {twice[0]!r} is there more than once; "
            "allowed: distinct column names (rename one of them)"
        )
        raise DataError(msg)


def _pair(value: object, argument: str, kind: type[T]) -> tuple[T, T]:
    if isinstance(value, kind):
        return value, value
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(v, kind) for v in value):
        return value
    msg = f"{argument}: got {value!r}; allowed: one {kind.__name__} or a pair (left, right)"
    raise ConfigError(msg)


def _position(schema: pa.Schema, name: str, side: Side, argument: str) -> int:
    found = schema.get_field_index(name)
    if found >= 0:
        return int(found)
    alike = [n for n in schema.names if n.lower() == name.lower()]
    if alike:
        return int(schema.get_field_index(alike[0]))
    close = get_close_matches(name, schema.names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    msg = (
        f"{argument}: the {_NAMES[side]} stream has no column {name!r}{hint}; "
        f"allowed: {', '.join(schema.names)}"
    )
    raise DataError(msg)


def _keys(on: On, schemas: tuple[pa.Schema, pa.Schema]) -> list[tuple[int, int]]:
    entries = list(on) if isinstance(on, list) else [on]
    if not entries:
        msg = "on: got no column; allowed: one or more column names"
        raise ConfigError(msg)
    keys = []
    for entry in entries:
        names = _pair(entry, "on", str)
        left, right = (_position(schemas[s], names[s], s, "on") for s in SIDES)
        _check_key(schemas[0].field(left), schemas[1].field(right))
        keys.append((left, right))
    return keys


def _check_key(left: pa.Field, right: pa.Field) -> None:
    integers = pa.types.is_integer(left.type) and pa.types.is_integer(right.type)
    if left.type != right.type and not integers:
        msg = (
            f"on: {left.name!r} is {_kind(left.type)} on the left and {right.name!r} is "
            f"{_kind(right.type)} on the right; allowed: equal types (cast one of them)"
        )
        raise DataError(msg)
    for field in (left, right):
        if not can_be_key(field.type):
            msg = (
                f"on: {field.name!r} has type {_kind(field.type)}; allowed: any type that can be "
                "compared for equality (maps cannot)"
            )
            raise DataError(msg)


def _windows(window: Both[Duration]) -> tuple[int, int]:
    values = window if isinstance(window, tuple) else (window, window)
    if len(values) != 2:
        msg = f"window: got {window!r}; allowed: one duration or a pair (left, right)"
        raise ConfigError(msg)
    lengths = parse_duration(values[0], "window"), parse_duration(values[1], "window")
    for value, length in zip(values, lengths, strict=True):
        if length <= 0:
            msg = f"window: got {value!r}; allowed: a positive duration"
            raise ConfigError(msg)
    return lengths


def _time_position(schema: pa.Schema, name: str, side: Side) -> int:
    position = _position(schema, name, side, "time")
    if not pa.types.is_timestamp(schema.types[position]):
        msg = (
            f"time: {_NAMES[side]} column {name!r} has type {_kind(schema.types[position])}; "
            "allowed: timestamp or timestamp_ntz"
        )
        raise DataError(msg)
    return position


def _kind(data_type: pa.DataType) -> str:
    if pa.types.is_timestamp(data_type):
        return "timestamp" if data_type.tz else "timestamp_ntz"
    return str(data_type)


def _output(left: Stream, right: Stream, suffixes: tuple[str, str]) -> tuple[OutputColumn, ...]:
    """Key columns first, one each where both sides call them the same; then left, then right."""
    both = _pair(suffixes, "suffixes", str)
    streams = left, right
    shared = {
        (a, b)
        for a, b in zip(left.key, right.key, strict=True)
        if left.schema.names[a].lower() == right.schema.names[b].lower()
    }
    merged = {a for a, _ in shared}, {b for _, b in shared}
    rest = [[i for i in range(len(streams[s].schema)) if i not in merged[s]] for s in SIDES]
    used = [{streams[s].schema.names[i].lower() for i in rest[s]} for s in SIDES]
    clash = used[0] & used[1]
    columns = [_column(left, 0, a) for a in dict.fromkeys(left.key) if a in merged[0]]
    for s in SIDES:
        for i in rest[s]:
            name = streams[s].schema.names[i]
            columns.append(_column(streams[s], s, i, both[s] if name.lower() in clash else ""))
    twice = [name for name, n in Counter(c.name.lower() for c in columns).items() if n > 1]
    if twice:
        msg = (
            f"suffixes: with {suffixes!r} the result has column {twice[0]!r} twice; "
            "allowed: suffixes that keep all names apart"
        )
        raise ConfigError(msg)
    return tuple(columns)


def _column(stream: Stream, side: Side, position: int, suffix: str = "") -> OutputColumn:
    field = stream.schema.field(position)
    return OutputColumn(side, position, field.name + suffix, field.type)
