"""Verdicts on Figure 7: where joins are overloaded, and what they give then."""

from typing import Final

from papers.base import AllNumbers, Judge, Judged
from papers.kang.output_rates import BEYOND, SHOWN
from papers.measurement import within

ORDER: Final = ("NHJ", "NNJ", "HHJ", "HJ", "HNJ", "NLJ")
# Derived: the rate at which a cost reaches 60,000 units a second.
_DERIVED: Final = {
    "NHJ": 87.9, "NNJ": 99.8, "HHJ": 114.0, "HJ": 119.1, "HNJ": 175.3, "NLJ": 199.3,
}  # fmt: skip
_STATED_PEAKS: Final = 18939, 11844
_STATED_RATIO: Final = _STATED_PEAKS[0] / _STATED_PEAKS[1]


def _thrashing(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]
    predicted = found["predicted"]
    peaks = {join: peak.mean for join, peak in found["peaks"].items()}
    same = all(round(predicted[join], 1) == rate for join, rate in _DERIVED.items())
    ordered = sorted(peaks, key=lambda join: peaks[join]) == list(ORDER)
    ratio = peaks["HNJ"] / peaks["HHJ"]
    return Judged(
        same and ordered and 1.5 <= ratio <= 1.7,
        model=", ".join(f"{join} {predicted[join]:.1f}" for join in ORDER),
        measured="virtual time: " + ", ".join(f"{join} {peaks[join]:.1f}" for join in ORDER),
        why=(
            f"Same order in model and virtual time; HNJ/HHJ is {ratio:.2f} (paper: 190/110 = 1.73)."
            if ordered
            else f"The order in virtual time is {sorted(peaks, key=lambda join: peaks[join])}."
        ),
    )


def _peaks(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]
    hnj, hhj = found["at_peak"]["HNJ"], found["at_peak"]["HHJ"]
    ratio = hnj.mean / hhj.mean
    model = found["predicted"]["HNJ"] * 120, found["predicted"]["HHJ"] * 120
    return Judged(
        within(ratio, _STATED_RATIO, 0.1),
        model=f"{model[0]:.0f} and {model[1]:.0f}, ratio {model[0] / model[1]:.3f}",
        measured=f"virtual time: {hnj} and {hhj}, ratio {ratio:.3f}",
        why=(
            f"The ratio is {ratio:.2f} against {_STATED_RATIO:.2f}; it alone decides. The peaks "
            f"are {hnj.mean / _STATED_PEAKS[0] - 1:+.0%} and "
            f"{hhj.mean / _STATED_PEAKS[1] - 1:+.0%} off the paper's, whose feeder was slower "
            "than its nominal rates (KAN-C12)."
        ),
    )


def _prediction(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]
    predicted = found["predicted"]
    shift = {join: fed.mean / predicted[join] - 1 for join, fed in found["fed"].items()}
    plain = {join: found["peaks"][join].mean / predicted[join] - 1 for join in shift}
    holds = 0.05 < shift["HHJ"] < shift["HNJ"] and all(abs(p) <= 0.05 for p in plain.values())
    return Judged(
        holds,
        model=f"overload of HHJ at {predicted['HHJ']:.1f}, of HNJ at {predicted['HNJ']:.1f}",
        measured=(
            f"virtual time, slow feeder: {found['fed']['HHJ']} and {found['fed']['HNJ']}; exact "
            f"feeder: {found['peaks']['HHJ']} and {found['peaks']['HNJ']}"
        ),
        why=(
            f"A feeder that is 1 ms late moves the peak by {shift['HHJ']:.0%} (HHJ) and "
            f"{shift['HNJ']:.0%} (HNJ); without it the prediction is right to "
            f"{max(map(abs, plain.values())):.1%}."
        ),
    )


def _overload(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]
    first = min(found["predicted"][join] for join in SHOWN)
    errors = [
        abs(measured.mean / offered - 1)
        for join in SHOWN
        for rate, measured, offered in zip(
            found["rates"], found["measured"][join], found["offered"][join], strict=True
        )
        if rate < first
    ]
    lost = found["lost"]
    return Judged(
        max(errors) <= 0.03 and lost["HHJ"] >= 0.1 and lost["HHJ"] > lost["HNJ"],
        model="HHJ's cost grows with the square of the rate, HNJ's with the rate",
        measured=(
            f"before overload within {max(errors):.1%} of Eq. 9; {BEYOND - 1:.0%} beyond the peak "
            f"HHJ has lost {lost['HHJ']:.0%}, HNJ {max(0.0, lost['HNJ']):.0%}"
        ),
        why="An overloaded HNJ still gives what the processor can pay for, HHJ ever less.",
    )


OUTPUT_JUDGES: Final[dict[str, Judge]] = {
    "KAN-C10": _thrashing,
    "KAN-C11": _peaks,
    "KAN-C12": _prediction,
    "KAN-C13": _overload,
}
