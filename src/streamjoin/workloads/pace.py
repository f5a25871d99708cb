"""When the rows of a generated stream are made: at one rate, but for a burst."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.workloads.base import require

MOST_TIMES: Final = 1000


@dataclass(frozen=True)
class Burst:
    """A time in which more rows come.

    Parameters
    ----------
    at_s, lasting_s
        When it begins, in seconds after the first row, and for how long.
    times
        How many times as many rows come; less than 1 for a lull.

    Examples
    --------
    >>> Burst(at_s=30, lasting_s=20, times=0)
    Traceback (most recent call last):
    streamjoin.errors.ConfigError: burst_times: got 0; allowed: more than 0, at most 1000
    """

    at_s: float
    lasting_s: float
    times: float

    def __post_init__(self) -> None:
        require("burst_at", self.at_s, 0 <= self.at_s < np.inf, "0 or more seconds")
        lasts = 0 < self.lasting_s < np.inf
        require("burst_lasting", self.lasting_s, lasts, "more than 0 seconds")
        some = 0 < self.times <= MOST_TIMES
        require("burst_times", self.times, some, f"more than 0, at most {MOST_TIMES}")


@dataclass(frozen=True)
class Pace:
    """Which row is made when: a straight line, with a steeper piece where there is a burst.

    Parameters
    ----------
    rate_per_second
        Rows for each second outside of the burst.
    burst
        When more come; None: never.

    Examples
    --------
    >>> pace = Pace(10.0, Burst(at_s=2.0, lasting_s=1.0, times=4.0))
    >>> pace.made_us(np.array([10, 20, 40, 60, 70])).tolist()
    [1000000.0, 2000000.0, 2500000.0, 3000000.0, 4000000.0]
    >>> [pace.rows(seconds) for seconds in (1.0, 2.5, 4.0)]
    [10, 40, 70]
    """

    rate_per_second: float
    burst: Burst | None = None

    def made_us(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """When rows are made, in microseconds after the first."""
        made: NDArray[np.float64] = rows.astype(np.float64)
        if self.burst is None:
            return made * (1e6 / self.rate_per_second)
        first = self.burst.at_s * self.rate_per_second
        last = first + self.burst.lasting_s * self.rate_per_second * self.burst.times
        within = np.clip(made, first, last) - first
        return (made - within + within / self.burst.times) * (1e6 / self.rate_per_second)

    def rows(self, seconds: float) -> int:
        """How many rows are made within so many seconds."""
        rows = seconds * self.rate_per_second
        if self.burst is not None:
            within = min(max(seconds - self.burst.at_s, 0.0), self.burst.lasting_s)
            rows += within * self.rate_per_second * (self.burst.times - 1)
        return round(rows)

    def after(self, row: int, seconds: float) -> int:
        """The row that is made so many seconds after another one.

        Examples
        --------
        >>> Pace(10.0, Burst(at_s=2.0, lasting_s=1.0, times=4.0)).after(15, 1.0)
        40
        """
        return self.rows(float(self.made_us(np.array([row]))[0]) / 1e6 + seconds)
