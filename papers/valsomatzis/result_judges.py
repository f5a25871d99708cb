"""Verdicts on when results come and buffers empty: Table 5 and Figure 6."""

from typing import Final

from papers.base import AllNumbers, Judge, Judged
from papers.measurement import within
from papers.valsomatzis.comparison import Compared
from papers.valsomatzis.nary_streams import DataSet
from papers.valsomatzis.parts import cases, mean, sentence, when
from papers.valsomatzis.policy_runs import most_by
from papers.valsomatzis.printed import (
    EARLY,
    HALVES,
    PERIODS,
    average,
)
from papers.valsomatzis.workload import NAMES
from streamjoin.planning.many.nary import Order

_NEAR: Final = 0.1
_STEADY: Final[tuple[DataSet, ...]] = ("I", "II", "III")


def _table_5(numbers: AllNumbers) -> Judged:
    measured, model, off = [], [], []
    for order, printed in HALVES.items():
        found = cases(numbers, order)
        for period in PERIODS:
            column = [each for (_, p), each in found.items() if p == period]
            ours = mean(each.half.mean for each in column)
            paper = average(printed, period)
            measured.append(f"{NAMES[order]} {period} {ours:.2f} ({paper:.2f})")
            model.append(f"{mean(each.half_model.mean for each in column):.2f}")
            if abs(ours - paper) > _NEAR:
                off.append(f"{NAMES[order]} {period}")
    by_driver = numbers["policies"]["by_driver"]
    most = [most_by(by_driver[name, period], 0.5) for name in _STEADY for period in PERIODS]
    shares = ", ".join(f"{each.results:.0%}" for each in by_driver["I", "1M"])
    return Judged(
        not off,
        model=f"averages in the same order, by work: {', '.join(model)}",
        measured=f"averages by time (paper's): {', '.join(measured)}",
        why=(
            f"More than {_NEAR:g} off: {', '.join(off) or 'none'}. On data set I at 1M the streams "
            f"bring {shares} of the results when they drive, so on I to III even the best order of "
            f"draining gives at most {min(most):.2f} to {max(most):.2f} by half of the time."
        ),
    )


def _figure_6(numbers: AllNumbers) -> Judged:
    robin = [each.time["all"].mean for each in cases(numbers, "round-robin", _STEADY).values()]
    early = {
        (order, case): each
        for order in EARLY
        for case, each in cases(numbers, order, _STEADY).items()
    }
    total = mean(each.time["all"].mean for each in early.values())
    sixty = [when(each, 0.6) for each in early.values()]
    gaps = [
        abs(early["initial-output-size", case].time["all"].mean - each.time["all"].mean)
        for (order, case), each in early.items()
        if order == "output-rate"
    ]
    parts = {
        "round-robin is within 2 % of timestamp order": all(within(r, 1, 0.02) for r in robin),
        "initial output size and output rate take 15 to 25 % less time": 0.75 <= total <= 0.85,
        "they are alike (within 5 points)": mean(gaps) <= 0.05,
        "60 % of the results come within 30 % of the time": max(sixty) <= 0.3,
    }
    return Judged(
        all(parts.values()),
        model=(
            f"total {mean(each.time_model for each in early.values()):.3f}; round-robin "
            f"{mean(e.time_model for e in cases(numbers, 'round-robin', _STEADY).values()):.3f}"
        ),
        measured=(
            f"total {total:.3f}; 60 % of the results after {min(sixty):.2f} to {max(sixty):.2f}; "
            f"round-robin {min(robin):.3f} to {max(robin):.3f}"
        ),
        why=sentence(parts),
    )


def _consumption(numbers: AllNumbers) -> Judged:
    by_order: dict[Order, list[Compared]] = {
        order: list(cases(numbers, order, ("V", "VI")).values())
        for order in ("initial-output-size", "consumption-rate")
    }
    size, share = by_order.values()
    empty = [mean(each.time["all"].mean for each in found) for found in (size, share)]
    waited = [mean(each.waited.mean for each in found) for found in (size, share)]
    parts = {
        "all buffers are empty earlier": empty[0] < empty[1],
        "a tuple waits less long": waited[0] < waited[1],
    }
    return Judged(
        all(parts.values()),
        model=(
            "all empty after "
            + " and ".join(f"{mean(e.time_model for e in found):.3f}" for found in (size, share))
        ),
        measured=(
            f"initial output size and consumption rate on V and VI: all empty after {empty[0]:.3f} "
            f"and {empty[1]:.3f}; a tuple waits {waited[0]:.3f} and {waited[1]:.3f}"
        ),
        why=sentence(parts),
    )


RESULT_JUDGES: Final[dict[str, Judge]] = {
    "VAL-C2": _table_5,
    "VAL-C3": _figure_6,
    "VAL-C10": _consumption,
}
