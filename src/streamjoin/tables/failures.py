"""How tables fail: for how long it is tried again, and what is said of a duplicate key."""

import time
from collections.abc import Mapping
from typing import Any, Final

from streamjoin.errors import DataError

PATIENCE: Final = 5.0
"""Seconds after which nothing is tried again."""
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0


class Tries:
    """Time that is left for new tries, from now on: `patience` seconds, 0 to fail at once.

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
        self._pause = min(_LONGEST_PAUSE, max(_FIRST_PAUSE, 2 * self._pause))
        return True


def duplicate_key(table: str, key: Mapping[str, Any]) -> DataError:
    """The error for a key that is in a table twice, against what was promised."""
    said = ", ".join(f"{name}={value!r}" for name, value in key.items())
    return DataError(
        f"key: the table {table} has more than one row with {said}; "
        "allowed: one row for each key, or unique=False"
    )
