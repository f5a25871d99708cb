"""When it is not the join that costs: which part of the rows is let in before they are packed.

Where reading, packing and shuffling rows takes longer than the streams' own time, no choice of
comparisons helps: each batch takes longer and so the next one has more rows. Then the fraction of
the rows that is let in follows the rule of the paper's rate adaptation (GED-A5): it falls with the
ratio of the time there is to the time it took, and grows slowly while batches do not.

That a batch takes as long as the time it covers is not enough to tell: without a trigger every one
does, and what a batch costs whatever its size does not shrink with its rows.
"""

from dataclasses import dataclass, field
from typing import Final

from streamjoin.planning.two.split import Demand, Limits, Pair, plan
from streamjoin.shedding.fractions import rate_adapt

PATIENCE: Final = 3
"""Batches in a row that must be too long before rows are turned away: the first ones load code. And
that must not be before more rows are let in again."""
TOO_LONG: Final = 3.0
"""A batch is too long if it covers so much more time than usual."""
MAX_TIME_SHARE: Final = 0.9
"""Part of the streams' time that all but the comparisons may take."""
MIN_SHARE: Final = 0.01


@dataclass
class Gate:
    """What map tasks let in, decided for later batches; part of the directory.

    Examples
    --------
    >>> gate = Gate()
    >>> for seconds in (1.0, 2.0, 4.0, 8.0, 16.0):
    ...     demand = Demand((300.0, 100.0), (10.0, 10.0))
    ...     gate.see(seconds, took=1.8 * seconds, demand=demand)
    >>> gate.share, [round(share, 3) for share in gate.shares]
    (0.5, [0.333, 1.0])
    """

    share: float = 1.0  # part of all rows that is let in
    shares: list[float] = field(default_factory=lambda: [1.0, 1.0])
    """Those of the left and of the right stream: the best split gives both the same rate."""
    slow: int = 0  # batches in a row that were too long
    calm: int = 0  # and that were not
    usual: float | None = None  # what a batch usually covers, in seconds of the streams

    @property
    def is_behind(self) -> bool:
        """Whether the batches take too long, or would if all rows were let in."""
        return self.share < 1 or self.slow > 0

    def see(self, seconds: float, took: float, demand: Demand) -> None:
        """Learn from a batch that covers some seconds of the streams.

        It took some seconds from its first row to its last result, without the time for
        comparisons; `demand` is what the streams bring, with what is turned away.
        """
        if seconds <= 0:
            return
        beta = MAX_TIME_SHARE * seconds / max(took, 1e-9)
        is_slow = self._is_long(seconds) and beta < 1
        self.slow, self.calm = (self.slow + 1, 0) if is_slow else (0, self.calm + 1)
        if is_slow and (self.slow >= PATIENCE or self.share < 1):
            self.share = max(MIN_SHARE, rate_adapt(self.share, beta))
        elif self.calm >= PATIENCE:
            self.share = rate_adapt(self.share, beta=1.0)
        self.shares = _split(self.share, demand)

    def _is_long(self, seconds: float) -> bool:
        """Whether a batch is longer than usual; what is usual rises slowly, and falls at once."""
        if self.usual is None or seconds < self.usual:
            self.usual = seconds
        is_long = seconds > TOO_LONG * self.usual
        if self.share >= 1 and not is_long:
            self.usual += 0.1 * (seconds - self.usual)
        return is_long


def _split(share: float, demand: Demand) -> list[float]:
    if share >= 1:
        return [1.0, 1.0]
    rates: Pair = plan("best", demand, Limits(share * sum(demand.rates), None)).rates
    return [min(1.0, let_in / rate) for let_in, rate in zip(rates, demand.rates, strict=True)]
