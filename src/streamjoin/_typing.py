"""Names for arrays by meaning."""

from collections.abc import Callable
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
"""One 64-bit key per row: the key itself where it is a whole number, else a hash of it."""

Times = NDArray[np.int64]
"""Event times in microseconds since the epoch."""

Positions = NDArray[np.int32]
"""Row numbers within one batch or basic window."""

Side = Literal[0, 1]
"""0 is the left stream, 1 the right one; in the total order left comes first."""

LEFT: Side = 0
RIGHT: Side = 1
SIDES: tuple[Side, Side] = (LEFT, RIGHT)

T = TypeVar("T")


def both(of: Callable[[Side], T]) -> tuple[T, T]:
    """What the left has, and the right."""
    return of(LEFT), of(RIGHT)
