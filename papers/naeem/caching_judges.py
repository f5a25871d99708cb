"""Verdicts on Figures 5 and 6: what the front stage gives."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

from papers.base import AllNumbers, Judge, Judged
from papers.measurement import Measurement, short, within
from papers.naeem.runs import Gain
from papers.naeem.workload import PAPER_TABLE, Setting
from papers.operators.semi_stream_costs import most_speed_up
from streamjoin.planning.table import ideal_hit_share

NAMES: Final = {"mesh": "CMESHJOIN", "hybrid": "CHYBRIDJOIN", "index": "CINLJ"}
STATED: Final = {"mesh": (4.0, 6.5), "hybrid": (2.4, 2.8)}
"""Ratios of Figure 5(a), with memory of 1 % and 10 % of R."""
_SIZE: Final = 0.25


def clearly_more(one: Measurement, other: Measurement) -> bool:
    """Whether the whole interval of one lies above the other's."""
    return one.low > other.high


def paper_bound(memory: float, skew: float = 1.0) -> float:
    """Largest possible advantage at the paper's size."""
    cached = Setting(PAPER_TABLE, "mesh", memory=memory, buffer=0.03).split.cached
    return most_speed_up("mesh", ideal_hit_share(cached, PAPER_TABLE, skew), 0.15)


def _headline(numbers: AllNumbers) -> Judged:
    last = {name: gains[-1] for name, gains in numbers["figure 5a"]["gains"].items()}
    return Judged(
        all(gain.ratio.low > 1.4 for gain in last.values()),
        model=_models(last),
        measured=_ratios(last),
        why="; ".join(
            f"{NAMES[name]}: the front stage serves {gain.hits.mean:.2f} of the stream"
            for name, gain in last.items()
        ) + ".",
    )  # fmt: skip


def _memory(numbers: AllNumbers) -> Judged:
    gains: Mapping[str, Sequence[Gain]] = numbers["figure 5a"]["gains"]
    ends = {name: (each[0], each[-1]) for name, each in gains.items()}
    near = all(
        within(gain.ratio.mean, stated, _SIZE)
        for name, pair in ends.items()
        for gain, stated in zip(pair, STATED[name], strict=True)
    )
    more = all(clearly_more(high.ratio, low.ratio) for low, high in ends.values())
    steep = numbers["figure 5d"]["linked"]
    link, last = list(steep.items())[-1]
    return Judged(
        near and more,
        model="; ".join(
            f"{NAMES[name]} {low.model:.2f} and {high.model:.2f}"
            for name, (low, high) in ends.items()
        ) + f"; bound at the paper's size {paper_bound(0.01):.2f} and {paper_bound(0.1):.2f}",
        measured="; ".join(
            f"{NAMES[name]} {low.ratio} and {high.ratio}" for name, (low, high) in ends.items()
        ),
        why=(
            f"At 10 % the front stage serves {ends['mesh'][1].hits.mean:.2f} of the stream (ideal "
            f"{ends['mesh'][1].ideal:.2f}), which bounds the advantage by "
            f"{ends['mesh'][1].most:.2f}. With {link * 1e12:.0f} ps for a link CMESHJOIN would "
            f"be {short(last['gain'].mean)} times as fast, and MESHJOIN's rate would fall to "
            f"{last['fall'].mean:.2f} with skew."
        ),
    )  # fmt: skip


def _size(numbers: AllNumbers) -> Judged:
    gains: Mapping[str, Sequence[Gain]] = numbers["figure 5b"]["gains"]
    mesh, hybrid = gains["mesh"], gains["hybrid"]
    return Judged(
        clearly_more(mesh[-1].ratio, mesh[0].ratio)
        and clearly_more(hybrid[0].ratio, hybrid[-1].ratio),
        model="; ".join(
            f"{NAMES[name]} {each[0].model:.2f} to {each[-1].model:.2f}"
            for name, each in gains.items()
        ),
        measured="; ".join(
            f"{NAMES[name]} {each[0].ratio} to {each[-1].ratio}" for name, each in gains.items()
        ),
        why=(
            f"From 20 to 100 million tuples the hit share falls from {mesh[0].hits.mean:.2f} to "
            f"{mesh[-1].hits.mean:.2f}."
        ),
    )


def _index(numbers: AllNumbers) -> Judged:
    found = numbers["figure 5c"]
    gains: Sequence[Gain] = found["gains"]["index"]
    largest = max(gains, key=lambda gain: gain.ratio.mean)
    slow = all(
        gain.with_.mean < mesh.mean / 10 for gain, mesh in zip(gains, found["mesh"], strict=True)
    )
    return Judged(
        within(largest.ratio.mean, 2.5, _SIZE) and slow,
        model=f"1 / (1 - h) = {largest.most:.2f} at the measured hit share, "
        f"{largest.model:.2f} at the ideal one",
        measured=f"up to {largest.ratio}",
        why=(
            f"CINLJ serves {gains[-1].with_.mean:.0f} tuples/s where MESHJOIN serves "
            f"{found['mesh'][-1].mean:.0f}; its cache serves {gains[-1].hits.mean:.2f} to "
            f"{gains[0].hits.mean:.2f} of the stream."
        ),
    )


