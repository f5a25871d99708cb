"""Columns of the result, and of what one operator of a plan hands to the next."""

from collections.abc import Mapping, Sequence
from typing import Final

import pyarrow as pa

from streamjoin._names import Naming
from streamjoin.errors import ConfigError
from streamjoin.joins.base import WEIGHT, OutputColumn
from streamjoin.joins.multi.keys import Keys
from streamjoin.joins.multi.settings import END, START, Input

BEGINS: Final = "_begins"
ENDS: Final = "_ends"
REACHED: Final = "_reached"
WEIGHS: Final = "_weighs"
NEWEST: Final = "_newest"
"""Columns that partial results have besides those of their streams."""

StreamColumn = tuple[str, str]
"""A stream and one of its columns, by name."""
Places = Mapping[StreamColumn, tuple[int, int]]
"""Input and position of the streams' columns."""


def prefixed(stream: str, column: str) -> str:
    """What a column of a stream is called in the result."""
    return f"{stream}_{column}"


def final_columns(
    names: Sequence[str], inputs: Sequence[Input], places: Places, keys: Keys, naming: Naming
) -> tuple[OutputColumn, ...]:
    """Columns of the result: keys first where all call them the same, then stream by stream."""
    merged = [one.columns for one in keys.classes] if keys.shared else []
    columns = []
    for one in merged:
        stream, column = next(iter(one.items()))
        columns.append(_column((stream, column), column, inputs, places))
    once = {(stream, column) for one in merged for stream, column in one.items()}
    for name in names:
        columns += [
            _column(column, prefixed(*column), inputs, places)
            for column in places
            if column[0] == name and column not in once
        ]
    _refuse_twice(columns, naming)
    return tuple(columns)


def partial_columns(
    wanted: Sequence[StreamColumn],
    inputs: Sequence[Input],
    places: Places,
    naming: Naming,
    *,
    weighed: bool,
) -> tuple[OutputColumn, ...]:
    """Columns of partial results: those of their streams, when they begin and end, and weights."""
    columns = [_column(column, prefixed(*column), inputs, places) for column in wanted]
    _refuse_twice(columns, naming)
    columns.append(OutputColumn(0, START, BEGINS, pa.int64()))
    columns.append(OutputColumn(0, END, ENDS, pa.int64()))
    if weighed:
        columns.append(OutputColumn(0, WEIGHT, WEIGHS, pa.float64()))
    return tuple(columns)


def _column(
    column: StreamColumn, name: str, inputs: Sequence[Input], places: Places
) -> OutputColumn:
    number, position = places[column]
    return OutputColumn(number, position, name, inputs[number].stream.schema.types[position])


def _refuse_twice(columns: Sequence[OutputColumn], naming: Naming) -> None:
    twice = naming.twice(column.name for column in columns)
    if twice is not None:
        raise ConfigError(
            f"streams: the result has column {twice[1]!r} twice; allowed: names of streams and "
            "columns that keep <stream>_<column> apart"
        )
