"""Verdicts on printed numbers and on Figure 9."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from papers.base import AllNumbers, Judge, Judged
from papers.measurement import Measurement, short, within
from papers.naeem.workload import PAPER_TABLE, Setting
from streamjoin.planning.table import ideal_hit_share

_PRINTED: Final = {1.0: "11.18", 0.01: "0.11", 0.1: "1.12"}


def _sizes(numbers: AllNumbers) -> Judged:
    gib = numbers["arithmetic"]["gib"]
    return Judged(
        all(f"{gib[share]:.2f}" == text for share, text in _PRINTED.items()),
        model=", ".join(f"{value:.4f}" for value in gib.values()),
        measured="- (arithmetic)",
        why="GB is 2^30 bytes.",
    )


def _interval(numbers: AllNumbers) -> Judged:
    found = numbers["arithmetic"]
    return Judged(
        found["interval"] == 400_000 and found["interval share"] == 0.04,
        model=f"{found['interval'] / 1e6:g} million, {found['interval share']:.0%}",
        measured="- (arithmetic)",
        why="1e8 / (25 * 10) of 1e8 / 10.",
    )


def _share(numbers: AllNumbers) -> Judged:
    found = numbers["figure 9a"]
    best = {m: found["x"][_top(each)] for m, each in found["rates"].items()}
    far: Mapping[int, Measurement] = found["far"]
    at_paper = Setting(PAPER_TABLE, "mesh", 0.75, buffer=0.03).split.cached
    return Judged(
        all(0.1 <= share <= 0.3 for share in best.values()) and far[max(far)].low > 1,
        model=", ".join(
            f"best at {found['x'][int(np.argmax(each))]:.0%} (memory {m:.0%})"
            for m, each in found["model"].items()
        ),
        measured=", ".join(f"best at {share:.0%} (memory {m:.0%})" for m, share in best.items())
        + f"; at 75 % {far[max(far)]} times the rate without",
        why=(
            "Whether 75 % still pays depends on the number of keys (NAE-I8): "
            + ", ".join(f"{m.mean:.2f} times with {n:,}" for n, m in far.items())
            + "; with 100 million an ideal cache of this size would serve "
            f"{ideal_hit_share(at_paper, PAPER_TABLE, 1.0):.2f} of the stream."
        ),
    )


def _threshold(numbers: AllNumbers) -> Judged:
    found = numbers["figure 9b"]
    rate = dict(zip(found["x"], found["rates"], strict=True))
    filled = dict(zip(found["x"], found["filled"], strict=True))
    at_5 = rate[5] if 5 in rate else rate[4]
    return Judged(
        at_5.mean >= 1.1 * rate[10].mean and within(at_5.mean, rate[1].mean, 0.05),
        model="- (hits a second)",
        measured=", ".join(f"{t}: {m.mean:.0f}" for t, m in rate.items()),
        why=f"At 10 {filled[10].mean:.0%} of the cache are in use, at 40 {filled[40].mean:.0%}.",
    )


def _buffer(numbers: AllNumbers) -> Judged:
    found = numbers["figure 9c"]
    rates: Sequence[Measurement] = found["rates"]
    top = _top(rates)
    ends = max(rates[0].mean, rates[-1].mean)
    return Judged(
        0 < top < len(rates) - 1 and ends <= 0.8 * rates[top].mean,
        model=f"best at {found['x'][int(np.argmax(found['model']))]:.1%} of memory",
        measured=f"best at {found['x'][top]:.1%} of memory, {rates[top].mean:.0f} tuples/s; "
        f"{rates[0].mean:.0f} and {rates[-1].mean:.0f} at the ends",
        why="Small buffers pay a seek for few tuples, large ones leave H_S little room.",
    )


def _role(numbers: AllNumbers) -> Judged:
    found = numbers["figure 9d"]
    hits: Measurement = found["hits"]
    paper = numbers["arithmetic"]["hits"][1_500_000]
    return Judged(
        0.46 <= hits.mean <= 0.56,
        model=f"ideal: {found['ideal']:.3f} of {found['n']:,} keys, {paper:.3f} of 100 million",
        measured=str(hits),
        why="At exponent 1, with memory of 10 % of R.",
    )


def _growth(numbers: AllNumbers) -> Judged:
    found = numbers["figure 9e"]
    series = np.asarray(found["series"])
    middle = len(series) // 2
    dip, later = float(series[middle : middle + 4].min()), float(series[-8:].mean())
    steady = found["steady"]
    return Judged(
        dip < later and later >= 0.85 * steady["after"].mean,
        model=f"{short(steady['after'].mean)} tuples/s for a join that begins with all of R",
        measured=f"{short(float(series[middle - 8 : middle].mean()))} before, {short(dip)} just "
        f"after, {short(later)} at the end",
        why=f"With half of R it serves {short(steady['before'].mean)} tuples/s.",
    )


def _validation(numbers: AllNumbers) -> Judged:
    found = numbers["figure 9f"]["found"]
    off = {name: each["measured"].mean / each["model"] - 1 for name, each in found.items()}
    return Judged(
        all(abs(x) <= 0.05 for x in off.values()),
        model=", ".join(f"{name} {short(each['model'])}" for name, each in found.items()) + " us",
        measured=", ".join(
            f"{name} {short(each['measured'].mean)}" for name, each in found.items()
        ) + " us",
        why="Measured over model: " + ", ".join(f"{x:+.1%}" for x in off.values()) + ".",
    )  # fmt: skip


def _top(values: Sequence[Measurement]) -> int:
    return int(np.argmax([m.mean for m in values]))


DESIGN_JUDGES: Final[dict[str, Judge]] = {
    "NAE-C1": _sizes,
    "NAE-C2": _interval,
    "NAE-C21": _share,
    "NAE-C22": _threshold,
    "NAE-C23": _buffer,
    "NAE-C24": _role,
    "NAE-C25": _growth,
    "NAE-C26": _validation,
}
