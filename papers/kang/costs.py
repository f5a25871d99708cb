"""Figures 2 to 6: what the joins cost, by the model, in counted accesses and in seconds."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from papers.base import Context, Numbers
from papers.kang.cost_model import (
    PAPER,
    crossover_exact,
    crossover_ratio,
    hhj,
    hnj,
    nested_one_way,
    nested_one_way_lazy,
    nhj,
    nnj,
    thrashing_rate,
)
from papers.kang.operator import (
    CAPACITY,
    FULL,
    ONE_WAY,
    RATE_A,
    WINDOW,
    counted_cost,
    crossing,
    model_cost,
    run_join,
    timed,
)
from papers.kang.workload import Streams
from papers.measurement import Measurement
from papers.operators.moving_window import Invalidation, cost

POINTS_2: Final = (10, 60, 70, 100, 120, 160)
POINTS_3: Final = (140, 150)
BUCKETS: Final = (5, 10, 15, 20, 30, 40, 50)
HOWS: Final[tuple[Invalidation, ...]] = ("active", "lazy")
LAZY: Final = ((10, 10), (10, 100), (10, 160), (10, 5))
SCALED_KEYS: Final = 384
"""To our C_h/C_n, about 50 on a machine of 2025, about what 10 keys are to the authors' 1.3."""
SCALED: Final = (100, 20)
"""Rate of A and window of the runs with so many keys: enough tuples that their accesses count."""


def figure_2(context: Context) -> Numbers:
    """Costs of the four full joins with 10 keys (KAN-C1)."""
    return _full_joins(context, 10, POINTS_2, 160)


def figure_3(context: Context) -> Numbers:
    """The same with 20 keys (KAN-C2)."""
    return _full_joins(context, 20, POINTS_3, 200)


def symmetry(context: Context) -> Numbers:
    """Mirrored streams, and which lines cross where (KAN-C4)."""
    a, b = RATE_A, np.arange(10.0, 201.0)
    rest = WINDOW, WINDOW, 10, 10, PAPER
    mirrored = (
        hhj(a, b, *rest) - hhj(b, a, *rest),
        hnj(a, b, *rest) - nhj(b, a, *rest),
        nhj(a, b, *rest) - hnj(b, a, *rest),
        nnj(a, b, *rest) - nnj(b, a, *rest),
    )
    pairs = (("HHJ", "HNJ"), ("NHJ", "NNJ"), ("HJ", "NLJ"), ("HHJ", "NNJ"))
    traces = Streams((RATE_A, 50), (10, 10), 80, context.seeds[0]).traces()
    here = run_join("HNJ", traces, (10, 10), (60, 80))
    there = run_join("NHJ", traces[::-1], (10, 10), (60, 80))
    return {
        "mirror_difference": max(float(np.max(np.abs(difference))) for difference in mirrored),
        "crossings": {f"{one} and {two}": _model_crossing(one, two, 10) for one, two in pairs},
        "accesses": here.accesses,
        "mirrored_accesses": there.accesses[::-1],
    }


def figure_4(context: Context) -> Numbers:
    """One-way joins: model, counted accesses and our seconds (KAN-C5)."""
    rates = _rates(context, 150)
    seconds = _seconds(context, ONE_WAY, rates)
    return {
        **_counted(context, ONE_WAY, rates, 10),
        **_scaled(context, ONE_WAY),
        "seconds": seconds,
        "seconds_crossover": crossing(rates, seconds["HJ"], seconds["NLJ"]),
        "crossover": _model_crossing("HJ", "NLJ", 10),
        "at_110": float(model_cost("HJ", 110, 10)),
        "at_120": float(model_cost("HJ", 120, 10)),
        "full_load": thrashing_rate(lambda b: model_cost("HJ", b, 10), CAPACITY, 10, 300),
    }


def figure_5(context: Context) -> Numbers:
    """Crossover ratio against the number of buckets, by Eq. 7 and counted (KAN-C7)."""
    counted = []
    for keys in BUCKETS:
        context.progress(f"{keys} buckets")
        exact = float(crossover_exact(RATE_A, WINDOW, keys, PAPER))
        near = [0.8 * exact, 1.2 * exact]
        found = [_counted_once(context, ONE_WAY, near, keys, seed) for seed in context.seeds]
        counted.append(Measurement.of([crossing(near, c["HJ"], c["NLJ"]) / RATE_A for c in found]))
    return {
        "buckets": BUCKETS,
        "model": [float(crossover_ratio(keys, PAPER)) for keys in BUCKETS],
        "measured": counted,
    }


