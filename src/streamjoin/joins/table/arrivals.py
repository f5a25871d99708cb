"""Rows in stored form: the user's columns, and the key as 64 bits."""

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.keys import column_keys, hash_keys
from streamjoin.joins.table.settings import KEY


class Keyed(NamedTuple):
    """Rows that have a key, and those that have none and so match nothing."""

    rows: pa.RecordBatch
    loose: pa.RecordBatch


@dataclass(frozen=True)
class TableArrival:
    """What the stream brings in a batch.

    Parameters
    ----------
    rows
        Those that have a key, in stored form.
    loose
        Those that have none, as the user knows them; columns are named by position.
    places
        The partition of the table that has each row's key, -1 where none has it and -2 where
        several may; None if somebody has yet to look.
    """

    rows: pa.RecordBatch
    loose: pa.RecordBatch
    places: NDArray[np.int32] | None = None


NOWHERE: Final = -1
SEVERAL: Final = -2


def keys_of(columns: list[pa.Array]) -> Keys:
    """One 64-bit key for each row."""
    return column_keys(columns[0]) if len(columns) == 1 else hash_keys(columns)


def keyed(rows: pa.RecordBatch, schema: pa.Schema, key: tuple[int, ...]) -> Keyed:
    """Bring rows into stored form; columns are named by position.

    Examples
    --------
    >>> rows = pa.record_batch({"id": [7, None], "x": ["p", "q"]})
    >>> found = keyed(rows, rows.schema, (0,))
    >>> found.rows.to_pydict(), found.loose.num_rows
    ({'c0': [7], 'c1': ['p'], '_key': [7]}, 1)
    """
    columns = [
        column if column.type == kind else column.cast(kind)
        for column, kind in zip(rows.columns, schema.types, strict=True)
    ]
    plain = pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))])
    if any(columns[i].null_count for i in key):
        valid = columns[key[0]].is_valid()
        for i in key[1:]:
            valid = pc.and_(valid, columns[i].is_valid())
        plain, loose = plain.filter(valid), plain.filter(pc.invert(valid))
    else:
        loose = plain.slice(0, 0)
    hashes = pa.array(keys_of([plain.column(i) for i in key]), pa.int64())
    return Keyed(plain.append_column(KEY, hashes), loose)


def row_keys(rows: pa.RecordBatch) -> Keys:
    """The 64-bit keys of rows in stored form."""
    return np.asarray(rows.column(rows.schema.get_field_index(KEY)))


def stored(schema: pa.Schema, *more: pa.Field) -> pa.Schema:
    """Schema of rows in stored form."""
    fields = [pa.field(f"c{i}", kind) for i, kind in enumerate(schema.types)]
    return pa.schema([*fields, pa.field(KEY, pa.int64()), *more])
