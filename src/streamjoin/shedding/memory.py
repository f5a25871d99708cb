"""How much of a window may be remembered, and which part that is: the newest.

A part of the memory is for the samples that tell what was missed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Literal

from streamjoin._typing import Side

PIECES_IN_ROOM: Final = 16
"""New basic windows have at most this part of what may be remembered: they are removed whole."""
SAMPLE_PART: Final = 16
"""One part in so many of the memory is for samples."""
MIN_SAMPLE_ROWS: Final = 8
EMPTY_BLOB: Final = 1_200  # bytes
MAX_SAMPLE_ROWS: Final = 4096
MAX_SAMPLE_BYTES: Final = 256 << 10
"""Of the sample of a side, where memory is not limited."""
MIN_OF_MAX_ROWS: Final = 1_024
"""Rows that a sample may have at least, where memory is limited by rows."""
Unit = Literal["bytes", "rows"]


@dataclass(frozen=True)
class MemoryLimit:
    """What one shard may remember during one batch."""

    limits: tuple[float, float]  # for each side
    sizes: tuple[float, float]  # what a row of each side takes, about
    unit: Unit  # of both
    sample_bytes: float = inf  # of a sample of one side

    @classmethod
    def with_samples(
        cls, memory: tuple[float, float], sizes: tuple[float, float], unit: Unit, n_samples: int
    ) -> "MemoryLimit":
        """Divide memory between windows and so many samples of each side.

        Examples
        --------
        >>> MemoryLimit.with_samples((1e6, 1e6), (100.0, 100.0), "bytes", n_samples=2)
        MemoryLimit(limits=(875000.0, 875000.0), ..., sample_bytes=62500.0)
        """
        if unit == "rows":
            return cls(memory, sizes, unit)
        total = sum(memory)
        # Some rows at least, even if there is little memory.
        some = MIN_SAMPLE_ROWS * max(sizes) + EMPTY_BLOB
        sample_bytes = min(max(total / (2 * SAMPLE_PART), some), total / 8)
        left = 1 - 2 * n_samples * sample_bytes / total if total else 0.0
        return cls((memory[0] * left, memory[1] * left), sizes, unit, sample_bytes)

    def room(self, side: Side, needs: float) -> float:
        """What a side may take if the other one needs so much: what that leaves may be used.

        Examples
        --------
        >>> limit = MemoryLimit((60.0, 40.0), (1.0, 1.0), "rows")
        >>> limit.room(0, needs=10.0), limit.room(0, needs=90.0)
        (90.0, 60.0)
        """
        return sum(self.limits) - min(needs, self.limits[1 - side])

    def piece_rows(self, side: Side, room: float) -> int:
        """Rows of a new basic window at most.

        Examples
        --------
        >>> MemoryLimit((1600.0, 0.0), (1.0, 1.0), "rows").piece_rows(0, room=1600.0)
        100
        """
        return max(1, int(room / PIECES_IN_ROOM / self.sizes[side]))


def sample_limits(memory: MemoryLimit | None) -> tuple[int, float]:
    """Rows and bytes that the sample of a side's forgotten rows may have."""
    if memory is None:
        return MAX_SAMPLE_ROWS, MAX_SAMPLE_BYTES
    if memory.unit == "bytes":
        return MAX_SAMPLE_ROWS, memory.sample_bytes
    return min(MAX_SAMPLE_ROWS, max(MIN_OF_MAX_ROWS, int(sum(memory.limits)) // 4)), inf


def pieces(spans: Sequence[tuple[int, int, int]], most: int) -> Iterator[tuple[int, int, int]]:
    """Cut spans (slice, start, stop) into pieces of at most `most` rows, the newest first.

    Examples
    --------
    >>> list(pieces([(7, 0, 3), (8, 3, 8)], most=2))
    [(8, 6, 8), (8, 4, 6), (8, 3, 4), (7, 1, 3), (7, 0, 1)]
    """
    for slice_, start, stop in reversed(spans):
        for end in range(stop, start, -most):
            yield slice_, max(start, end - most), end
