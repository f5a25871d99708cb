"""Time as the streams tell it: a budget is one of their time, not of the clock's."""

from dataclasses import dataclass
from typing import Final

from streamjoin._typing import Times
from streamjoin.core.statistics import WEIGHT

MOST_PACES: Final = 4.0
"""A batch counts for at most so many times the stream time of those before, unless its rows span
more: a gap, or a row whose time is far ahead, must not pay for a flood."""


@dataclass
class StreamClock:
    """How far event time has come.

    Parameters
    ----------
    clock, pace
        Event time that has been reached, and seconds of it that a batch brings, as an average that
        forgets.

    Examples
    --------
    >>> clock = StreamClock()
    >>> [clock.elapsed(t, span=1.0, slack_us=0) for t in (1_000_000, 3_000_000, 3_000_000)]
    [1.0, 2.0, 0.0]
    """

    clock: int | None = None
    pace: float = 0.0

    def elapsed(self, newest: int | None, span: float, slack_us: int) -> float:
        """Seconds of event time since the batch before.

        Parameters
        ----------
        newest
            Time that the batch has reached.
        span
            Seconds that most of its rows span; all that counts if it is the first.
        slack_us
            How far behind rows may be.
        """
        if newest is None:
            return 0.0
        if self.clock is None:
            self.clock, self.pace = newest, span
            return span
        ahead, most = (newest - self.clock) / 1e6, max(span, MOST_PACES * self.pace)
        if ahead < -slack_us / 1e6 - most:
            self.clock = newest  # a batch before had a time that was far ahead
            return self.pace
        self.clock = max(self.clock, newest)
        if ahead <= 0:
            return 0.0
        seconds = min(ahead, most) if most else ahead
        self.pace += WEIGHT * (seconds - self.pace)
        return seconds


def span_seconds(times: Times) -> float:
    """Seconds that most rows of a batch span: a few times that are far off do not count."""
    if not len(times):
        return 0.0
    quarter = len(times) // 4
    middle, whole = times[-1 - quarter] - times[quarter], times[-1] - times[0]
    return int(min(2 * middle, whole)) / 1e6
