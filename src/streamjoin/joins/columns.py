"""Columns of the two inputs and of the result: their names, positions and types."""

from collections import Counter
from difflib import get_close_matches
from typing import Final

import pyarrow as pa

from streamjoin._typing import SIDES, Side
from streamjoin.core.stream import Stream
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.base import WEIGHT, OutputColumn
from streamjoin.joins.window_join import How

SIDE_NAMES: Final = ("left", "right")
WEIGHT_NAME: Final = "_weight"


def nullable(schema: pa.Schema) -> pa.Schema:
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


def refuse_duplicates(schema: pa.Schema, side: Side) -> None:
    """Refuse an input with two columns of one name."""
    # Spark does not tell apart names that differ in case, so neither can a result.
    twice = [name for name, n in Counter(name.lower() for name in schema.names).items() if n > 1]
    if twice:
        msg = (
            f"{SIDE_NAMES[side]}: column {twice[0]!r} is there more than once; "
            "allowed: distinct column names (rename one of them)"
        )
        raise DataError(msg)


def position_of_name(schema: pa.Schema, name: object) -> int | None:
    """Position of a column, or None; upper and lower case are one."""
    if not isinstance(name, str):
        return None
    found = schema.get_field_index(name)
    if found >= 0:
        return int(found)
    alike = [n for n in schema.names if n.lower() == name.lower()]
    return int(schema.get_field_index(alike[0])) if alike else None


def position_of(schema: pa.Schema, name: str, side: Side, argument: str) -> int:
    """Position of a column, or an error that names the argument; upper and lower case are one."""
    found = position_of_name(schema, name)
    if found is not None:
        return found
    close = get_close_matches(name, schema.names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    msg = (
        f"{argument}: the {SIDE_NAMES[side]} stream has no column {name!r}{hint}; "
        f"allowed: {', '.join(schema.names)}"
    )
    raise DataError(msg)


def kind_name(data_type: pa.DataType) -> str:
    """A type in Spark's words where they differ from Arrow's."""
    if pa.types.is_timestamp(data_type):
        return "timestamp" if data_type.tz else "timestamp_ntz"
    return str(data_type)


def output_columns(
    left: Stream, right: Stream, n_on: int, how: How, suffixes: tuple[str, str]
) -> tuple[OutputColumn, ...]:
    """Key columns first, one each where both sides call them the same; then left, then right."""
    if how in ("semi", "anti"):
        return tuple(_column(left, 0, i) for i in range(len(left.schema)))
    streams = left, right
    shared = {
        a: b
        for a, b in zip(left.key[:n_on], right.key[:n_on], strict=True)
        if left.schema.names[a].lower() == right.schema.names[b].lower()
    }
    merged = set(shared), set(shared.values())
    rest = [[i for i in range(len(streams[s].schema)) if i not in merged[s]] for s in SIDES]
    used = [{streams[s].schema.names[i].lower() for i in rest[s]} for s in SIDES]
    clash = used[0] & used[1]
    columns = [_merged(left, right, a, b) for a, b in shared.items()]
    for s in SIDES:
        for i in rest[s]:
            name = streams[s].schema.names[i]
            columns.append(_column(streams[s], s, i, suffixes[s] if name.lower() in clash else ""))
    twice = [name for name, n in Counter(c.name.lower() for c in columns).items() if n > 1]
    if twice:
        msg = (
            f"suffixes: with {suffixes!r} the result has column {twice[0]!r} twice; "
            "allowed: suffixes that keep all names apart"
        )
        raise ConfigError(msg)
    return tuple(columns)


def with_weight(columns: tuple[OutputColumn, ...]) -> tuple[OutputColumn, ...]:
    """The result's columns, and one that says how many pairs each row stands for."""
    if WEIGHT_NAME in {column.name.lower() for column in columns}:
        msg = f"weights: the result has a column {WEIGHT_NAME!r}; allowed: other names (rename it)"
        raise ConfigError(msg)
    return (*columns, OutputColumn(0, WEIGHT, WEIGHT_NAME, pa.float64()))


def _merged(left: Stream, right: Stream, a: int, b: int) -> OutputColumn:
    """One column for a key of both sides; the wider type where they are integers of two sizes."""
    fields = left.schema.field(a), right.schema.field(b)
    same = fields[0].type == fields[1].type
    wider = 0 if same or fields[0].type.bit_width > fields[1].type.bit_width else 1
    return OutputColumn(0, a, fields[0].name, fields[wider].type, other=b)


def _column(stream: Stream, side: Side, position: int, suffix: str = "") -> OutputColumn:
    field = stream.schema.field(position)
    return OutputColumn(side, position, field.name + suffix, field.type)
