"""Verdicts on Figures 4, 7 and 8, on Lemma 1, Theorem 1 and partitions."""

from typing import Final

import numpy as np

from papers.base import AllNumbers, Judge, Judged
from papers.measurement import Measurement, within
from papers.naeem.caching_judges import clearly_more

_MARGIN: Final = 1.05
_LEMMA: Final = ("CHYBRIDJOIN, tuned, shedding", "HYBRIDJOIN, tuned, shedding")


def _follows(numbers: AllNumbers) -> Judged:
    found = numbers["figure 4"]
    pairs = [p for p in zip(found["loads"], found["served"], strict=True) if p[0] >= 0.5]
    return Judged(
        all(
            within(served.mean, load, 0.1) if load < 1 else within(served.mean, 1, 0.05)
            for load, served in pairs
        ),
        model="the smaller of arrival rate and capacity",
        measured=", ".join(f"{served.mean:.2f} at {load:g}" for load, served in pairs),
        why="Rates are shares of the capacity, in the second half of each step.",
    )


def _fifths(bins: list[Measurement]) -> tuple[float, float, bool]:
    """Newest and oldest fifth, and whether the first is clearly above."""
    new, old = bins[:2], bins[-2:]
    clear = min(m.low for m in new) > max(m.high for m in old)
    return float(np.mean([m.mean for m in new])), float(np.mean([m.mean for m in old])), clear


def _lemma(numbers: AllNumbers) -> Judged:
    found = {name: _fifths(numbers["queue"]["found"][name]) for name in _LEMMA}
    (new, old, clear), (plain_new, plain_old, _) = found.values()
    return Judged(
        clear,
        model="- (of queued tuples)",
        measured=f"newest and oldest fifth over the mean: CHYBRIDJOIN {new:.2f} and {old:.2f}; "
        f"HYBRIDJOIN {plain_new:.2f} and {plain_old:.2f}",
        why="Ranks are scattered over R; look-up at 15 % under shedding.",
    )


def _theorem(numbers: AllNumbers) -> Judged:
    found = numbers["figure 8"]
    cached, plain = (found["over upfront"][name] for name in ("CHYBRIDJOIN", "HYBRIDJOIN"))
    return Judged(
        cached["rate"].low > 1 and plain["rate"].low > 1 and plain["matches"].low > 1,
        model="- (an argument of the paper)",
        measured=f"considering over upfront: CHYBRIDJOIN {cached['rate']}, HYBRIDJOIN "
        f"{plain['rate']}",
        why=(
            f"Matches of a partition: HYBRIDJOIN {plain['matches'].mean:.2f} times as many, as "
            f"argued. In CHYBRIDJOIN they are fewer, {cached['matches'].mean:.2f} times: there the "
            "gain is all in hits, which upfront shedding loses. Partitions that hardly differ are "
            "best read in turn, when tuples have waited for all of them."
        ),
    )


def _partitions(numbers: AllNumbers) -> Judged:
    shapes = numbers["partitions"]["shapes"]
    scattered, clustered = shapes["scattered"], shapes["clustered"]
    behind = shapes["scattered, not cached"]
    return Judged(
        abs(scattered["skewness"]) < 0.5 and clustered["largest"] >= 10,
        model=(
            f"scattered: skewness {scattered['skewness']:.1f}, the largest "
            f"{scattered['largest']:.0f} times the mean; clustered: "
            f"{clustered['largest']:.0f} times"
        ),
        measured="- (a statement on probabilities)",
        why=(
            f"Behind an ideal front stage the skewness is {behind['skewness']:.2f}, and partitions "
            f"deviate by {behind['deviation']:.0%} of their mean."
        ),
    )


def _position(numbers: AllNumbers) -> Judged:
    found = numbers["figure 7"]
    rates: list[Measurement] = found["found"]["CHYBRIDJOIN, scattered"]["rate"]
    plain: list[Measurement] = found["found"]["HYBRIDJOIN, scattered"]["rate"]
    positions = found["positions"]
    best, best_plain = (int(np.argmax([m.mean for m in each])) for each in (rates, plain))
    holds = 0 < positions[best] <= 0.5 and all(
        clearly_more(rates[best], end) and rates[best].mean >= _MARGIN * end.mean
        for end in (rates[0], rates[-1])
    )
    tuned = positions.index(0.15)
    return Judged(
        holds,
        model="- (no model)",
        measured=f"CHYBRIDJOIN: best at {positions[best]:.0%}; {rates[0].mean:.3f} at 0, "
        f"{rates[tuned].mean:.3f} at 15 %, {rates[-1].mean:.3f} at the end",
        why=(
            f"HYBRIDJOIN: best at {positions[best_plain]:.0%} with {plain[best_plain].mean:.2f}; "
            f"{plain[0].mean:.2f} at 0, {plain[tuned].mean:.2f} at 15 %, {plain[-1].mean:.2f} at "
            "the end (rates over the capacity)."
        ),
    )


def _ramp(numbers: AllNumbers) -> Judged:
    rates = {name: each[-1] for name, each in numbers["figure 8"]["rates"].items()}
    network, tuned, untuned, upfront, mesh = (
        rates[name].mean
        for name in ("tuned, network", "tuned, disk", "untuned, disk", "upfront, disk", "MESHJOIN")
    )
    plain = rates["HYBRIDJOIN, tuned"].mean / rates["HYBRIDJOIN, untuned"].mean
    ordered = network >= tuned and tuned >= 1.15 * untuned and untuned > upfront > mesh
    return Judged(
        ordered and 2.3 <= tuned / upfront <= 3.9,
        model="- (no model)",
        measured=f"rates over the capacity at 3 times: tuned {network:.2f} (network) and "
        f"{tuned:.2f} (disk), untuned {untuned:.2f}, upfront {upfront:.2f}, MESHJOIN {mesh:.2f}",
        why=(
            f"Tuned against untuned: {tuned / untuned - 1:+.1%}, in HYBRIDJOIN {plain - 1:+.0%}; "
            f"considering is {tuned / upfront:.1f} times upfront."
        ),
    )


def _rises(numbers: AllNumbers) -> Judged:
    rates = numbers["figure 8"]["rates"]
    considering, upfront = rates["tuned, disk"][-1], rates["upfront, disk"][-1]
    return Judged(
        considering.low >= 1.5 and 0.85 <= upfront.mean <= 1.05,
        model="- (the front stage sees all, or only what is kept)",
        measured=f"at three times the capacity: considering {considering}, upfront {upfront}",
        why="What upfront shedding loses goes into writing what it sheds.",
    )


SHEDDING_JUDGES: Final[dict[str, Judge]] = {
    "NAE-C14": _follows,
    "NAE-C15": _lemma,
    "NAE-C16": _theorem,
    "NAE-C17": _partitions,
    "NAE-C18": _position,
    "NAE-C19": _ramp,
    "NAE-C20": _rises,
}
