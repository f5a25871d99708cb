"""Quality against the possible as a table: what was promised, and where it is kept."""

from typing import Final

from papers.base import AllNumbers, ResultTable
from papers.gedik.optimum import (
    BEST,
    DROP,
    NOT_FLAT,
    PAPERS,
    PROMISED,
    REMEMBERING,
    Quality,
)

OVERHEAD: Final = 0.1
"""What sampling may cost where there is nothing to learn: gamma."""
BETTER: Final = 1.5
"""Results over those of random drop that selection has to bring where the density is not flat."""


def holds(quality: Quality) -> bool:
    """Whether the policies reach what they should.

    The knapsack 90 % and RA+TC+JD, if it remembers samples, 75 % of the informed optimum; both 1.5
    times random drop where the optimum is at least twice it; nowhere worse than random drop by more
    than samples cost.
    """
    shares = all(quality.shares[each].mean >= least for each, least in PROMISED.items())
    gains = [quality.gains[each].mean for each in PROMISED]
    return shares and min(gains) >= (1 - OVERHEAD if quality.flat else BETTER)


def _rows(numbers: AllNumbers) -> list[tuple[str, ...]]:
    found = numbers["optimum"]
    one = [_row("one-way", q, "yes" if holds(q) else "no") for q in found["qualities"]]
    return one + [_row("two-way", quality, "-") for quality in found["two_way"]]


def _row(traffic: str, quality: Quality, reached: str) -> tuple[str, ...]:
    shares = [quality.shares[each] for each in (BEST, REMEMBERING, PAPERS, DROP)]
    gains = [quality.gains[each] for each in (BEST, REMEMBERING, PAPERS)]
    return (
        traffic,
        f"{quality.skew:g}",
        f"{quality.fraction:g}",
        f"{quality.optimum:.2f}",
        *(f"{share.mean:.1%}" for share in shares),
        *(f"{gain.mean:.2f}" for gain in gains),
        reached,
    )


QUALITY: Final = ResultTable(
    title="Quality against the possible",
    note=(
        "Results as a share of the informed optimum's: the best choice, for every arriving tuple, "
        "among parts of basic windows, at the same number of comparisons and with the true match "
        "densities known (by Monte Carlo, right to about 1 %). Fixed r, steady state, windows of "
        "20 s, basic windows of 1 s, overlap of 3 items. RA+TC+JD as in the paper forgets samples "
        "after 5 s; with memory, 0.8 of what was seen before counts on. Reached: knapsack 90 % and "
        "RA+TC+JD with memory 75 % of the optimum, 1.5 times random drop where the optimum is "
        f"{NOT_FLAT:g} times or more (the density is not flat), and elsewhere no less than random "
        "drop by more than samples cost (10 %); all that where traffic is one-way. In two-way "
        "traffic both windows have a productive part, and to prefer one of them (JD) is wrong: "
        "there the knapsack is better."
    ),
    columns=(
        "traffic",
        "kappa",
        "r",
        "optimum / random drop",
        "knapsack",
        "RA+TC+JD, memory",
        "RA+TC+JD",
        "random drop",
        "knapsack / random drop",
        "RA+TC+JD, memory / random drop",
        "RA+TC+JD / random drop",
        "reached",
    ),
    rows=_rows,
)
