"""Verdicts on Figure 9: the length of basic windows, without and with indexes."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from papers.base import AllNumbers, Judge, Judged
from papers.gedik.basic_window_runs import INDEXED, LISTS, SORTED
from papers.gedik.runs import clearly_more
from papers.measurement import Measurement

ByLength = Mapping[float | None, Measurement]
"""Results a second by length of the basic windows; None is no basic windows."""


def _lists(numbers: AllNumbers) -> Judged:
    left: Mapping[float, ByLength] = {
        skew: dict(zip(LISTS, found, strict=True))
        for skew, found in numbers["figure 9"]["left"].items()
    }
    skew = max(left)
    last = _means(left[skew])
    return Judged(
        all(_smaller_is_better(each) for each in left.values()),
        model="- (the peak of the density is a few seconds wide)",
        measured="; ".join(f"kappa {skew}: {_shown(each)}" for skew, each in left.items()),
        why=(
            f"At kappa {skew} basic windows of 1 s give {last[1.0] / last[None]:.1f} times "
            f"the results of none, those of 20 s {last[20.0] / last[None]:.1f} times. At 10 s the "
            "part that is probed begins at the young end of a basic window, away from the peak."
        ),
    )


def _smaller_is_better(each: ByLength) -> bool:
    means = _means(each)
    return (
        all(means[small] >= 0.95 * means[large] for small, large in pairwise((0.5, 1.0, 2.0, 5.0)))
        and means[5.0] > max(means[10.0], means[20.0])
        and min(means[10.0], means[20.0]) > means[None]
        and clearly_more(each[1.0], each[None])
    )


def _look_ups(numbers: AllNumbers) -> Judged:
    each = dict(zip(INDEXED, numbers["figure 9"]["right"]["inverted-time"], strict=True))
    means = _means(each)
    best = max(means, key=lambda length: means[length])
    lost = {b: 1 - means[b] / means[best] for b in (INDEXED[0], 200.0, None)}
    return Judged(
        all(lost[b] >= 0.1 and clearly_more(each[best], each[b]) for b in lost),
        model="- (a look-up costs as much as 5 entries: our choice)",
        measured=_shown(each),
        why=(
            f"Best at {_name(best)}; "
            + ", ".join(f"{_name(b)} gives {-share:+.0%}" for b, share in lost.items())
            + "."
        ),
    )


def _identifiers(numbers: AllNumbers) -> Judged:
    time, identifier = (
        dict(zip(INDEXED, numbers["figure 9"]["right"][index], strict=True)) for index in SORTED
    )
    ratio = {b: identifier[b].mean / time[b].mean for b in INDEXED}
    large = [ratio[b] for b in (50.0, 200.0)]
    small = [ratio[b] for b in (0.25, 1.0, 4.0)]
    return Judged(
        max(ratio.values()) < 1
        and max(large) < min(small)
        and clearly_more(time[50.0], identifier[50.0]),
        model="- (whole basic windows or none)",
        measured="identifier/time: " + ", ".join(f"{_name(b)} {x:.2f}" for b, x in ratio.items()),
        why=(
            f"At 50 and 200 s it gives {1 - max(large):.0%} to {1 - min(large):.0%} less, at 4 s "
            f"and less {min(small) - 1:+.0%} to {max(small) - 1:+.0%}."
        ),
    )


def _means(each: ByLength) -> dict[float | None, float]:
    return {length: m.mean for length, m in each.items()}


def _shown(each: ByLength) -> str:
    return ", ".join(f"{_name(length)} {m.mean:.0f}" for length, m in each.items())


def _name(length: float | None) -> str:
    return "none" if length is None else f"{length:g} s"


BASIC_WINDOW_JUDGES: Final[dict[str, Judge]] = {
    "GED-C10": _lists,
    "GED-C11": _look_ups,
    "GED-C12": _identifiers,
}
