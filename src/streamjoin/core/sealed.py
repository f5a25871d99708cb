r"""Bytes with a version and a checksum before them: a flipped bit is noticed, and so is the future.

```
sjoin1 3610a686\n...            a mark with the version, CRC-32 of what follows, what follows
```

The head has 16 bytes, so that numbers behind it stay aligned in memory.

Rows that come as bytes from another task are made sure of before a kernel touches them. Spark's
shuffle has checksums of its own (those of LZ4), so bytes come as they were sent, or not at all.
Should they not, a kernel that follows a wrong offset ends the whole Python worker, without a word;
so offsets are looked at first, which costs 1 to 10 ns a row with strings and nothing for one with
numbers only.
"""

import json
import zlib
from functools import lru_cache
from typing import Any, Final

import pyarrow as pa

from streamjoin.errors import EngineError

VERSION: Final = 1
_MARK: Final = b"sjoin"
HEAD_BYTES: Final = 16


class UnknownVersionError(ValueError):
    """Something was sealed by a version that this one does not know; `version` is it."""

    def __init__(self, version: str) -> None:
        super().__init__(f"version {version} is not known here")
        self.version = version


def seal(blob: bytes) -> bytes:
    r"""Put version and checksum before bytes.

    Examples
    --------
    >>> seal(b"{}")
    b'sjoin1 a3a6bf43\n{}'
    """
    return b"%b%d %08x\n" % (_MARK, VERSION, zlib.crc32(blob)) + blob


def is_sealed(blob: bytes | pa.Buffer) -> bool:
    """Whether bytes begin with the mark."""
    return bytes(memoryview(blob)[: len(_MARK)]) == _MARK


def unseal(blob: bytes | pa.Buffer) -> memoryview:
    r"""What was sealed, not copied; a ValueError if that is not whole.

    Examples
    --------
    >>> bytes(unseal(seal(b"rows")))
    b'rows'
    >>> unseal(seal(b"rows")[:-1] + b"t")
    Traceback (most recent call last):
        ...
    ValueError: its checksum differs
    >>> unseal(b"sjoin7 00000000\n")
    Traceback (most recent call last):
        ...
    streamjoin.core.sealed.UnknownVersionError: version 7 is not known here
    """
    head, body = bytes(memoryview(blob)[:HEAD_BYTES]), memoryview(blob)[HEAD_BYTES:]
    if not is_sealed(head):
        raise ValueError("it has no mark")
    version, _, checksum = head[len(_MARK) :].decode("ascii", "replace").partition(" ")
    if checksum != f"{zlib.crc32(body):08x}\n":
        raise ValueError("its checksum differs")
    if version != str(VERSION):
        raise UnknownVersionError(version)
    return body


def parse_json(text: bytes | str | memoryview) -> Any:
    """What JSON says; a ValueError of whatever else it is, also if it is nested too deeply.

    Examples
    --------
    >>> parse_json(b"[" * 100_000)
    Traceback (most recent call last):
        ...
    ValueError: it is nested too deeply
    """
    try:
        return json.loads(bytes(text) if isinstance(text, memoryview) else text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


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
