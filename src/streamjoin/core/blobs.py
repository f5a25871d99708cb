"""Rows that come as bytes from another task, made sure of before a kernel touches them.

Spark's shuffle has checksums of its own (those of LZ4), so bytes come as they were sent, or not at
all. Should they not, a kernel that follows a wrong offset ends the whole Python worker, without a
word; so offsets are looked at first, which costs 1 to 10 ns a row with strings and nothing for one
with numbers only.
"""

from functools import lru_cache

import pyarrow as pa

from streamjoin.errors import EngineError


def read_rows(blob: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """Rows of an Arrow message without its schema, or an error if they cannot be what was sent.

    Examples
    --------
    >>> rows = pa.record_batch({"s": ["a", "b"]})
    >>> blob = rows.serialize().to_pybytes()
    >>> read_rows(blob, rows.schema).num_rows
    2
    >>> read_rows(blob[:-8], rows.schema)
    Traceback (most recent call last):
        ...
    streamjoin.errors.EngineError: rows came damaged from another task (Expected to be able to read
    24 bytes for message body, got 16); start the query again: nothing is lost
    """
    buffer = pa.py_buffer(blob)
    try:
        pa.ipc.read_record_batch(buffer, _without_strings(schema)).validate(full=True)
        return pa.ipc.read_record_batch(buffer, schema)
    except (pa.ArrowException, OSError, EOFError, MemoryError) as error:
        reason = str(error).partition("\n")[0]
        raise EngineError(
            f"rows came damaged from another task ({reason}); start the query again: nothing is"
            " lost"
        ) from None


@lru_cache(maxsize=64)
def _without_strings(schema: pa.Schema) -> pa.Schema:
    """The same memory with bytes for strings: Spark's strings need not be UTF-8."""
    return pa.schema([field.with_type(_bytes_for(field.type)) for field in schema])


def _bytes_for(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_string(kind):
        return pa.binary()
    if pa.types.is_list(kind):
        return pa.list_(_field(kind.value_field))
    if pa.types.is_map(kind):
        return pa.map_(_field(kind.key_field), _field(kind.item_field))
    if pa.types.is_struct(kind):
        return pa.struct([_field(kind.field(i)) for i in range(kind.num_fields)])
    return kind


def _field(field: pa.Field) -> pa.Field:
    return field.with_type(_bytes_for(field.type))
