"""When it is not the join that costs: which part of the rows is let in before they are packed.

Where reading, packing and shuffling rows takes longer than the streams' own time, no choice of
comparisons helps. Then the fraction of the rows that is let in follows the rule of the paper's rate
adaptation (GED-A5): it falls with the ratio of the time there is to the time it took, and grows
slowly while there is enough.
"""

from dataclasses import dataclass, field
from typing import Final

from streamjoin.planning.selective import rate_adapt
from streamjoin.planning.split import Demand, Limits, Pair, plan

PATIENCE: Final = 3
"""Batches in a row that must be too slow before rows are turned away: the first ones load code."""
ENOUGH: Final = 0.9
"""Part of the streams' time that all but the comparisons may take."""
LEAST: Final = 0.01


@dataclass
class Gate:
    """What map tasks let in, decided for later batches; part of the directory.

    Parameters
    ----------
    share
        Part of all rows that is let in.
    shares
        That of the left and of the right stream: the best split gives both the same rate.
    behind
        Batches in a row that were too slow.

    Examples
    --------
    >>> gate = Gate()
    >>> for _ in range(3):
    ...     gate.see(seconds=1.0, took=1.8, demand=Demand((300.0, 100.0), (10.0, 10.0)))
    >>> gate.share, [round(share, 3) for share in gate.shares]
    (0.5, [0.333, 1.0])
    """

    share: float = 1.0
    shares: list[float] = field(default_factory=lambda: [1.0, 1.0])
    behind: int = 0

    def see(self, seconds: float, took: float, demand: Demand) -> None:
        """Learn from a batch.

        Parameters
        ----------
        seconds
            Time of the streams that it covers.
        took
            Seconds from its first row to its last result, without the time for comparisons.
        demand
            What the streams bring, with what is turned away.
        """
        if seconds <= 0:
            return
        beta = ENOUGH * seconds / max(took, 1e-9)
        self.behind = self.behind + 1 if beta < 1 else 0
        if self.share < 1 or self.behind >= PATIENCE:
            self.share = max(LEAST, rate_adapt(self.share, beta))
        self.shares = _split(self.share, demand)


def _split(share: float, demand: Demand) -> list[float]:
    if share >= 1:
        return [1.0, 1.0]
    rates: Pair = plan("best", demand, Limits(share * sum(demand.rates), None)).rates
    return [min(1.0, let_in / came) for let_in, came in zip(rates, demand.rates, strict=True)]
