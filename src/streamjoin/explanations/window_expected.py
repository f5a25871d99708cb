"""What two streams bring, and what limits of CPU and memory come to for them, at given rates."""

from dataclasses import dataclass, replace
from math import exp
from typing import Final

from streamjoin.explanations.asked import Asked, Pair
from streamjoin.explanations.explainer import (
    BASES,
    BUDGET_PARTS,
    Expected,
    Meaning,
    Meanings,
    expect,
)
from streamjoin.explanations.window_situation import Matches, Situation
from streamjoin.explanations.wording import (
    BATCH_SECONDS,
    about,
    cpu_us_per_second,
    percent,
    window_tuples,
    write,
)
from streamjoin.joins.window.parts import SOME_ITEMS
from streamjoin.metrics.words import size as format_bytes
from streamjoin.planning.two.split import Allocation, Demand, Limits, held, output, plan
from streamjoin.shedding.comparisons import MOST_RECEIVING, SelectiveState
from streamjoin.shedding.limits import Shedding
from streamjoin.shedding.rows import FIRST_COST_US

_COSTS: Final = SelectiveState()
"""First guesses; while a join runs they are measured."""


@dataclass(frozen=True)
class Need:
    """CPU time for each second of the streams, in seconds, by first guesses of the costs."""

    receiving: float  # to receive and to store rows
    comparing: float  # to look for results and to hand them out, if all are wanted
    given: float  # by the budget
    assumed: str  # by the guess for comparing

    @property
    def whole(self) -> float:
        """For everything."""
        return self.receiving + self.comparing

    @property
    def fraction(self) -> float:
        """Part of the comparisons that there is time for."""
        room = max(self.given - self.receiving, (1 - MOST_RECEIVING) * self.given)
        return min(1.0, room / self.comparing) if self.comparing else 1.0

    @property
    def text(self) -> str:
        """In words."""
        compared = f"{100 * self.fraction:.2g} % of the comparisons are made"
        return (
            f"by {_COSTS.receiving.each:g} us a row, {_COSTS.comparing.each:g} us a comparison and "
            f"{_COSTS.emitting.each:g} us a result (first guesses; they are measured), and with "
            f"{self.assumed}, a second of the streams needs {self.whole:.2g} s of CPU, "
            f"{self.receiving:.2g} s of it to receive rows, and there is {self.given:.2g} s: "
            f"{'everything is compared' if self.fraction >= 1 else compared}"
        )


@dataclass(frozen=True)
class Planned:
    """What a budget comes to at given rates."""

    service: float | None  # rows/s that can be taken in; None where CPU is not limited
    need: Need | None  # where comparisons are chosen
    fraction: float  # part of the comparisons that there is time for
    rates: Pair  # rows/s that are let in
    memory: Pair | None  # bytes, or rows, for the windows; None where memory is not limited
    share: float  # expected part of the exact result
    fits: bool  # whether nothing has to give way
    text: str = ""


def plan_for(at: Situation, shedding: Shedding) -> Planned:
    """What some limits come to, whether they are the join's own or not."""
    cpu_us = cpu_us_per_second(shedding, at.plan.routing.n_shards)
    # Rows per second that all shards together can take, each of them sent to some of them.
    service = shedding.rate
    if cpu_us is not None and shedding.policy is None:
        service = cpu_us / FIRST_COST_US
    elif cpu_us is not None:
        service = None if shedding.lag else _COSTS.receivable(cpu_us) / (sum(at.copies) / 2)
    left, right = at.sides
    sizes = left.bytes_per_row, right.bytes_per_row
    if shedding.memory_unit == "rows":
        sizes = 1.0, 1.0
    demand = Demand(at.rates, (left.kept_us / 1e6, right.kept_us / 1e6), sizes)
    allocation = plan(shedding.split, demand, Limits(service, shedding.memory))
    need = None
    if shedding.policy is not None and cpu_us is not None:
        need = need_for(at, allocation.rates, cpu_us)
    fraction = recall = 1.0 if need is None else need.fraction
    if at.matches is not None and shedding.policy is not None:
        left_us, right_us = at.join.windows_us
        recall = at.matches.recall(shedding.policy, (left_us / 1e6, right_us / 1e6), fraction)
    held_all = allocation.memory is None or (
        held(allocation, demand) == held(Allocation(at.rates), demand)
    )
    planned = Planned(
        service=service,
        need=need,
        fraction=fraction,
        rates=allocation.rates,
        memory=allocation.memory,
        share=recall * _share(at, allocation, demand),
        fits=allocation.rates == at.rates and fraction == 1 and held_all,
    )
    return replace(planned, text=_in_words(at, shedding, planned))


