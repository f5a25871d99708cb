"""Verdicts on Figures 7 and 8: data sets with bursts."""

from collections.abc import Iterable, Mapping
from typing import Final

from papers.base import AllNumbers, Judge, Judged
from papers.measurement import within
from papers.valsomatzis.comparison import Span
from papers.valsomatzis.nary_streams import DataSet
from papers.valsomatzis.parts import by, cases, mean, of, sentence, when
from papers.valsomatzis.policy_runs import Driven
from papers.valsomatzis.printed import EARLY, PERIODS, PROPOSED, TIMESTAMP
from papers.valsomatzis.workload import NAMES
from streamjoin.planning.many.nary import Order

_HALVES: Final[tuple[Span, ...]] = ("first", "second")


def _dataset_4(numbers: AllNumbers) -> Judged:
    robin = [each.time["all"].mean for each in cases(numbers, "round-robin", ("IV",)).values()]
    found = {period: [of(numbers, "IV", period)[o] for o in EARLY] for period in PERIODS}
    saved = {p: 1 - mean(e.time["all"].mean for e in each) for p, each in found.items()}
    halves = {
        span: 1 - mean(e.time[span].mean for each in found.values() for e in each)
        for span in _HALVES
    }
    parts = {
        "round-robin is within 5 % of timestamp order": all(within(r, 1, 0.05) for r in robin),
        "about 25 % less time at 0.1M (18 to 32 %)": 0.18 <= saved["0.1M"] <= 0.32,
        "about 20 % less at 1M (13 to 27 %)": 0.13 <= saved["1M"] <= 0.27,
        "more is gained in the first, sparse half": halves["first"] > halves["second"],
    }
    return Judged(
        all(parts.values()),
        model=", ".join(
            f"{1 - mean(e.time_model for e in each):.0%} less at {p}" for p, each in found.items()
        ),
        measured=(
            ", ".join(f"{value:.0%} less at {p}" for p, value in saved.items())
            + f"; first half {halves['first']:.0%}, second {halves['second']:.0%}; round-robin "
            + ", ".join(f"{r:.3f}" for r in robin)
        ),
        why=sentence(parts),
    )


_LATE_TO_EARLY: Final[tuple[Order, ...]] = (
    "consumption-rate",
    "timestamp",
    "round-robin",
    "output-rate",
)


def _ordered(halves: Iterable[Mapping[Order, float]]) -> bool:
    """Whether results come by these orders ever earlier, in all cases."""
    ranked = [[each[order] for order in _LATE_TO_EARLY] for each in halves]
    return all(each == sorted(each) for each in ranked)


def _dataset_5(numbers: AllNumbers) -> Judged:
    found = {period: of(numbers, "V", period) for period in PERIODS}
    eighty = [when(each[o], 0.8) for each in found.values() for o in EARLY]
    late = [by(each["consumption-rate"], 0.7) for each in found.values()]
    time = {p: {o: e.time["all"].mean for o, e in each.items()} for p, each in found.items()}
    best = found["1M"]["initial-output-size"].time["all"]
    counted = {p: {o: e.half_counted.mean for o, e in each.items()} for p, each in found.items()}
    timed = {p: {o: e.half.mean for o, e in each.items()} for p, each in found.items()}
    parts = {
        "results come by consumption rate, timestamp order, round-robin, output rate ever earlier, "
        "by work": _ordered(counted.values()),
        "and so by time": _ordered(timed.values()),
        "consumption rate has less than 40 % by 70 % of the time": max(late) < 0.4,
        "timestamp order is slower than round-robin and consumption rate": all(
            max(each["round-robin"], each["consumption-rate"]) < 1 for each in time.values()
        ),
        "consumption rate takes as long as output rate (within 5 points)": all(
            abs(each["consumption-rate"] - each["output-rate"]) <= 0.05 for each in time.values()
        ),
        "80 % of the results come within 30 % of the time": max(eighty) <= 0.3,
        "initial output size takes about half of the time at 1M": best.high <= 0.6,
    }
    return Judged(
        all(parts.values()),
        model="by work, half of it done: "
        + "; ".join(f"{p} " + _listed(each) for p, each in counted.items()),
        measured=(
            "by time: "
            + "; ".join(f"{p} " + _listed(each) for p, each in timed.items())
            + f"; 80 % after {min(eighty):.2f} to {max(eighty):.2f}; at 1M initial output size "
            f"takes {best}"
        ),
        why=f"{sentence(parts)} {_begins(numbers, 'V')}",
    )


def _begins(numbers: AllNumbers, data_set: DataSet) -> str:
    """What each stream brings, and how often initial output size begins with the poorest."""
    found = numbers["policies"]["begins_with_third"]
    shares = " and ".join(f"{found[data_set, period]:.0%}" for period in PERIODS)
    drivers: list[Driven] = numbers["policies"]["by_driver"][data_set, "1M"]
    first = [sum(each[i] for each in drivers[:2]) for i in (0, 1)]
    return (
        f"At 1M S1 and S2 bring {first[0]:.0%} of the results in {first[1]:.0%} of the time, S3 "
        f"the rest. Initial output size begins with S3, whose tuples bring least, in {shares} of "
        "the batches (0.1M and 1M): whenever S3's buffer is the largest in proportion to its table."
    )


def _listed(values: Mapping[Order, float]) -> str:
    return ", ".join(f"{NAMES[order]} {value:.2f}" for order, value in values.items())


def _dataset_6(numbers: AllNumbers) -> Judged:
    found = {period: of(numbers, "VI", period) for period in PERIODS}
    time = {p: {o: e.time["all"].mean for o, e in each.items()} for p, each in found.items()}
    first = [
        each["consumption-rate"].time["first"].mean - each["initial-output-size"].time["first"].mean
        for each in found.values()
    ]
    half = {p: {o: e.half.mean for o, e in each.items()} for p, each in found.items()}
    parts = {
        "initial output size is the fastest": all(
            min(each.values()) >= each["initial-output-size"] - 0.01 for each in time.values()
        ),
        "consumption rate is as fast in the first half (within 5 points)": max(map(abs, first))
        <= 0.05,
        "results of consumption rate come later than its": all(
            each["consumption-rate"] < each["initial-output-size"] for each in half.values()
        ),
        "all three proposals are faster than timestamp order": all(
            each[o] < 1 for each in time.values() for o in PROPOSED
        ),
        "all three give results earlier than it": all(
            each[o] > each[TIMESTAMP] for each in half.values() for o in PROPOSED
        ),
    }
    return Judged(
        all(parts.values()),
        model="half of the work: "
        + "; ".join(
            f"{p} " + _listed({o: e.half_counted.mean for o, e in each.items()})
            for p, each in found.items()
        ),
        measured="times: "
        + "; ".join(f"{p} {_listed(each)}" for p, each in time.items())
        + ". Results by half of the time: "
        + "; ".join(f"{p} {_listed(each)}" for p, each in half.items()),
        why=f"{sentence(parts)} {_begins(numbers, 'VI')}",
    )


BURST_JUDGES: Final[dict[str, Judge]] = {
    "VAL-C4": _dataset_4,
    "VAL-C5": _dataset_5,
    "VAL-C6": _dataset_6,
}
