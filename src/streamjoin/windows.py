"""How much of a stream a join remembers, where that is not said as a length of time."""

from dataclasses import dataclass
from numbers import Integral
from typing import Final

from streamjoin.errors import ConfigError

_MOST: Final = 2**62  # ranks of rows are 64-bit numbers


@dataclass(frozen=True)
class Rows:
    """The last `n` tuples of a stream, counted over the whole stream and not per key.

    Examples
    --------
    >>> Rows(5000)
    Rows(n=5000)
    >>> Rows(0)
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: window: got rows(0); allowed: rows(n), n a whole number from 1 on
    """

    n: int

    def __post_init__(self) -> None:
        whole = isinstance(self.n, Integral) and not isinstance(self.n, bool)
        if not whole or self.n < 1:
            raise ConfigError.at(
                "window", f"rows({self.n!r})", "rows(n), n a whole number from 1 on"
            )
        if self.n > _MOST:
            raise ConfigError.at("window", f"rows({self.n})", f"rows(n), n at most {_MOST}")
        object.__setattr__(self, "n", int(self.n))  # a NumPy integer becomes a plain one


def rows(n: int) -> Rows:
    """Window of the last `n` tuples of a stream.

    Examples
    --------
    >>> window = ("10 seconds", rows(5000))  # left by time, right by count
    >>> window[1].n
    5000
    """
    return Rows(n)
