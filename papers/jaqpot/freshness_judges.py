"""Verdicts on sensor readings, staleness and covers (Figures 8 and 9), and the conclusions."""

from itertools import pairwise
from typing import Any, Final

import numpy as np

from papers.base import AllNumbers, Judge, Judged, Numbers
from papers.jaqpot.run_judges import leader
from papers.jaqpot.sensor_runs import LIMITS
from papers.jaqpot.staleness_runs import UNCOVERED
from papers.jaqpot.workload import FRESHNESS, HEURISTICS, NAMES
from papers.measurement import Measurement

Shares = dict[str, list[Measurement]]
"""By planner: the stale share at each freshness."""
_NO_MODEL: Final = "- (how many temperatures are equal is not modelled)"
_FEW: Final = 0.001
"""A stale share that is too small to have a trend."""


def _source(found: Numbers) -> str:
    if found["recorded"]:
        return "Recorded readings (Intel Berkeley lab), a day each."
    return "Made-up readings, as there are no recorded ones here."


def _sensors(
    numbers: AllNumbers, mu: float, bounds: tuple[float, float], stated: set[str]
) -> Judged:
    found = numbers["figure 8"]["mu"][mu]
    ratio = found["ratio"]
    first_two = set(found["leaders"][:2])
    holds = bounds[0] <= ratio.mean <= bounds[1] and ratio.low > 1 and first_two == stated
    rates = ", ".join(f"{NAMES[p]} {found['rates'][p].mean:.3g}" for p in found["leaders"])
    return Judged(
        holds,
        model=_NO_MODEL,
        measured=(
            f"{ratio} times the best heuristic of each day, up to a minute at most "
            f"{found['most']:.1f} times the best on average"
        ),
        why=(
            f"Results/s: JAQPOT {found['rates']['jaqpot'].mean:.3g}, {rates}. Of JAQPOT's "
            f"{found['stale']['jaqpot'].mean:.1%} are stale, when no cover exists. "
            + _source(numbers["figure 8"])
        ),
    )


def _figure_8a(numbers: AllNumbers) -> Judged:
    return _sensors(numbers, 300.0, (2, 4), {"equal-hj", "global-hjpr"})


def _figure_8b(numbers: AllNumbers) -> Judged:
    return _sensors(numbers, 600.0, (1.75, 3.5), {"global-hjpr", "s-best-hjp"})


def _figure_8c(numbers: AllNumbers) -> Judged:
    return _sensors(numbers, 900.0, (2.4, 4.8), {"global-hjpr", "s-best-hjp"})


def _scaling(numbers: AllNumbers) -> Judged:
    found = numbers["figure 8"]["mu"]
    rates = [found[mu]["rates"]["jaqpot"].mean for mu in LIMITS]
    first, second = (b / a for a, b in pairwise(rates))
    return Judged(
        1.5 <= first <= 2.5 and 2.5 <= second <= 3.5,
        model="at most 2 and 1.5 times, if nothing goes to a cover",
        measured=f"{first:.2f} times from 300 to 600, {second:.2f} times from 600 to 900",
        why=f"{', '.join(f'{rate:.4g}' for rate in rates)} results/s. "
        + _source(numbers["figure 8"]),
    )


def _linear_stale(numbers: AllNumbers) -> Judged:
    found: Shares = numbers["figure 9"]["table 3"]["linear"]
    stale = {p: [m.mean for m in each] for p, each in found.items()}
    falls = all(each[-1] <= each[0] / 2 for each in stale.values() if each[0] >= _FEW)
    worst = set(sorted(HEURISTICS, key=lambda p: -stale[p][0])[:2])
    clear = min(stale[p][0] for p in ("e-best-hjp", "s-best-hjp")) > 1.2 * max(
        stale[p][0] for p in ("equal-hj", "global-hjpr")
    )
    holds = falls and worst == {"e-best-hjp", "s-best-hjp"} and clear and stale["grepp"][0] >= 0.2
    return Judged(holds, model=_LEMMA, measured=_list(found), why=_small(numbers, "linear"))


_LEMMA: Final = "a state that no path refreshes is stale after its freshness (Lemma 1)"


def _bushy_stale(numbers: AllNumbers) -> Judged:
    both = numbers["figure 9"]["table 3"]
    more = all(b > a for a, b in zip(_means(both["linear"]), _means(both["bushy"]), strict=True))
    share = both["bushy"]["s-best-hjp"][0].mean
    return Judged(
        more and 0.5 <= share <= 0.9,
        model=_LEMMA,
        measured=_list(both["bushy"]),
        why=(
            f"Means over planners: linear {_percents(_means(both['linear']))}; bushy "
            f"{_percents(_means(both['bushy']))}. {_small(numbers, 'bushy')}"
        ),
    )


def _small(numbers: AllNumbers, shape: str) -> str:
    return f"Plans from the small end of Table 3: {_list(numbers['figure 9']['small'][shape])}."


def _list(shares: Shares) -> str:
    return "; ".join(
        f"{NAMES[p]} {_percents([m.mean for m in each])}" for p, each in shares.items()
    )


def _percents(values: list[float]) -> str:
    return ", ".join(f"{value:.1%}" for value in values)


def _means(shares: Shares) -> list[float]:
    return [float(np.mean([shares[p][i].mean for p in UNCOVERED])) for i in range(len(FRESHNESS))]


