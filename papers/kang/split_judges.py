"""Verdicts on Figures 8 to 11 and the examples of Sections 4.2 and 4.3."""

from collections.abc import Mapping
from typing import Final

from papers.base import AllNumbers, Judge, Judged, Numbers
from papers.measurement import within

# Derived from Eqs. 10, 13 and 14.
_FIGURE_8: Final = {
    "equal": 5.0, "rate": 3.2, "inverse-rate": 3.2, "window": 1.8, "inverse-window": 1.8,
}  # fmt: skip
_FIGURE_9: Final = {
    "slower": 250, "inverse-rate": 216.67, "equal": 150, "rate": 83.33, "faster": 50,
}  # fmt: skip
_FIGURE_10: Final = {
    "left/right": 9, "right/left": 9, "equal": 5, "left/left": 1, "right/right": 1,
}  # fmt: skip


def _figure_8(numbers: AllNumbers) -> Judged:
    return _strategies(numbers["figure 8"], _FIGURE_8, tolerance=0.1)


def _figure_9(numbers: AllNumbers) -> Judged:
    return _strategies(numbers["figure 9"], _FIGURE_9, tolerance=0.1)


def _figure_10(numbers: AllNumbers) -> Judged:
    return _strategies(numbers["figure 10"], _FIGURE_10, tolerance=None)


def _strategies(found: Numbers, derived: Mapping[str, float], tolerance: float | None) -> Judged:
    names, model, spark = found["names"], found["model"], found["spark"]
    measured = {split: m.mean for split, m in found["measured"].items()}
    same = all(round(model[split], 2) == value for split, value in derived.items())
    close = tolerance is None or _worst(model, measured) <= tolerance
    ordered = same_order(model, measured) and (spark is None or same_order(model, spark))
    shown = "virtual time: " + _list(names, {s: str(m) for s, m in found["measured"].items()})
    why = f"Virtual time, batches of {found['every']} s: {_compared(model, measured)}."
    if spark is None:
        why += f" Judged without Spark: {found['no_spark']}."
    else:
        shown += "; Spark: " + _list(names, {split: f"{n:.3g}" for split, n in spark.items()})
        why += f" Spark, batches of {found['spark_every']} s: {_compared(model, spark)}."
    return Judged(
        same and close and ordered,
        model=_list(names, {split: f"{value:.4g}" for split, value in model.items()}),
        measured=shown,
        why=why,
    )


def _worst(model: Mapping[str, float], found: Mapping[str, float]) -> float:
    return max(abs(found[split] / model[split] - 1) for split in model)


def _compared(model: Mapping[str, float], found: Mapping[str, float]) -> str:
    order = "the model's order" if same_order(model, found) else "another order than the model's"
    return f"{order}, values at most {_worst(model, found):.0%} off"


def same_order(model: Mapping[str, float], found: Mapping[str, float]) -> bool:
    """Whether what the model puts above something else is above it; ties are free.

    Examples
    --------
    >>> same_order({"a": 2.0, "b": 1.0, "c": 1.0}, {"a": 2.1, "b": 0.9, "c": 1.1})
    True
    """
    return all(
        found[one] > found[two] for one in model for two in model if model[one] > 1.001 * model[two]
    )


def _optimum(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]
    rate, shortfall = found["optimum_rate_error"], found["optimum_shortfall"]
    return Judged(
        rate <= 1e-9 and shortfall <= 1e-9,
        model="mu/2 each, or the slower stream's rate and the rest, in all of 200 settings",
        measured="- (nothing random: the plan itself is checked)",
        why=(
            f"Planned rates are off by at most {rate:.1g}; the best of 2001 other splits gives at "
            f"most {max(0.0, shortfall):.1g} more."
        ),
    )


