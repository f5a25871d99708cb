r"""Bytes with a version and a checksum before them: a flipped bit is noticed, and so is the future.

```
sjoin1 3610a686\n...            a mark with the version, CRC-32 of what follows, what follows
```

The head has 16 bytes, so that numbers behind it stay aligned in memory.
"""

import json
import zlib
from typing import Any, Final

import pyarrow as pa

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