def _sensors_stale(numbers: AllNumbers) -> Judged:
    shares: Shares = numbers["figure 9.c"]["stale"]
    means = _means(shares)
    others = [_means(each)[0] for each in numbers["figure 9"]["table 3"].values()]
    return Judged(
        all(a >= b for a, b in pairwise(means)) and means[-1] < means[0] < min(others),
        model=_LEMMA,
        measured=_list(shares),
        why=(
            f"Means over planners {_percents(means)}; at 1.5 of linear and bushy plans "
            f"{_percents(others)}. " + _source(numbers["figure 9.c"])
        ),
    )


def _cover_costs(numbers: AllNumbers) -> Judged:
    found = numbers["covers"]["table 3"]
    used = found["equal"]["used"]
    sensors = [each["used"] for each in numbers["figure 9.c"]["covers"].values()]
    every = [*used.values(), sensors]
    holds = (
        all(each[-1] <= each[0] / 2 for each in every)
        and 0.01 <= used["linear"][-1] <= 0.06
        and 0.02 <= sensors[-1] <= 0.1
        and all(b > a for a, b in zip(used["linear"], used["bushy"], strict=True))
        and 0.2 <= used["bushy"][0] <= 0.5
        and np.mean([*used["linear"], *used["bushy"]]) <= 0.1
    )
    best = found["best"]["used"]
    return Judged(
        bool(holds),
        model=f"linear {_percents(used['linear'])}; bushy {_percents(used['bushy'])}",
        measured=f"sensors {_percents(sensors)}",
        why=(
            f"At 1.5, 3 and 5 windows. If the slack is shared best: linear "
            f"{_percents(best['linear'])}; bushy {_percents(best['bushy'])}."
        ),
    )


def _infeasible(numbers: AllNumbers) -> Judged:
    found = numbers["covers"]["table 3"]["equal"]
    small = numbers["covers"]["small"]["equal"]
    sensors = [each["infeasible"] for each in numbers["figure 9.c"]["covers"].values()]
    holds = (
        0.04 <= found["infeasible"] <= 0.16
        and found["at 1.5"] > 0.5
        and found["bushy"] > 0.5
        and not any(sensors)
    )
    return Judged(
        holds,
        model=_missing(found),
        measured=f"analyses of the sensor query without a cover: {_percents(sensors)}",
        why=f"Plans from the small end of Table 3: {_missing(small)}. "
        + _source(numbers["figure 9.c"]),
    )


def _missing(found: dict[str, Any]) -> str:
    return (
        f"{found['infeasible']:.1%} infeasible, {found['at 1.5']:.0%} of these at 1.5 windows, "
        f"{found['bushy']:.0%} bushy"
    )


def _guarantee(numbers: AllNumbers) -> Judged:
    found = numbers["guarantee"]
    shares, without = found["shares"]["jaqpot"], found["shares"]["grepp"]
    some = sum(share > 0 for share in shares)
    return Judged(
        some == 0,
        model="none, on average times (Lemma 1)",
        measured=(
            f"{some} of {found['plans']} plans have stale results, {max(shares):.2%} of theirs at "
            f"most, {np.mean(shares):.3%} on average"
        ),
        why=f"Without the cover (GrePP) {np.mean(without):.0%} of the results are stale.",
    )


def _summary(numbers: AllNumbers) -> Judged:
    six, seven, eight = (numbers[f"figure {n}"] for n in (6, 7, 8))
    kept = min(
        measured.mean / planned
        for shape in ("linear", "bushy")
        for measured, planned in zip(
            six[shape]["phases"]["jaqpot"], six[shape]["model"]["jaqpot"], strict=True
        )
    )
    factors = [
        *(six[shape]["ratio"]["mean"].mean for shape in ("linear", "bushy")),
        *(seven[shape]["measured ratios"]["mean"] for shape in ("linear", "bushy")),
        *(each["ratio"].mean for each in eight["mu"].values()),
    ]
    first = [
        *(leader(six[shape]["total"]) for shape in ("linear", "bushy")),
        *(_first(seven[shape]["model ratios"]) for shape in ("linear", "bushy")),
        *(each["leaders"][0] for each in eight["mu"].values()),
    ]
    shares = numbers["figure 9"]["table 3"].values()
    stale = all(each["grepp"][0].mean > max(each[p][0].mean for p in HEURISTICS) for each in shares)
    parts = {
        "near-optimal": kept >= 0.95,
        "2 to 6 times": all(2 <= factor <= 6 for factor in factors),
        "GlobalHJPR": first.count("global-hjpr") > len(first) / 2,
        "real data": all(each["ratio"].mean > 1 for each in eight["mu"].values()),
        "aggravates staleness": stale,
    }
    return Judged(
        all(parts.values()),
        model="-",
        measured=(
            f"{kept:.0%} of the plan's throughput at least; {min(factors):.1f} to "
            f"{max(factors):.1f} times the best heuristic; GlobalHJPR first in "
            f"{first.count('global-hjpr')} of {len(first)} figures"
        ),
        why="; ".join(f"{part}: {'yes' if holds else 'no'}" for part, holds in parts.items()) + ".",
    )


def _first(ratios: dict[str, float]) -> str:
    return max(HEURISTICS, key=lambda planner: ratios[f"{planner} of leader"])


FRESHNESS_JUDGES: Final[dict[str, Judge]] = {
    "JAQ-C20": _figure_8a,
    "JAQ-C21": _figure_8b,
    "JAQ-C22": _figure_8c,
    "JAQ-C23": _scaling,
    "JAQ-C24": _linear_stale,
    "JAQ-C25": _bushy_stale,
    "JAQ-C26": _sensors_stale,
    "JAQ-C27": _cover_costs,
    "JAQ-C28": _infeasible,
    "JAQ-C31": _guarantee,
    "JAQ-C32": _summary,
}
