"""Columns of the two inputs and of the result: their names, positions and types."""

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Final

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin._typing import SIDES, Side
from streamjoin.core.stream import Stream
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.base import WEIGHT, OutputColumn
from streamjoin.joins.window.settings import How

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


def refuse_duplicates(names: Sequence[str], argument: str, naming: Naming) -> None:
    """Refuse an input with two columns of one name.

    Examples
    --------
    >>> refuse_duplicates(["k", "t", "K"], "left", Naming())
    Traceback (most recent call last):
        ...
    streamjoin.errors.DataError: left: columns 'k' and 'K' differ in case only, which Spark ignores;
    allowed: other names (rename one of them), or spark.sql.caseSensitive set to true
    """
    twice = naming.twice(names)
    if twice is None:
        return
    one, other = twice
    if one == other:
        msg = (
            f"{argument}: column {one!r} is there more than once; "
            "allowed: distinct column names (rename one of them)"
        )
    else:
        msg = (
            f"{argument}: columns {one!r} and {other!r} differ in case only, which Spark ignores; "
            "allowed: other names (rename one of them), or spark.sql.caseSensitive set to true"
        )
    raise DataError(msg)


def position_of(
    schema: pa.Schema, name: object, owner: str, argument: str, naming: Naming = ANY_CASE
) -> int:
    """Position of a column, or an error that names the argument and whose columns these are."""
    found = naming.find(schema.names, name)
    if found is not None:
        return found
    close = get_close_matches(str(name), schema.names, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise DataError(
        f"{argument}: {owner} has no column {name!r}{hint}; allowed: {', '.join(schema.names)}"
    )


def kind_name(data_type: pa.DataType) -> str:
    """A type in Spark's words where they differ from Arrow's."""
    if pa.types.is_timestamp(data_type):
        return "timestamp" if data_type.tz else "timestamp_ntz"
    return str(data_type)


def output_columns(
    left: Stream,
    right: Stream,
    n_on: int,
    how: How,
    suffixes: tuple[str, str],
    naming: Naming = ANY_CASE,
) -> tuple[OutputColumn, ...]:
    """Key columns first, one each where both sides call them the same; then left, then right."""
    if how in ("semi", "anti"):
        return tuple(_column(left, 0, i) for i in range(len(left.schema)))
    streams = left, right
    shared = {
        a: b
        for a, b in zip(left.key[:n_on], right.key[:n_on], strict=True)
        if naming.same(left.schema.names[a], right.schema.names[b])
    }
    merged = set(shared), set(shared.values())
    rest = [[i for i in range(len(streams[s].schema)) if i not in merged[s]] for s in SIDES]
    used = [{naming.fold(streams[s].schema.names[i]) for i in rest[s]} for s in SIDES]
    clash = used[0] & used[1]
    columns = [_merged(left, right, a, b) for a, b in shared.items()]
    for s in SIDES:
        for i in rest[s]:
            name = streams[s].schema.names[i]
            suffix = suffixes[s] if naming.fold(name) in clash else ""
            columns.append(_column(streams[s], s, i, suffix))
    twice = naming.twice(column.name for column in columns)
    if twice:
        raise ConfigError(
            f"suffixes: with {suffixes!r} the result has column {twice[1]!r} twice; "
            "allowed: suffixes that keep all names apart"
        )
    return tuple(columns)


def with_weight(columns: tuple[OutputColumn, ...], naming: Naming) -> tuple[OutputColumn, ...]:
    """The result's columns, and one that says how many pairs each row stands for."""
    if naming.find([column.name for column in columns], WEIGHT_NAME) is not None:
        raise ConfigError(
            f"weights: the result has a column {WEIGHT_NAME!r}; allowed: other names (rename it)"
        )
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
