"""How much of a window may be remembered, and which part that is: the newest."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from streamjoin._typing import Side

PIECES: Final = 16
"""New basic windows have at most this part of what may be remembered: they are removed whole."""


@dataclass(frozen=True)
class MemoryLimit:
    """What one shard may remember during one batch.

    Parameters
    ----------
    limits
        For each side.
    sizes
        What a row of each side takes, about.
    unit
        Of both.
    """

    limits: tuple[float, float]
    sizes: tuple[float, float]
    unit: Literal["bytes", "rows"]

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
        return max(1, int(room / PIECES / self.sizes[side]))


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