def _share(at: Situation, allocation: Allocation, demand: Demand) -> float:
    """The part of the exact result that is to be expected (Eqs. 9, 10, 13 and 14).

    Memory also has to hold what lateness and whole slices add to a window, and all copies of a row.
    Where all rows are let in, and it is known at which ages they match, that decides.
    """
    exact = Demand(
        demand.rates,
        (at.join.left.window_us / 1e6, at.join.right.window_us / 1e6),
        (demand.sizes[0] * at.copies[0], demand.sizes[1] * at.copies[1]),
    )
    whole, matches = Allocation(demand.rates), at.matches
    if matches is None or matches.ages is None or allocation.rates != demand.rates:
        return output(allocation, exact) / output(whole, exact)
    left, right = (
        min(1.0, kept / need) if need else 1.0
        for kept, need in zip(held(allocation, exact), held(whole, exact), strict=True)
    )
    return matches.remembered((left, right))


def need_for(at: Situation, rates: Pair, budget_us: float = 0.0) -> Need:
    """What all comparisons take, where a batch brings a second; by default a row finds another."""
    join, sent = at.join, at.copies
    windows = [stream.window_us / 1e6 for stream in join.streams]
    arriving = sum(rate * n for rate, n in zip(rates, sent, strict=True))
    met = sum(rate * n * w for rate, n, w in zip(rates, sent, windows, strict=True))
    pairs = rates[0] * rates[1] * sum(windows)
    results = sum(rates) if at.matches is None else at.matches.share * pairs
    each = "one result for each row" if at.matches is None else f"{results:,.3g} results/s"
    # Pairs that an index hands over, and what that assumes.
    looked_at, assumed = pairs, " and all pairs looked at"
    if join.sets is not None:
        looked_at = SOME_ITEMS * pairs
        assumed = f" and items in common with {100 * SOME_ITEMS:g} % of the others"
    elif join.left.key or join.band is not None:
        looked_at, assumed = results, ""
    comparing = _COSTS.comparing.each * (met + looked_at) + _COSTS.emitting.each * results
    receiving = _COSTS.receiving.each * arriving
    return Need(receiving / 1e6, comparing / 1e6, budget_us / 1e6, f"{each}{assumed}")


def _in_words(at: Situation, shedding: Shedding, planned: Planned) -> str:
    where, need = f"at {at.rates[0]:,.6g} and {at.rates[1]:,.6g} rows/s", planned.need
    if shedding.cpu_us_per_batch is not None:
        where += f", {BATCH_SECONDS:g} s a batch"
    if need is None and planned.service is not None and shedding.rate is None:
        where += f" and {FIRST_COST_US:g} us of CPU a row (a first guess; it is measured)"
    parts = [] if need is None else [need.text]
    if planned.fits:
        return f"{where}: {', '.join([*parts, 'the streams fit, nothing is left out'])}"
    if planned.service is not None and planned.rates != at.rates:
        left, right = map(write, planned.rates)
        parts.append(f"{left} left and {right} right rows/s are let in")
    if planned.memory is not None:
        in_rows = shedding.memory_unit == "rows"
        left, right = (f"{write(n)} rows" if in_rows else format_bytes(n) for n in planned.memory)
        parts.append(f"{left} left and {right} right are remembered")
    known = ""
    if need is not None and need.fraction < 1:
        # What is known of where the results are matters, as some comparisons are not made.
        known = ", or more where they are not spread evenly over the windows"
        if at.is_sampled:
            known = ", which a sample shows evenly over the windows"
            if at.has_ages:
                known = ", as a sample shows where in the windows they are"
    return f"{where}: {', '.join(parts)}; about {100 * planned.share:.3g} % of the results{known}"


def pairs_per_second(at: Situation) -> float:
    """Pairs that are within the windows."""
    left, right = map(window_tuples, at.join.streams, at.rates)
    return at.rates[1] * left + at.rates[0] * right


def expect_rows(at: Situation, asked: Asked, matches: Matches) -> Expected:
    """What a join of two streams brings, and what it takes."""
    pairs, need = pairs_per_second(at), need_for(at, at.rates)
    rows, how = _rows(at, matches, matches.share * pairs)
    rest = "; Spark then checks the rest" if at.plan.resolved.rest else ""
    text = (
        f"{about(rows)} rows/s{how}: of {about(pairs)} pairs/s within the windows "
        f"{percent(matches.share)} match ({BASES[matches.basis]}){rest}"
    )
    cpu, what = (need.receiving, need.comparing), "to find and hand out results"
    return expect(asked, rows, text, matches.basis, cpu, what, matches.share)


