"""What every join shares: pairs of positions, and a place to keep basic windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from streamjoin._typing import Positions, Side
from streamjoin.core.batch import Batch
from streamjoin.core.window import BasicWindow


@dataclass(frozen=True)
class OutputColumn:
    """One column of the result: where it comes from and what it is called."""

    side: Side
    position: int
    name: str
    type: pa.DataType


@dataclass(frozen=True)
class Pairs:
    """Results as positions: row ``positions[0][i]`` of the left with ``positions[1][i]``."""

    batches: tuple[Batch, Batch]
    positions: tuple[Positions, Positions]

    def __len__(self) -> int:
        return len(self.positions[0])

    def take(self, columns: Sequence[OutputColumn]) -> list[pa.Array]:
        """Build the rows, a column at a time."""
        at = [pa.array(positions) for positions in self.positions]
        return [self.batches[c.side].rows.column(c.position).take(at[c.side]) for c in columns]


class WindowStore(Protocol):
    """Keeps the bytes of basic windows under their directory entries."""

    def put(self, side: Side, window: BasicWindow, blob: pa.Buffer) -> None:
        """Keep a new basic window."""

    def get(self, side: Side, window: BasicWindow) -> pa.Buffer:
        """Bytes of a basic window that was put."""

    def remove(self, side: Side, window: BasicWindow) -> None:
        """Forget a basic window."""


class MemoryStore:
    """A store in this process.

    Examples
    --------
    >>> store, window = MemoryStore(), BasicWindow(0, 0, 1, 5, 5, 3, 0)
    >>> store.put(0, window, pa.py_buffer(b"abc"))
    >>> store.get(0, window).to_pybytes()
    b'abc'
    """

    def __init__(self) -> None:
        self._blobs: dict[tuple[Side, int, int], pa.Buffer] = {}

    def put(self, side: Side, window: BasicWindow, blob: pa.Buffer) -> None:
        """Keep a new basic window."""
        self._blobs[side, window.slice, window.sequence] = blob

    def get(self, side: Side, window: BasicWindow) -> pa.Buffer:
        """Bytes of a basic window that was put."""
        return self._blobs[side, window.slice, window.sequence]

    def remove(self, side: Side, window: BasicWindow) -> None:
        """Forget a basic window."""
        del self._blobs[side, window.slice, window.sequence]

    def __len__(self) -> int:
        return len(self._blobs)
