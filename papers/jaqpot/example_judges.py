"""Verdicts on the worked examples (JAQ-C1 to C12 and C14): equal to the printed digits."""

from typing import Any, Final

from papers.base import AllNumbers, Judge, Judged
from papers.jaqpot.workload import NAMES
from papers.measurement import short

NOTHING_RANDOM: Final = "- (nothing random: the solvers themselves are checked)"
_DISCRETE: Final = {15: (4, 4), 16: (5, 5), 26: (6, 6), 31: (9, 9), 32: (10, 10), 45: (11, 12),
                    46: (11, 13), 47: (14, 14), 60: (16, 16), 100: (30, 30)}  # fmt: skip
_TABLE_4: Final = {
    "equal-hj": ((75, 75, 75, 75), 412.5, 450),
    "e-best-hjp": ((0, 150, 150, 0), 750, 750),
    "global-hjpr": ((13, 130, 130, 26), 658.7, 678.26),
    "s-best-hjp": ((0, 50, 250, 0), 250, 1250),
    "grepp": ((0, 50, 250, 0), 250, 1250),
}
"""Allowances of a, b, ab and c, r_1 and results: printed ones, or derived where misprinted."""
_SUSCEPTIBLE: Final = {
    "((a b) c) d": ("ab", "abc"),
    "(a b) (c d)": ("ab", "cd"),
}


def _close(one: float, other: float, off: float = 1e-9) -> bool:
    return abs(one - other) <= off * max(1.0, abs(other))


def _productivities(numbers: AllNumbers) -> Judged:
    a, b = numbers["examples"]["one join"]["productivities"]
    return _exact(_close(a, 2.5) and _close(b, 5), f"a {a:g}, b {b:g}", "sigma * size, each.")