def _skew(numbers: AllNumbers) -> Judged:
    found = numbers["figure 5d"]
    middle = found["x"].index(0.5)
    gains: Mapping[str, Sequence[Gain]] = found["gains"]
    growing = all(
        all(a.ratio.mean < b.ratio.mean for a, b in pairwise(each)) for each in gains.values()
    )
    moderate = {name: each[middle] for name, each in gains.items()}
    return Judged(
        growing and all(gain.ratio.low > 1 for gain in moderate.values()),
        model=f"exponent 0.5: {_models(moderate)}; bound at the paper's size "
        f"{paper_bound(0.1, 0.5):.2f}",
        measured=f"exponent 0.5: {_ratios(moderate)}; exponent 1: "
        f"{_ratios({name: each[-1] for name, each in gains.items()})}",
        why=(
            f"At exponent 0.5 the front stage serves {moderate['mesh'].hits.mean:.2f} of the "
            "stream."
        ),
    )


def _uniform(numbers: AllNumbers) -> Judged:
    first = {name: each[0] for name, each in numbers["figure 5d"]["gains"].items()}
    return Judged(
        all(gain.ratio.mean >= 0.82 and gain.ratio.high < 1 for gain in first.values()),
        model=_models(first),
        measured=_ratios(first),
        why="The front stage's 15 % of memory serve next to nothing, and H_S is smaller by it.",
    )


def _falls(numbers: AllNumbers) -> Judged:
    linked = numbers["figure 5d"]["linked"]
    free, slight, *_ = linked.values()
    return Judged(
        0.8 <= slight["fall"].mean <= 0.99 and within(free["fall"].mean, 1, 0.01),
        model="without links the cost does not depend on skew",
        measured=f"rate at exponent 1 over that at 0: {slight['fall']}; without links "
        f"{free['fall']}",
        why="A tuple that expires is found at the end of its chain; popular keys have long ones.",
    )


def _tpch(numbers: AllNumbers) -> Judged:
    gains = numbers["figure 5e"]["gains"]
    stated = {"mesh": 3.7, "hybrid": 2.5}
    holds = all(
        any(within(gain.ratio.mean, stated[name], _SIZE) for gain in each)
        for name, each in gains["uniform"].items()
    )
    return Judged(
        holds,
        model="uniform: " + _ranges(gains["uniform"], model=True),
        measured="; ".join(f"{kind}: {_ranges(each)}" for kind, each in gains.items()),
        why="Memory from 1 % to 10 % of R.",
    )


def _reports(numbers: AllNumbers) -> Judged:
    found = numbers["figure 5f"]
    every = [each["ratio"] for case in found["found"].values() for each in case]
    return Judged(
        all(m.low > 1 for m in every),
        model="- (a surrogate)",
        measured="; ".join(
            f"{NAMES[name]} " + ", ".join(
                f"{each['ratio'].mean:.2f} at {x:.0%}"
                for x, each in zip(found["x"], case, strict=True))
            for name, case in found["found"].items()
        ),
        why="Hit shares with growing memory: " + ", ".join(
            f"{each['hits'].mean:.2f}" for each in found["found"]["mesh"]) + ".",
    )  # fmt: skip


def _locality(numbers: AllNumbers) -> Judged:
    found = numbers["figure 5g"]["found"]
    holds = all(
        each[0]["ratio"].low > 1 and clearly_more(each[-1]["ratio"], each[0]["ratio"])
        for each in found.values()
    )
    return Judged(
        holds,
        model="- (popularity changes)",
        measured="; ".join(
            f"memory {memory:.0%}: {each[0]['ratio']} for N = 1, {each[-1]['ratio']} for N = 20"
            for memory, each in found.items()
        ),
        why="Hit shares for N = 1: " + " and ".join(
            f"{each[0]['hits'].mean:.3f}" for each in found.values()) + ".",
    )  # fmt: skip


def _processing(numbers: AllNumbers) -> Judged:
    gains: Mapping[str, Sequence[Gain]] = numbers["figure 5b"]["gains"]
    saved = {
        name: [gain.slow_s.mean - gain.fast_s.mean for gain in each] for name, each in gains.items()
    }
    smaller = all(
        clearly_more(gain.slow_s, gain.fast_s) for each in gains.values() for gain in each
    )
    growing = all(all(a < b for a, b in pairwise(each)) for each in saved.values())
    most = saved["mesh"][-1] >= 0.95 * saved["hybrid"][-1]
    return Judged(
        smaller and growing and most,
        model="half a scan for what the back end serves, next to nothing for hits",
        measured="; ".join(
            f"{NAMES[name]}: {each[0].fast_s.mean:.2g} s instead of {each[0].slow_s.mean:.2g}, at "
            f"100 million {each[-1].fast_s.mean:.2g} instead of {each[-1].slow_s.mean:.2g}"
            for name, each in gains.items()
        ),
        why="Seconds are virtual and of the scaled table; only their order counts.",
    )


def _ratios(gains: Mapping[str, Gain]) -> str:
    return "; ".join(f"{NAMES[name]} {gain.ratio}" for name, gain in gains.items())


def _models(gains: Mapping[str, Gain]) -> str:
    return "; ".join(f"{NAMES[name]} {gain.model:.2f}" for name, gain in gains.items())


def _ranges(gains: Mapping[str, Sequence[Gain]], *, model: bool = False) -> str:
    return ", ".join(
        f"{NAMES[name]} {_value(each[0], model)} to {_value(each[-1], model)}"
        for name, each in gains.items()
    )


def _value(gain: Gain, model: bool) -> str:
    return f"{gain.model if model else gain.ratio.mean:.2f}"


CACHING_JUDGES: Final[dict[str, Judge]] = {
    "NAE-C3": _headline,
    "NAE-C4": _memory,
    "NAE-C5": _size,
    "NAE-C6": _index,
    "NAE-C7": _skew,
    "NAE-C8": _uniform,
    "NAE-C9": _falls,
    "NAE-C10": _tpch,
    "NAE-C11": _reports,
    "NAE-C12": _locality,
    "NAE-C13": _processing,
}
