"""Verdicts on Figures 1 to 5: match densities, and rate adaptation against random drop."""

from typing import Final

import numpy as np

from papers.base import AllNumbers, Judge, Judged
from papers.gedik.densities import FloatArray
from papers.gedik.runs import rising
from papers.measurement import Measurement, within

_PEAK: Final = 15
"""Basic window of 1 s in which matches peak: 0.75 of 20 s (GED-D5)."""


def _window_reduction(numbers: AllNumbers) -> Judged:
    one, two = (numbers["figure 1"]["reduced"][case] for case in ("I", "II"))
    useful = one["kept"] <= 0.25 and one["output"] >= 2 * one["kept"]
    useless = two["kept"] >= 0.75 and two["young"] < 0.2 and two["selected"] > two["output"]
    return Judged(
        useful and useless,
        model=(
            f"case I keeps {one['kept']:.0%} of the window and {one['output']:.0%} of the results; "
            f"case II keeps {two['kept']:.0%} and {two['output']:.0%}"
        ),
        measured="- (a statement on densities; Figure 2 measures them)",
        why=(
            f"In case II the younger half of what is kept gives {two['young']:.0%} of its results; "
            f"as many comparisons where matches are would give {two['selected']:.0%} of all."
        ),
    )


def _partial(numbers: AllNumbers) -> Judged:
    found = numbers["partial"]
    gains: list[Measurement] = [found["gain"], *found["fixed"].values()]
    fixed = ", ".join(f"{gain} at r = {r}" for r, gain in found["fixed"].items())
    return Judged(
        all(0.93 <= gain.mean <= 1.07 for gain in gains),
        model="F(r)/r = 1: no part of the window is better than another",
        measured=f"RA over random drop: {found['gain']} in bursts, {fixed}",
        why="Where matches are everywhere, it does not matter which comparisons are left out.",
    )


def _densities(numbers: AllNumbers) -> Judged:
    found = numbers["figure 2"]["densities"]
    peaks, heights, errors = {}, {}, {}
    for skew, density in found.items():
        second = np.array([m.mean for m in density["measured"][1]])
        model = np.asarray(density["model"][1])
        about = slice(_PEAK - 1, _PEAK + 2)
        peaks[skew] = int(second.argmax())
        heights[skew] = float(second.max() / second.mean())
        errors[skew] = float(second[about].sum() / model[about].sum() - 1)
    single = all(_one_peak([m.mean for m in d["measured"][1]]) for d in found.values())
    holds = (
        single
        and set(peaks.values()) == {_PEAK}
        and 2 <= heights[0.6] < heights[0.8]
        and all(abs(error) <= 0.15 for error in errors.values())
    )
    return Judged(
        holds,
        model="peak at 0.75 w in W_2; in W_1 matches only rise towards the old end",
        measured=", ".join(
            f"kappa {skew}: peak at {peaks[skew]} of 20 s, {heights[skew]:.1f} times the mean"
            for skew in found
        ),
        why=(
            "About the peak counts differ from the derived density by "
            + " and ".join(f"{error:+.0%}" for error in errors.values())
            + "."
        ),
    )


def _one_peak(density: list[float]) -> bool:
    """Whether means of four rise to one peak and fall after it."""
    means = np.array(density[:20]).reshape(5, 4).mean(axis=1)
    top = int(means.argmax())
    return bool(np.all(np.diff(means[: top + 1]) > 0) and np.all(np.diff(means[top:]) < 0))


def _fraction(numbers: AllNumbers) -> Judged:
    found = numbers["figure 4"]
    runs = found["fractions"]
    lowest = [float(r[60:81].min()) for r in runs]
    recovered = [float(r[100:105].mean()) for r in runs]
    holds = all(_follows(r) for r in runs)
    ideal = found["fractions_ideal"]
    return Judged(
        holds,
        model=f"with full windows r = {ideal['500']:.2f} at 500 and {ideal['300']:.2f} at 300",
        measured=(
            f"1 until second 60, lowest {Measurement.of(lowest)}, "
            f"{Measurement.of(recovered)} at the end of the 300s, 1 at the end"
        ),
        why=(
            "The fast part ends before the window is full of its tuples, so r does not fall to "
            "the value of full windows. While r follows, full buffers lose "
            f"{found['lost'].mean:.0%} of all tuples."
        ),
    )


def _follows(r: FloatArray) -> bool:
    low, after = r[60:81].min(), r[110:]
    return bool(
        r[:60].min() >= 0.95
        and low < 0.5
        and r[100:105].mean() > low
        and np.all(np.diff(after) >= -0.01)
        and r[145] >= 0.95
    )


def _rate_adaptation(numbers: AllNumbers) -> Judged:
    found = numbers["figure 4"]
    gain, control, ideal = found["gain"], found["control"], found["ideal"]
    holds = (
        within(gain["before"].mean, 1, 0.01)
        and 1.5 <= gain["settled"].mean <= 2.5
        and 1.25 <= gain["300"].mean <= 1.75
        and all(control[name].low > 1 for name in ("settled", "300"))
    )
    return Judged(
        holds,
        model=f"F(r)/r with full windows: {ideal['500']:.2f} at 500, {ideal['300']:.2f} at 300",
        measured=(
            f"RA over random drop: {gain['before']} before; at 500 {gain['500']}, in its last 5 s "
            f"{gain['settled']}; at 300 {gain['300']}"
        ),
        why=(
            f"Gains of {gain['settled'].mean - 1:.0%} once r has followed and of "
            f"{gain['300'].mean - 1:.0%} (paper: about 100 % and 50 %); with windows on both "
            f"streams {control['settled']} and {control['300']}."
        ),
    )


def _skew_and_window(numbers: AllNumbers) -> Judged:
    found = numbers["figure 5"]
    gains = {window: each["gain"] for window, each in found["measured"].items()}
    by_skew = all(rising(each) for each in gains.values())
    skewed = [i for i, skew in enumerate(found["skews"]) if skew >= 0.6]
    by_window = all(rising([each[i] for each in gains.values()]) for i in skewed)
    last, first = found["skews"][-1], found["skews"][0]
    ideal = found["ideal"]
    return Judged(
        by_skew and by_window,
        model=(
            f"F(r)/r at r = 0.1: {ideal[first][0.1]:.2f} at kappa {first}, "
            f"{ideal[last][0.1]:.2f} at {last}; at r = 0.3: {ideal[last][0.3]:.2f} at {last}"
        ),
        measured="; ".join(
            f"{window:g} s: {each['gain'][0]} at kappa {first}, {each['gain'][-1]} at {last}"
            for window, each in found["measured"].items()
        ),
        why=(
            "Of a larger window a smaller part can be paid for, and the smaller it is the more the "
            "choice matters."
        ),
    )


RATE_JUDGES: Final[dict[str, Judge]] = {
    "GED-C1": _window_reduction,
    "GED-C2": _partial,
    "GED-C3": _densities,
    "GED-C4": _fraction,
    "GED-C5": _rate_adaptation,
    "GED-C6": _skew_and_window,
}