def _best_hjp(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["one join"]
    derived = (found["all to a"], found["equal"], found["best at 1000"], *found["saturation"])
    holds = (
        _close(found["best"], 1500)
        and (found["probes"], found["inserted"]) == (300, 1200)
        and all(map(_close, derived, (750, 1125, 4250, 1200, 4750)))
    )
    return _exact(
        holds,
        f"{found['probes']:g} of {found['inserted']:g} probe: {found['best']:g} results/s",
        f"All to a gives {derived[0]:g}, an equal split {derived[1]:g}; {derived[2]:g} at mu = "
        f"1000, and {derived[4]:g} from mu = {derived[3]:g} on.",
    )


def _path_b(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["path b"]
    _, b, _, ab = found["allowances"]
    holds = (
        _close(b, 100)
        and _close(ab, 500)
        and _close(found["produced"], 500)
        and _close(found["unused"], 0)
        and found["formula"] <= 1e-9
    )
    return _exact(
        holds,
        f"lambda'_b {b:g}, r_1 {found['produced']:g}, lambda'_ab {ab:g}",
        f"Nothing is left over; rho_p of path A is off Eq. 8 by {found['formula']:.1g}.",
    )


def _table_2(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["table 2"]
    rho = found["productivity"]
    holds = (
        all(map(_close, found["uses"], (15, 16, 10)))
        and all(map(_close, found["outputs"], (4, 5, 1)))
        and [int(1000 * value + 1e-9) for value in rho] == [266, 312, 100]
    )
    return _exact(
        holds,
        "X " + _list(found["uses"]) + "; r " + _list(found["outputs"]),
        f"rho_p {rho[0]:.4f}, {rho[1]:.4f} and {rho[2]:.4f}: the paper cuts digits off.",
    )


def _greedy(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["table 2"]["greedy"]
    holds = found.counts == (0, 1, 1) and found.output == 6 and found.used == 26
    return _exact(
        holds,
        f"{found.output:g} tuples/cycle, {30 - found.used} of 30 wasted",
        f"A, B and C run {', '.join(map(str, found.counts))} times.",
    )


def _dynamic(numbers: AllNumbers) -> Judged:
    table = numbers["examples"]["table 2"]
    found, once, others = table["dynamic"], table["dynamic once"], table["others"]
    holds = found.counts == (2, 0, 0) and found.output == 8 and once == 6 and others == _DISCRETE
    return _exact(
        holds,
        f"{found.output:g} tuples/cycle, with each path at most once {once:g}",
        "At ten other mu greedy and optimum are "
        + ("as derived." if others == _DISCRETE else f"{others}, not as derived."),
    )


def _grepp(numbers: AllNumbers) -> Judged:
    table = numbers["examples"]["table 2"]
    (_, b, _, ab), results = table["grepp"]
    holds = _close(b, 20.625) and _close(ab, 9.375) and _close(results, 9.375)
    return _exact(
        holds and results > table["dynamic"].output > table["greedy"].output,
        f"lambda'_b {b:g}, lambda'_ab {ab:g}, {results:g} results",
        f"The paper rounds. With the rates that Table 2 is built from as caps it is "
        f"{table['capped']:.3f} (JAQ-I3, U3); caps are our default.",
    )


def _mega_cycle(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["mega cycle"]
    mean, kinds = sum(found[-8:]) / 8, sorted(set(found[-8:]))
    holds = kinds == [2, 3] and mean == 2.5
    return Judged(
        holds,
        model="2.5 per cycle",
        measured=f"{mean:g} per second, in seconds of {' and '.join(map(str, kinds))}",
        why="An allowance of 2.5 probes/s is 2 probes in one virtual second and 3 in the next.",
    )


def _table_4(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["table 4"]
    right = [_as_in_table_4(found[name], *row) for name, row in _TABLE_4.items()]
    return _exact(
        all(right),
        "; ".join(f"{NAMES[name]} {short(found[name]['results'])}" for name in _TABLE_4),
        "GlobalHJPR's 677 comes of rounded allowances. For SBestHJP the paper prints r_1 = 150 and "
        "750 results; 50 tuples/s at a productivity of 5 make 250, all of which probe on: 1250, "
        "GrePP's optimum (JAQ-I1).",
    )


def _as_in_table_4(
    found: dict[str, Any], allowances: tuple[float, ...], r_1: float, results: float
) -> bool:
    return (
        tuple(round(value) for value in found["allowances"]) == allowances
        and abs(found["r_1"] - r_1) < 0.005
        and abs(found["results"] - results) < 0.005
    )


def _mismatch(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["table 4"]
    derived = {"equal-hj": (75, 412.5), "global-hjpr": (130.43, 658.7), "e-best-hjp": (150, 750)}
    holds = all(
        abs(found[name]["used"] - used) < 0.01 and abs(found[name]["r_1"] - r_1) < 0.01
        for name, (used, r_1) in derived.items()
    )
    return _exact(
        holds,
        "; ".join(
            f"{NAMES[name]} uses {found[name]['used']:.4g} of {found[name]['r_1']:.4g}"
            for name in derived
        ),
        "The paper's 130 of 656.5 has GlobalHJPR's allowances rounded.",
    )


def _lemma_2(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["susceptible"]
    holds = all(found[plan] == states for plan, states in _SUSCEPTIBLE.items()) and all(
        len(states) == len(plan.replace("(", "").replace(")", "").split()) - 2
        for plan, states in found.items()
    )
    return _exact(
        holds,
        "; ".join(f"{plan}: {', '.join(states)}" for plan, states in found.items()),
        "k streams make k - 2 joins below the root, each with a state.",
    )


def _coverage(numbers: AllNumbers) -> Judged:
    linear, bushy, figure = numbers["examples"]["cover"].values()
    holds = (
        "a" in linear["alone"]
        and linear["optimum"] == 1
        and not bushy["alone"]
        and bushy["optimum"] == 2
        and ("a", "c") in figure["pairs"]
        and figure["optimum"] == 2
    )
    return _exact(
        holds,
        f"paths of the cheapest cover: linear {linear['optimum']}, bushy {bushy['optimum']}, "
        f"Figure 5.a {figure['optimum']}",
        f"Alone path {' or '.join(linear['alone'])} covers the linear plan; no path covers the "
        "bushy one. The plan of Figure 5.a is inferred from the text (JAQ-A31).",
    )


def _query(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["query"]
    holds = list(found.values()) == [(1, 0), (1, 1), (1, 0), (1, 1)]
    return _exact(
        holds,
        "; ".join(f"{case}: {'stale' if stale else 'fresh'}" for case, (_, stale) in found.items()),
        "a at minute 0 and b at 9 are joined, and c comes within 10 minutes of that. Decided by "
        "the oldest tuple of each stream when a result is made, whatever the windows are.",
    )


def _exact(holds: bool, model: str, why: str) -> Judged:
    return Judged(holds, model=model, measured=NOTHING_RANDOM, why=why)


def _list(values: list[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


EXAMPLE_JUDGES: Final[dict[str, Judge]] = {
    "JAQ-C1": _productivities,
    "JAQ-C2": _best_hjp,
    "JAQ-C3": _path_b,
    "JAQ-C4": _table_2,
    "JAQ-C5": _greedy,
    "JAQ-C6": _dynamic,
    "JAQ-C7": _grepp,
    "JAQ-C8": _mega_cycle,
    "JAQ-C9": _table_4,
    "JAQ-C10": _mismatch,
    "JAQ-C11": _lemma_2,
    "JAQ-C12": _coverage,
    "JAQ-C14": _query,
}
