"""Timing, straight lines through timings, and where two curves cross."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic, thread_time
from typing import Final

import numpy as np
from numpy.typing import NDArray

_LONG: Final = 0.001  # seconds, from which on a work is not repeated at once


@dataclass(frozen=True)
class Fit:
    """How well predicted times agree with measured ones.

    `r_squared` is the share of the variance that is explained (of times, or of their logarithms if
    they differ by orders of magnitude), `worst` the largest relative error.
    """

    r_squared: float
    worst: float
    settings: int

    @classmethod
    def of(
        cls, predicted: Sequence[float], measured: Sequence[float], *, logs: bool = False
    ) -> "Fit":
        """Compare.

        Examples
        --------
        >>> Fit.of([1.0, 2.0, 3.0], [1.0, 2.0, 4.0])
        Fit(r_squared=0.7857142857142857, worst=0.25, settings=3)
        """
        wanted, found = np.array(measured), np.array(predicted)
        worst = float(np.max(np.abs(found / wanted - 1)))
        if logs:
            wanted, found = np.log(wanted), np.log(found)
        spread = float(np.sum((wanted - wanted.mean()) ** 2))
        missed = float(np.sum((wanted - found) ** 2))
        return cls(1 - missed / spread, worst, len(wanted))


def best_time(work: Callable[[], object], repeats: int) -> float:
    """Processor seconds of the quickest of some runs, after one to warm up.

    Time in which other programs have the processor does not count.
    """
    work()
    best = math.inf
    for _ in range(repeats):
        start = thread_time()
        work()
        best = min(best, thread_time() - start)
    return best


def best_times(works: Sequence[Callable[[], object]], seconds: float) -> list[float]:
    """As `best_time`, for many works in turn, so that a busy moment does not spoil all runs of one.

    Each work runs at least four times, and all of them for about so many seconds by the clock.
    """
    best = [math.inf] * len(works)
    end, rounds = monotonic() + seconds, 0
    while rounds < 2 or monotonic() < end:
        for n, work in enumerate(works):
            best[n] = min(best[n], best_time(work, 1 if best[n] > _LONG else 4))
        rounds += 1
    return best


def fit_costs(
    counts: Sequence[Sequence[float]], seconds: Sequence[float], known: Sequence[float] = (0.0,)
) -> NDArray[np.float64]:
    """Cost of each kind of operation: least squares of relative errors, no cost below zero.

    `known` is the part of each time that is already explained.

    Examples
    --------
    >>> fit_costs([[1, 0], [2, 1], [1, 3]], [5.0, 12.0, 11.0]).round(6).tolist()
    [5.0, 2.0]
    >>> fit_costs([[1, 0], [1, 1]], [5.0, 4.0]).tolist()[1]
    0.0
    """
    table, times = np.array(counts, np.float64), np.array(seconds)
    scaled, wanted = table / times[:, None], 1 - np.array(known) / times
    costs = np.zeros(table.shape[1])
    kept = np.arange(table.shape[1])
    while len(kept):
        found = np.linalg.lstsq(scaled[:, kept], wanted, rcond=None)[0]
        if np.all(found >= 0):
            costs[kept] = found
            break
        kept = np.delete(kept, int(np.argmin(found * scaled[:, kept].mean(axis=0))))
    return costs


def crossing(at: Sequence[float], first: Sequence[float], second: Sequence[float]) -> float | None:
    """Where two curves cross, between two points by their logarithms; None if they do not.

    Against noise, gaps are averaged with their neighbours, and of several crossings the middle one
    counts.

    Examples
    --------
    >>> round(crossing([1, 2, 4, 8], [1, 2, 4, 8], [3, 3, 3, 3]), 2)
    3.0
    >>> crossing([1, 2], [1, 1], [2, 2]) is None
    True
    """
    gap = np.log(np.array(first, np.float64) / np.array(second, np.float64))
    gap[1:-1] = (gap[:-2] + gap[1:-1] + gap[2:]) / 3
    found = []
    for i in range(len(gap) - 1):
        if gap[i] * gap[i + 1] <= 0 and gap[i] != gap[i + 1]:
            share = gap[i] / (gap[i] - gap[i + 1])
            found.append(float(at[i] * (at[i + 1] / at[i]) ** share))
    return found[len(found) // 2] if found else None
