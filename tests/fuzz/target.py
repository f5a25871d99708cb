"""What a fuzz target is: some bytes go in; nothing comes out but a sentence, or nothing at all."""

import atexit
import logging
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from streamjoin.errors import StreamJoinError

T = TypeVar("T")


@dataclass(frozen=True)
class Target:
    """Something that reads what others wrote.

    `one` reads any bytes; what it raises is a finding. `seeds` are bytes that it can make sense of,
    to begin with.
    """

    one: Callable[[bytes], None]
    seeds: Callable[[], list[bytes]]


@cache
def scratch() -> Path:
    """A folder of this process, for files that are read at once."""
    folder = Path(tempfile.mkdtemp(prefix="streamjoin-fuzz-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@contextmanager
def sentences_only() -> Iterator[None]:
    """Let an error of this library pass if it says something; any other one is a finding."""
    logging.disable(logging.WARNING)  # what is made anew is a warning; thousands of them are noise
    try:
        yield
    except StreamJoinError as error:
        if not str(error).strip() or "Traceback" in str(error):
            msg = f"no sentence in {error!r}"
            raise AssertionError(msg) from error
    finally:
        logging.disable(logging.NOTSET)


class Choices:
    """Decisions that bytes make; zeros when they are used up."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    @property
    def are_left(self) -> bool:
        """Whether there are bytes that have decided nothing yet."""
        return self._at < len(self._data)

    def below(self, n: int) -> int:
        """A number from 0 to n - 1, of two bytes."""
        pair = self._data[self._at : self._at + 2]
        self._at += 2
        return int.from_bytes(pair, "little") % max(1, n)

    def of(self, values: Sequence[T]) -> T:
        """One of some values."""
        return values[self.below(len(values))]


def damaged(blob: bytes, choices: Choices) -> bytes:
    """Bytes with some damage: a bit, a byte, a piece lost, doubled or zeroed, or the rest cut."""
    for _ in range(1 + choices.below(3)):
        at = choices.below(len(blob))
        stop = at + 1 + choices.below(32)
        kind = choices.below(6)
        piece = blob[at:stop]
        if kind == 0:
            piece = bytes([piece[0] ^ 1 << choices.below(8)]) + piece[1:] if piece else b""
        elif kind == 1:
            piece = bytes([choices.below(256)]) + piece[1:]
        elif kind == 2:
            piece = b""
        elif kind == 3:
            blob, piece, stop = blob[:at], b"", len(blob)
        elif kind == 4:
            piece += piece
        else:
            piece = bytes(len(piece))
        blob = blob[:at] + piece + blob[stop:]
    return blob