def figure_6(context: Context) -> Numbers:
    """The four full joins: counted accesses and our seconds (KAN-C9)."""
    rates = _rates(context, 160)
    return {
        **_counted(context, FULL, rates, 10),
        **_scaled(context, FULL),
        "seconds": _seconds(context, FULL, rates),
    }


def lazy(context: Context) -> Numbers:
    """Lazy against active invalidation of a list (KAN-C22)."""
    rows = []
    for rate_a, rate_b in LAZY:
        traces = Streams((rate_a, rate_b), (10, 10), 130, context.seeds[0]).traces()
        runs = {how: run_join("NLJ", traces, (10, 10), (70, 130), invalidation=how) for how in HOWS}
        rows.append(
            {
                "rates": (rate_a, rate_b),
                "active": float(nested_one_way(rate_a, rate_b, WINDOW, PAPER)),
                "lazy": float(nested_one_way_lazy(rate_a, rate_b, WINDOW, PAPER)),
                "counted": {how: cost(run, PAPER) / 60 for how, run in runs.items()},
                "held": {how: run.peak[1] for how, run in runs.items()},
            }
        )
    return {"rows": rows}


def _full_joins(
    context: Context, keys: int, points: Sequence[float], highest: float
) -> dict[str, object]:
    counted = _counted(context, FULL, _rates(context, highest), keys)
    return {
        **counted,
        "points": {p: tuple(float(model_cost(join, p, keys)) for join in FULL) for p in points},
        "crossover": float(crossover_exact(RATE_A, WINDOW, keys, PAPER)),
    }


def _counted(
    context: Context, joins: Sequence[str], rates: Sequence[float], keys: int
) -> dict[str, object]:
    """Model and counted costs of joins over rates of B, and where the first two joins cross."""
    found = [_counted_once(context, joins, rates, keys, seed) for seed in context.seeds]
    measured = {
        join: [Measurement.of([c[join][i] for c in found]) for i in range(len(rates))]
        for join in joins
    }
    model = {join: [float(model_cost(join, rate, keys)) for rate in rates] for join in joins}
    crossings = [crossing(rates, c[joins[0]], c[joins[1]]) for c in found]
    return {
        "rates": rates,
        "model": model,
        "measured": measured,
        "worst_error": max(
            abs(m.mean / expected - 1)
            for join in joins
            for m, expected in zip(measured[join], model[join], strict=True)
        ),
        "counted_crossover": Measurement.of(crossings),
    }


def _counted_once(
    context: Context, joins: Sequence[str], rates: Sequence[float], keys: int, seed: int
) -> dict[str, list[float]]:
    context.progress(f"counting accesses, seed {seed}")
    seconds = 20 if context.quick else 60
    return {join: [counted_cost(join, b, keys, seed, seconds) for b in rates] for join in joins}


def _seconds(
    context: Context, joins: Sequence[str], rates: Sequence[float]
) -> dict[str, list[float]]:
    context.progress("measuring seconds")
    turns = 3 if context.quick else 9
    return {
        join: [timed(join, (RATE_A, rate), WINDOW, 10, turns) for rate in rates] for join in joins
    }


def _scaled(context: Context, joins: Sequence[str]) -> dict[str, object]:
    """CPU seconds with as many keys as make the paper's crossover ours, by the ratio of rates."""
    ratios = [1, 2, 3, 6, 10, 16] if context.quick else [1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 16]
    context.progress(f"measuring seconds, {SCALED_KEYS} keys")
    rate, window = SCALED
    turns = 3 if context.quick else 7
    seconds = {
        join: [timed(join, (rate, rate * r), window, SCALED_KEYS, turns) for r in ratios]
        for join in joins
    }
    return {
        "scaled_ratios": ratios,
        "scaled_seconds": seconds,
        "scaled_crossover": crossing(ratios, seconds[joins[0]], seconds[joins[1]]),
    }


def _rates(context: Context, highest: float) -> list[float]:
    every = 30 if context.quick else 10
    return [float(rate) for rate in range(10, int(highest) + 1, every)]


def _model_crossing(one: str, two: str, keys: int) -> float:
    """The rate of B at which two costs are equal."""
    return thrashing_rate(
        lambda b: model_cost(one, b, keys) - model_cost(two, b, keys), 0.0, 20, 300
    )
