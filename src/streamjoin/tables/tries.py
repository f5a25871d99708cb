"""What fails for a while is tried again; for how long is said here, for all tables."""

import time
from typing import Final

PATIENCE: Final = 5.0
"""Seconds after which nothing is tried again."""
_FIRST: Final = 0.1
_MOST: Final = 1.0


class Tries:
    """Time that is left for new tries, from now on.

    Parameters
    ----------
    patience
        Seconds, `PATIENCE` if None; 0 to fail at once.

    Examples
    --------
    >>> tries = Tries(patience=0.25)
    >>> tries.again(), tries.again(), tries.again()
    (True, True, False)
    """

    def __init__(self, patience: float | None = None) -> None:
        self._end = time.monotonic() + (PATIENCE if patience is None else patience)
        self._pause = 0.0

    def again(self) -> bool:
        """Wait a little, the first time not at all; whether there was time for it."""
        if time.monotonic() + self._pause >= self._end:
            return False
        time.sleep(self._pause)
        self._pause = min(_MOST, max(_FIRST, 2 * self._pause))
        return True
