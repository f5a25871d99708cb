"""Verdicts on running times: Table 4, its summaries, causes, and the time to the last result."""

from typing import Final

from papers.base import AllNumbers, Judge, Judged
from papers.valsomatzis.engine_runs import Engine
from papers.valsomatzis.locality_runs import Sized
from papers.valsomatzis.parts import cases, mean, of, sentence
from papers.valsomatzis.printed import (
    PERIODS,
    PROPOSED,
    TIMES,
    TIMESTAMP,
    average,
)
from papers.valsomatzis.workload import NAMES
from streamjoin.planning.many.nary import Order

_ON_ALL: Final[tuple[Order, ...]] = ("round-robin", "initial-output-size", "output-rate")
_NEAR: Final = 0.1
_MANY: Final = 10
_HALF_OR_SO: Final = 0.55


def _table_4(numbers: AllNumbers) -> Judged:
    averages, models, off, faster = [], [], [], True
    for order, printed in TIMES.items():
        found = cases(numbers, order)
        for period in PERIODS:
            column = [each for (_, p), each in found.items() if p == period]
            ours = mean(each.time["all"].mean for each in column)
            averages.append(f"{NAMES[order]} {period} {ours:.3f} ({average(printed, period):.3f})")
            models.append(f"{mean(each.time_model for each in column):.3f}")
            if abs(ours - average(printed, period)) > _NEAR:
                off.append(f"{NAMES[order]} {period}")
        if order in PROPOSED:
            faster &= mean(each.time["all"].high for each in found.values()) < 1
    per_change = numbers["policies"]["per_change"]
    clear = [
        each.time["all"].high < 1 for order in PROPOSED for each in cases(numbers, order).values()
    ]
    parts = {
        "averages are within 0.1 of the printed ones": not off,
        "the proposals are faster on average": faster,
    }
    return Judged(
        all(parts.values()),
        model=f"averages, a change costing {per_change:.2f} probes: {', '.join(models)}",
        measured="averages (paper's): " + ", ".join(averages),
        why=(
            f"{sum(clear)} of {len(clear)} cells of the proposals are below 1 with their whole "
            f"interval. {sentence(parts)} More than {_NEAR:g} off: {', '.join(off) or 'none'}."
        ),
    )


def _bursty_round_robin(numbers: AllNumbers) -> Judged:
    found = {name: of(numbers, name, "1M")["round-robin"] for name in ("IV", "V", "VI")}
    times = {name: each.time["all"] for name, each in found.items()}
    return Judged(
        any(time.high < 1 for time in times.values())
        and not any(time.low > 1 for time in times.values()),
        model=", ".join(f"{name} {each.time_model:.3f}" for name, each in found.items()),
        measured=", ".join(f"{name} {time}" for name, time in times.items()),
        why="By counts round-robin saves nothing; the seconds differ, in what it costs to choose.",
    )


def _no_winner(numbers: AllNumbers) -> Judged:
    share, size, rate = (TIMES[order] for order in PROPOSED)
    beaten = (
        share["V", "0.1M"] < size["V", "0.1M"]
        and rate["I", "1M"] < size["I", "1M"]
        and rate["IV", "1M"] < size["IV", "1M"]
        and rate["II", "0.1M"] < size["II", "0.1M"]
    )
    best = all(
        average(size, period) == min(average(TIMES[order], period) for order in _ON_ALL)
        for period in PERIODS
    )
    firsts = {
        case: min(TIMES, key=lambda o: found[o].time["all"].mean if o in found else 9)
        for case, found in numbers["policies"]["compared"].items()
    }
    ours = {NAMES[order]: list(firsts.values()).count(order) for order in TIMES}
    return Judged(
        beaten and best,
        model="printed: initial output size is beaten in 4 cells, and best on average of those "
        "measured on all data",
        measured="fastest here, cases of 12: "
        + ", ".join(f"{k} {n}" for k, n in ours.items() if n),
        why="Arithmetic on the printed table; what was measured does not decide.",
    )


def _causes(numbers: AllNumbers) -> Judged:
    found = {
        (order, case): each for order in PROPOSED for case, each in cases(numbers, order).items()
    }
    probes = [each.probes.mean for each in found.values()]
    base = cases(numbers, TIMESTAMP)
    fewest = min(base[case].changes / each.changes for (_, case), each in found.items())
    parts = {
        "timestamp order changes the driver more often": fewest >= _MANY,
        "it makes more probes in every case": max(probes) < 1,
    }
    sized: list[Sized] = numbers["locality"]["sized"]
    sizes = ", ".join(f"{s.drained.mean:.2f} with {s.megabytes:.1f} MB" for s in sized)
    return Judged(
        all(parts.values()),
        model=(
            "an order decides only who of one batch finds whom, so probes stay within 2 %; a "
            f"change of the driver costs {numbers['policies']['per_change']:.2f} probes by Table 4 "
            f"(I, 1M), {numbers['policies']['per_change_here']:.2f} by our seconds"
        ),
        measured=(
            f"probes {min(probes):.4f} to {max(probes):.4f} of timestamp order's; changes of the "
            f"driver at least {fewest:.0f} times fewer"
        ),
        why=(
            f"{sentence(parts)} The time of draining over timestamp order's, by the size of all "
            f"tables, is {sizes}. With the smallest round-robin gains as much: that is the choice "
            "by time; what draining gains beyond it with larger ones is likely the cache."
        ),
    )


def _headline(numbers: AllNumbers) -> Judged:
    found = {
        (NAMES[order], *case): each
        for order in PROPOSED
        for case, each in cases(numbers, order, ("IV", "V", "VI")).items()
    }
    name, least_time = min(found.items(), key=lambda item: item[1].time["all"].mean)
    best, predicted = least_time.time["all"], min(each.time_model for each in found.values())
    costs = numbers["policies"]
    live: list[Engine] = numbers["engine"]["found"]
    least = min((e for e in live if e.data_set == "V"), key=lambda each: each.time.mean)
    return Judged(
        best.mean <= _HALF_OR_SO,
        model=f"at best {predicted:.3f}",
        measured=f"at best {best}: {name[0]}, data set {name[1]}, {name[2]}",
        why=(
            f"{1 - best.mean:.0%} less time at best. For half of the time on V at 1M a change of "
            f"the driver would have to cost {costs['per_change_needed']:.0f} probes, not "
            f"{costs['per_change']:.1f} as on I. In the live join, which processes many tuples at "
            f"once and for which a turn is dear, {NAMES[least.order]} takes {least.time} of "
            "timestamp order's time on V at 1M."
        ),
    )


def _elapsed(numbers: AllNumbers) -> Judged:
    fast, slow = numbers["elapsed"]["beyond"].values()
    return Judged(
        max(fast.values()) <= 0 < min(slow.values()),
        model="the last batch begins at most a period after the last arrival",
        measured=(
            f"30 times faster than arrival: never later than a period and a batch's work, with "
            f"{-max(fast.values()):,.0f} units to spare; at 0.8 of the speed of arrival up to "
            f"{max(slow.values()):,.0f} units later than that"
        ),
        why="In virtual time, all data sets and both periods; who is too slow falls behind.",
    )


TIME_JUDGES: Final[dict[str, Judge]] = {
    "VAL-C1": _table_4,
    "VAL-C7": _bursty_round_robin,
    "VAL-C8": _no_winner,
    "VAL-C9": _causes,
    "VAL-C11": _headline,
    "VAL-C12": _elapsed,
}
