"""When tuples of a stream of varying rate arrive: steps, waves and bursts (VAL-D4, VAL-D5).

A stream is told by the *course* of its volume: what share of all its tuples has come by what share
of the time. Tuple i of n arrives when the course reaches (i + u) / n, u uniform in 0..1: the course
is kept, and what lies between two neighbours is random.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Times
from streamjoin.errors import ConfigError

FloatArray = NDArray[np.float64]

LEVELS: Final = 10
"""How often the b-model halves the time."""


@dataclass(frozen=True, eq=False)
class Course:
    """Shares of the volume that have come by shares of the time; straight lines between.

    Examples
    --------
    >>> Course.steady().arrivals(np.random.default_rng(1), 4, 100).tolist()
    [12, 48, 53, 98]
    """

    time: FloatArray
    volume: FloatArray

    @classmethod
    def steady(cls) -> "Course":
        """One rate."""
        return cls(np.array([0.0, 1.0]), np.array([0.0, 1.0]))

    @classmethod
    def alternating(cls, gaps: Sequence[float]) -> "Course":
        """Equal parts of the tuples with their gaps; the gaps' mean decides how long all takes.

        Examples
        --------
        >>> Course.alternating((5, 15, 5, 15)).time.tolist()
        [0.0, 0.125, 0.5, 0.625, 1.0]
        """
        passed = np.cumsum([0.0, *gaps])
        return cls(passed / passed[-1], np.linspace(0, 1, len(gaps) + 1))

    @classmethod
    def wave(cls, swing: float, periods: int) -> "Course":
        """A rate of 1 + swing * sin about its mean."""
        time = np.linspace(0, 1, 1000 * periods + 1)
        turn = 2 * np.pi * periods
        return cls(time, time + swing * (1 - np.cos(turn * time)) / turn)

    @classmethod
    def bursts(cls, volumes: FloatArray) -> "Course":
        """Volumes of intervals of one length, as of `b_model`."""
        time = np.linspace(0, 1, len(volumes) + 1)
        return cls(time, np.concatenate([[0.0], np.cumsum(volumes) / np.sum(volumes)]))

    def arrivals(self, rng: np.random.Generator, n: int, duration: int) -> Times:
        """Times of n tuples within 0..duration, in order."""
        shares = (np.arange(n) + rng.random(n)) / max(n, 1)
        at = np.interp(shares, self.volume, self.time) * duration
        times: Times = np.minimum(at.astype(np.int64), duration - 1)
        return times


def b_model(
    rng: np.random.Generator, share: float, *, first: bool, levels: int = LEVELS
) -> FloatArray:
    """Volumes of 2**levels intervals: of each two halves one has `share`, the other the rest.

    Which half has it is a coin's toss, but for the first split (VAL-D5): the first half has it, or
    not. So a share of 0.8 sends 80 % of the tuples in half of the time, of these 80 % in a quarter,
    and so on.

    Parameters
    ----------
    rng
        Tosses the coins.
    share
        Of the fuller half, from 0.5 (even) to below 1.
    first
        Whether the first half of all is the fuller one.
    levels
        How often the time is halved.

    Examples
    --------
    >>> b_model(np.random.default_rng(1), 0.8, first=False, levels=2).round(2).tolist()
    [0.04, 0.16, 0.64, 0.16]
    """
    if not 0.5 <= share < 1:
        raise ConfigError(f"share: got {share}; allowed: from 0.5 to below 1")
    if not 0 <= levels <= 20:
        raise ConfigError(f"levels: got {levels}; allowed: 0 to 20")
    volumes = np.ones(1)
    for level in range(levels):
        left = rng.random(len(volumes)) < 0.5
        if level == 0:
            left[:] = first
        shares = np.where(left, share, 1 - share)
        volumes = np.stack([volumes * shares, volumes * (1 - shares)], axis=1).ravel()
    return volumes
