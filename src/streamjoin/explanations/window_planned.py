"""What limits of CPU and memory come to for two streams, at given rates."""

from dataclasses import dataclass, replace

from streamjoin.explanations.asked import Pair
from streamjoin.explanations.window_situation import Situation
from streamjoin.explanations.wording import BATCH_SECONDS, write
from streamjoin.joins.window.parts import SOME_ITEMS
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.metrics.words import size as format_bytes
from streamjoin.planning.two.split import Allocation, Demand, Limits, held, output, plan
from streamjoin.shedding.comparisons import MOST_RECEIVING, SelectiveState
from streamjoin.shedding.limits import Shedding
from streamjoin.shedding.rows import FIRST_COST_US


@dataclass(frozen=True)
class Need:
    """CPU time for each second of the streams, in seconds, by first guesses of the costs."""

    receiving: float  # to receive and to store rows
    comparing: float  # to look for results and to hand them out, if all are wanted
    given: float  # by the budget
    assumed: str  # by the guess for comparing

    @property
    def fraction(self) -> float:
        """Part of the comparisons that there is time for."""
        room = max(self.given - self.receiving, (1 - MOST_RECEIVING) * self.given)
        return min(1.0, room / self.comparing) if self.comparing else 1.0

    @property
    def text(self) -> str:
        """In words."""
        costs = SelectiveState()
        by = (
            f"{costs.receiving.each:g} us a row, {costs.comparing.each:g} us a comparison and "
            f"{costs.emitting.each:g} us a result (first guesses; they are measured), and with "
            f"{self.assumed},"
        )
        whole = self.receiving + self.comparing
        needed = (
            f"by {by} a second of the streams needs {whole:.2g} s of CPU, {self.receiving:.2g} s "
            f"of it to receive rows, and there is {self.given:.2g} s"
        )
        if self.fraction >= 1:
            return f"{needed}: everything is compared"
        return f"{needed}: {100 * self.fraction:.2g} % of the comparisons are made"


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
    cpu_us = _cpu_us(shedding, at.plan.routing.n_shards)
    service = _service(shedding, cpu_us, sum(at.copies) / 2)
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
    share = recall * _share(at, allocation, demand)
    held_all = allocation.memory is None or (
        held(allocation, demand) == held(Allocation(at.rates), demand)
    )
    planned = Planned(
        service=service,
        need=need,
        fraction=fraction,
        rates=allocation.rates,
        memory=allocation.memory,
        share=share,
        fits=allocation.rates == at.rates and fraction == 1 and held_all,
    )
    return replace(planned, text=_in_words(at, shedding, planned))


def _cpu_us(shedding: Shedding, n_shards: int) -> float | None:
    """CPU time of all shards for each second of the streams."""
    cpu_us = shedding.cpu_us_per_second
    if shedding.cpu_us_per_batch is not None:
        cpu_us = shedding.cpu_us_per_batch / BATCH_SECONDS
    return None if cpu_us is None else cpu_us * n_shards


def _service(shedding: Shedding, cpu_us: float | None, sent: float) -> float | None:
    """Rows per second that all shards together can take, each of them sent to so many."""
    if cpu_us is None:
        return shedding.rate
    if shedding.policy is None:
        return cpu_us / FIRST_COST_US
    return None if shedding.lag else SelectiveState().receivable(cpu_us) / sent


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
    comparisons = rates[0] * rates[1] * sum(windows)
    results = sum(rates) if at.matches is None else at.matches.share * comparisons
    looked_at, assumed = _looked_at(join, results, comparisons)
    each = "one result for each row" if at.matches is None else f"{results:,.3g} results/s"
    costs = SelectiveState()
    comparing = costs.comparing.each * (met + looked_at) + costs.emitting.each * results
    return Need(
        receiving=costs.receiving.each * arriving / 1e6,
        comparing=comparing / 1e6,
        given=budget_us / 1e6,
        assumed=f"{each}{assumed}",
    )


def _looked_at(join: WindowJoin, results: float, comparisons: float) -> tuple[float, str]:
    """Pairs that an index hands over, for each second of the streams, and what that assumes."""
    if join.sets is not None:
        with_others = f"items in common with {100 * SOME_ITEMS:g} % of the others"
        return SOME_ITEMS * comparisons, f" and {with_others}"
    if join.left.key or join.band is not None:
        return results, ""
    return comparisons, " and all pairs looked at"


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
    share = f"about {100 * planned.share:.3g} % of the results"
    if need is None or need.fraction >= 1:
        return f"{where}: {', '.join(parts)}; {share}"
    # What is known of where the results are matters, as some comparisons are not made.
    known = ", or more where they are not spread evenly over the windows"
    if at.matches is not None and at.matches.basis == "sample":
        known = ", as a sample shows where in the windows they are"
        if at.matches.ages is None:
            known = ", which a sample shows evenly over the windows"
    return f"{where}: {', '.join(parts)}; {share}{known}"