def _rows(at: Situation, matches: Matches, pairs: float) -> tuple[float, str]:
    """Rows that come out, and what is taken for granted for that."""
    (left, right), how, partnered = at.rates, at.join.how, matches.partnered
    if how == "inner":
        return pairs, ""
    if how == "asof":
        return left, ", one for each left row"
    alone_left = left * (exp(-pairs / left) if partnered is None else 1 - partnered)
    alone_right = right * exp(-pairs / right)
    guess = ", if matches are spread evenly over the rows"
    if partnered is not None and how not in ("right", "full"):
        guess = ""
    if how in ("semi", "anti"):
        return alone_left if how == "anti" else left - alone_left, guess
    alone = (alone_left if how != "right" else 0.0) + (alone_right if how != "left" else 0.0)
    return pairs + alone, f", {about(alone)} of them without a partner{guess}"


def burst_words(at: Situation, asked: Asked) -> str | None:
    """What becomes of a time in which all streams bring some times as many rows."""
    times, shedding = asked.sources.burst, at.join.shedding
    if not at.rates_given or at.matches is None or times <= 1:
        return None
    high = replace(at, rates=(at.rates[0] * times, at.rates[1] * times))
    cpu_s = need_for(high, high.rates).whole
    takes = f"In the burst, at {times:g} times the rates, it takes about {cpu_s:.2g} s of CPU a"
    if shedding is None:
        return f"{takes} second, {percent(cpu_s / asked.cores)} of the cores."
    planned = plan_for(high, shedding)
    left = "nothing is left out" if planned.fits else f"about {percent(planned.share)} remain"
    return f"{takes} second for everything: {left} within the budget."


def meanings_of(at: Situation, expected: Expected) -> Meanings:
    """What budgets would mean: how much would give way, and which part of the results remains."""
    if at.join.how != "inner" or at.join.is_ordered:
        return Meanings((), "a budget is for inner joins over windows of time: this one is exact")
    assumed = (
        "assumed: results lie evenly in the windows; where they do not, more of them are found"
    )
    if at.is_sampled:
        where = (
            "where in the windows results are" if at.has_ages else "results evenly in the windows"
        )
        assumed = f"a sample of the streams shows {where}"
    note = f"of CPU by the model of Gedik et al., of memory by that of Kang et al.; {assumed}"
    rows, whole = [], sum(side.bytes for side in at.sides)
    for part in BUDGET_PARTS:
        us = part * expected.cpu_s * 1e6 / at.plan.routing.n_shards
        planned = plan_for(at, Shedding(cpu_us_per_second=us, policy="best", copies=at.copies))
        budget, gone = f"cpu={part * expected.share:.2g}", _left_out(at, planned)
        rows.append(Meaning("cpu", part, budget, gone, planned.share))
    for part in BUDGET_PARTS if whole else ():
        planned = plan_for(at, Shedding(memory=part * whole, copies=at.copies))
        budget, gone = f'memory="{format_bytes(part * whole)}"', _forgotten(at, planned)
        rows.append(Meaning("memory", part, budget, gone, planned.share))
    # All that is needed leaves nothing out, whatever rounding makes of it.
    rows = [replace(x, gives_way="nothing", recall=1.0) if x.part == 1 else x for x in rows]
    return Meanings(rows, note)


def _left_out(at: Situation, planned: Planned) -> str:
    parts = []
    dropped = 1 - sum(planned.rates) / sum(at.rates)
    if dropped > 0.005:
        parts.append(f"{100 * dropped:.0f} % of the rows")
    if planned.fraction < 1:
        parts.append(f"{100 * (1 - planned.fraction):.0f} % of the comparisons")
    return ", ".join(parts) or "nothing"


def _forgotten(at: Situation, planned: Planned) -> str:
    if planned.memory is None or planned.fits:
        return "nothing"
    cut = []
    for kept, side in zip(planned.memory, at.sides, strict=True):
        gone = 1 - kept / side.bytes if side.bytes else 0.0
        if gone > 0.005:
            part = "all" if gone > 0.995 else f"the oldest {100 * gone:.0f} %"
            cut.append(f"{part} of {side.side}")
    return ", ".join(cut)