def _regulated(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]
    thresholds = round(found["threshold"], 2), round(found["threshold_20"], 2)
    holds = (
        found["regulated"] == (5, 45)
        and thresholds == (6.69, 14.38)
        and found["nested_10"]
        and not found["nested_20"]
    )
    words = ["NLJ" if found[name] else "HJ" for name in ("nested_10", "nested_20")]
    left, right = found["regulated"]
    return Judged(
        holds,
        model=f"{left:g} and {right:g}; |B| = 10: {words[0]}, |B| = 20: {words[1]}",
        measured="- (nothing random: the plan itself is checked)",
        why=f"The ratio {right / left:g} against thresholds {thresholds[0]} and {thresholds[1]}.",
    )


def _equal_rates(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]["equal_rates"]
    holds = all(abs(value - 50) <= 1e-9 for value in found.values())
    return Judged(
        holds,
        model=", ".join(f"{split} {value:g}" for split, value in found.items()),
        measured="- (nothing random: the plan itself is checked)",
        why="0.005 * 10 * 1000 = 50 results/s.",
    )


def _fast_to_slow(numbers: AllNumbers) -> Judged:
    found = numbers["examples"]
    at, above = found["above_one"]
    holds = found["nested_from_fast"] == 0 and abs(at - 1) <= 1e-9 < above - 1
    return Judged(
        holds,
        model=f"HJ in {found['settings_from_fast']:,} of as many settings",
        measured="- (a statement on the model's choice)",
        why=f"The threshold is {at:.3f} at |B| = 2.6 and {above:.3f} at 2.7; no ratio exceeds 1.",
    )


def _surface(numbers: AllNumbers) -> Judged:
    output = numbers["figure 11"]["output"]
    corners = output[-1, 0], output[0, -1], output[-1, -1], output[0, 0]
    middle = output[output.shape[0] // 2]
    holds = (
        all(within(corner, 10, 1e-6) for corner in corners[:2])
        and all(abs(corner) <= 1e-6 for corner in corners[2:])
        and abs(middle - 5).max() <= 1e-9
        and output.max() == max(corners)
        and output.min() == min(corners)
    )
    return Judged(
        holds,
        model=(
            f"maxima {corners[0]:.4g} and {corners[1]:.4g}, minima {corners[2]:.2f} and "
            f"{corners[3]:.2f}, {middle.min():.4g} to {middle.max():.4g} at x = 1/2"
        ),
        measured="- (a surface of the model; Figure 10 measures five points of it)",
        why="sigma * mu * M = 10, at the corners that give one stream's window all of the memory.",
    )


def _proper_split(numbers: AllNumbers) -> Judged:
    measured = {split: m.mean for split, m in numbers["figure 9"]["measured"].items()}
    splits = numbers["resources"]["splits"]
    costs = {split: found["cost_per_result"] for split, found in splits.items()}
    others = [split for split in costs if split != "slower"]
    insert, invalidate = splits["slower"]["other_window"]
    factor = measured["slower"] / measured["faster"]
    holds = (
        all(measured["slower"] > measured[split] for split in others)
        and all(costs["slower"] < costs[split] for split in others)
        and insert == invalidate == 0
    )
    return Judged(
        holds,
        model="250 results/s with Max A, at most 216.67 with any other split",
        measured=(
            f"{factor:.1f} times the results of Max B; cost a result "
            + ", ".join(f"{split} {value:.2f}" for split, value in costs.items())
        ),
        why=f"With Max A the operator inserts {insert} and invalidates {invalidate} tuples of B.",
    )


def _list(names: Mapping[str, str], values: Mapping[str, str]) -> str:
    return ", ".join(f"{names[split]}: {value}" for split, value in values.items())


SPLIT_JUDGES: Final[dict[str, Judge]] = {
    "KAN-C14": _figure_8,
    "KAN-C15": _optimum,
    "KAN-C16": _regulated,
    "KAN-C17": _figure_9,
    "KAN-C18": _equal_rates,
    "KAN-C19": _fast_to_slow,
    "KAN-C20": _figure_10,
    "KAN-C21": _surface,
    "KAN-C23": _proper_split,
}
