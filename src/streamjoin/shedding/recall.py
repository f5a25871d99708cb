"""How many pairs were missed, and how sure that is.

Each tuple that takes part was chosen with a known probability, its *share*: of arrivals that were
let in, of rows of a window that were kept as a sample. A pair that is seen therefore stands for
``1 / (share_left * share_right)`` pairs (the Horvitz-Thompson estimator), so what was missed can be
added up while joining, whatever the keys' skew and the correlation in time.

Pairs that share a tuple are not independent. To see how far the estimate may be off, tuples are
put into random groups: had other tuples been chosen, the sum would vary as its parts vary from
group to group. That is done for each side; the chance of a pair alone, apart from that of its rows,
would count in both, and is taken off once.

Where a batch lets in a fixed number of rows, that a group has many of them is no reason for the sum
to vary: another had fewer. There it is compared with what as many rows have on average.
"""

from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import SIDES, Side

N_GROUPS: Final = 32

Shares = float | NDArray[np.float64]
"""One share for all rows, or one for each."""


def _zeros() -> list[list[float]]:
    return [[0.0] * N_GROUPS, [0.0] * N_GROUPS]


@dataclass
class RecallEstimate:
    """Sums over all batches of one shard.

    Examples
    --------
    >>> import numpy as np
    >>> estimate, some = RecallEstimate(), (np.array([0, 1]), np.array([0, 1]))
    >>> estimate.add(some, (0.5, 0.5), found=True)  # of 8 pairs, 2 were found
    >>> estimate.missed
    6.0
    """

    missed: float = 0.0  # estimated pairs that were not found
    spread: list[list[float]] = field(default_factory=_zeros)
    """Of each side and random group: the weight of its pairs, as far as chance decided on them."""
    twice: float = 0.0  # variance of single pairs, which both sides hold
    rows: list[list[float]] = field(default_factory=_zeros)
    """Of each side and random group: the rows that stand for all of a batch, of which as many as
    had to be were chosen; weighed in the same way."""

    def choose(self, side: Side, groups: NDArray[np.int64], share: float) -> None:
        """Take in the groups of the rows that are a share of a batch, of a fixed number."""
        n = np.bincount(groups, minlength=N_GROUPS) * ((1.0 - share) ** 0.5 / share)
        self.rows[side] = (np.asarray(self.rows[side]) + n).tolist()

    def add(
        self,
        groups: tuple[NDArray[np.int64], NDArray[np.int64]],
        shares: tuple[Shares, Shares],
        *,
        found: bool,
    ) -> None:
        """Count pairs by the groups of their two rows; `found` if they came out."""
        n = len(groups[0])
        weights = np.full(n, 1.0) / (shares[0] * shares[1])
        self.missed += float(weights.sum()) - (n if found else 0)
        chances = [1.0 - np.minimum(share, 1.0) for share in shares]
        for side in SIDES:
            sums = np.bincount(groups[side], weights * np.sqrt(chances[side]), N_GROUPS)
            self.spread[side] = (np.asarray(self.spread[side]) + sums).tolist()
        self.twice += float((weights**2 * chances[0] * chances[1]).sum())

    @property
    def variance(self) -> float:
        """Estimated variance of `missed`.

        Two less than the degrees of freedom: so few groups follow Student's distribution, whose
        intervals are wider, and 95 of 100 are to hold the truth.
        """
        sums, rows = np.asarray(self.spread), np.asarray(self.rows)
        number = rows.sum(axis=1, keepdims=True)
        sums = sums - rows * (sums.sum(axis=1, keepdims=True) / np.where(number > 0, number, 1.0))
        deviations = sums - sums.mean(axis=1, keepdims=True)
        both = float((deviations**2).sum()) * N_GROUPS / (N_GROUPS - 1)
        return max(both - self.twice, self.twice) * (N_GROUPS - 1) / (N_GROUPS - 3)
