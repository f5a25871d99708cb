"""What a budget means for a join: what gives way, how it is divided, what to expect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamjoin.budget import Budget
from streamjoin.joins.routing import copies
from streamjoin.planning.two.split import Allocation, Demand, Limits, held, output, plan
from streamjoin.shedding.limits import Shedding
from streamjoin.shedding.rows import FIRST_COST_US
from streamjoin.spark import explain_selective
from streamjoin.spark.explain_matches import Matches
from streamjoin.spark.explain_selective import Need, Selective
from streamjoin.spark.explain_state import SideEstimate, format_bytes
from streamjoin.spark.plans import JoinPlan

BATCH_SECONDS: Final = 1.0
"""How much of the streams a batch is taken to bring, where that matters."""

_DROPPED: Final = (
    "rows beyond that are dropped as they come (dropped_left, dropped_right): they neither probe "
    "nor are remembered"
)
_CUT: Final = (
    "rows for which there is no room are forgotten before their window ends, the oldest first "
    "(cut_left, cut_right)"
)
_PART: Final = (
    "what comes out is a part of the exact result; how many pairs are missing is estimated (missed)"
)
_EVENT_TIME: Final = (
    "a second is one of the streams' own time: a backlog is regulated as the live streams were"
)
_CLUSTERED: Final = ", or more where they are not spread evenly over the windows"
_EVEN: Final = ", which a sample shows evenly over the windows"
_UNEVEN: Final = ", as a sample shows where in the windows they are"
_RATE_WORDS: Final = {
    "equal": "the same rate of both streams: results grow with the product of the two rates",
    "rate": "in proportion to the rates",
    "inverse-rate": "in inverse proportion to the rates",
    "window": "in proportion to the windows",
    "inverse-window": "in inverse proportion to the windows",
}
_MEMORY_WORDS: Final = {
    "slower": "memory for the slower stream's window first: each of its rows meets more arrivals",
    "faster": "memory for the faster stream's window first",
    "rate": "memory in proportion to the rates",
    "inverse-rate": "memory in inverse proportion to the rates",
    "equal": "the same memory for both windows",
}
_BEST_OF_BOTH: Final = (
    "the division with the most results; as a rule memory for one window and CPU for the other "
    "stream"
)


@dataclass(frozen=True)
class Planned:
    """What a budget comes to at given rates.

    Parameters
    ----------
    service
        Rows per second that can be taken in, of both streams; None where CPU is not limited.
    need
        CPU time that comparisons and the rest take, where comparisons are chosen; else None.
    fraction
        Part of the comparisons that there is time for; 1 where all are made.
    rates
        Rows per second that are let in, of left and right.
    memory
        Bytes, or rows, for the two windows; None where memory is not limited.
    share
        Expected part of the exact result.
    fits
        Whether nothing has to give way.
    text
        In words.
    """

    service: float | None
    need: Need | None
    fraction: float
    rates: tuple[float, float]
    memory: tuple[float, float] | None
    share: float
    fits: bool
    text: str


@dataclass(frozen=True)
class BudgetExplanation:
    """A join's budget.

    Parameters
    ----------
    limits
        The limits.
    meaning
        What gives way and what that means, as sentences.
    selective
        How comparisons are chosen; None if they are not, and rows are dropped instead.
    split
        How the limits are divided between the streams; None if nothing is to be divided.
    planned
        What that comes to; None if no rates were given.
    """

    limits: str
    meaning: tuple[str, ...]
    selective: Selective | None
    split: str | None
    planned: Planned | None

    def lines(self) -> Sequence[str]:
        """The text, line by line."""
        chosen = () if self.selective is None else self.selective.text
        last = [self.split, None if self.planned is None else self.planned.text]
        return [self.limits, *self.meaning, *chosen, *(text for text in last if text is not None)]


def budget(
    plan: JoinPlan,
    sides: Sequence[SideEstimate],
    rates: tuple[float, float] | None,
    matches: Matches | None = None,
) -> BudgetExplanation | None:
    """Explain the budget of a join; None if it is exact."""
    given, shedding = plan.budget, plan.resolved.join.shedding
    if given is None or shedding is None:
        return None
    regulated, cut = given.cpu is not None or given.rate is not None, given.memory is not None
    chosen = explain_selective.selective(plan.resolved.join, shedding)
    meaning = [_DROPPED] if regulated else []
    if chosen is not None:
        meaning, regulated = explain_selective.meaning(chosen, shedding.has_gate), False
    meaning += [_CUT, _PART] if cut else [_PART]
    in_seconds = given.cpu_share is not None or given.rate is not None
    return BudgetExplanation(
        limits=_limits(given),
        meaning=(*meaning, *([_EVENT_TIME] if in_seconds else [])),
        selective=chosen,
        split=_split(shedding.split, regulated, cut) if regulated or cut else None,
        planned=None if rates is None else plan_for(plan, shedding, sides, rates, matches),
    )


def _limits(given: Budget) -> str:
    said = f"at most {given.describe()}"
    if given.cpu_share is not None:
        return f"{said}; for each second of the streams {given.cpu_share:.3g} s of each core"
    return said


def _split(split: str, regulated: bool, cut: bool) -> str:
    """How what there is gets divided, and why."""
    if regulated and cut:
        words = {"best": _BEST_OF_BOTH, "equal": "the same rate and the same memory for both"}
        if split not in words:
            window, stream = split.split("/")
            words[split] = f"memory for the {window} window, CPU for the {stream} stream"
        said = words[split]
    else:
        table, best = (_RATE_WORDS, "equal") if regulated else (_MEMORY_WORDS, "slower")
        said = table[best if split == "best" else split]
    return f"split {split}: {said}; what one side cannot use goes to the other"


def plan_for(
    plan_: JoinPlan,
    shedding: Shedding,
    sides: Sequence[SideEstimate],
    rates: tuple[float, float],
    matches: Matches | None = None,
) -> Planned:
    """What some limits come to, whether they are the join's own or not."""
    rows = shedding.memory_unit == "rows"
    cpu_us = _cpu_us(shedding, plan_.routing.n_shards)
    service = _service(shedding, cpu_us, sum(copies(plan_.routing)) / 2)
    kept = [side.kept_us / 1e6 for side in sides]
    sizes = [1.0 if rows else side.bytes_per_row for side in sides]
    demand = Demand(rates, (kept[0], kept[1]), (sizes[0], sizes[1]))
    allocation = plan(shedding.split, demand, Limits(service, shedding.memory))
    need = None
    if shedding.policy is not None and cpu_us is not None:
        need = explain_selective.need(plan_, allocation.rates, cpu_us, matches)
    fraction = found = 1.0 if need is None else need.fraction
    if matches is not None and shedding.policy is not None:
        left_us, right_us = plan_.resolved.join.windows_us
        found = matches.recall(shedding.policy, (left_us / 1e6, right_us / 1e6), fraction)
    share = found * _share(plan_, allocation, demand, matches)
    held_all = allocation.memory is None or (
        held(allocation, demand) == held(Allocation(rates), demand)
    )
    fits = allocation.rates == rates and fraction == 1 and held_all
    return Planned(
        service=service,
        need=need,
        fraction=fraction,
        rates=allocation.rates,
        memory=allocation.memory,
        share=share,
        fits=fits,
        text=_in_words(shedding, rates, service, allocation, share, fits, need)
        + _spread(matches, need),
    )


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
    return None if shedding.lag else explain_selective.receivable(cpu_us) / sent


def _share(
    plan_: JoinPlan, allocation: Allocation, demand: Demand, matches: Matches | None
) -> float:
    """The part of the exact result that is to be expected (Eqs. 9, 10, 13 and 14).

    Memory also has to hold what lateness and whole slices add to a window, and all copies of a row.
    Where all rows are let in, and it is known at which ages they match, that decides.
    """
    join, sent = plan_.resolved.join, copies(plan_.routing)
    exact = Demand(
        demand.rates,
        (join.left.window_us / 1e6, join.right.window_us / 1e6),
        (demand.sizes[0] * sent[0], demand.sizes[1] * sent[1]),
    )
    whole = Allocation(demand.rates)
    known = matches is not None and matches.ages is not None
    if matches is not None and known and allocation.rates == demand.rates:
        left, right = (
            min(1.0, kept / need) if need else 1.0
            for kept, need in zip(held(allocation, exact), held(whole, exact), strict=True)
        )
        return matches.remembered((left, right))
    return output(allocation, exact) / output(whole, exact)


def _in_words(
    shedding: Shedding,
    rates: tuple[float, float],
    service: float | None,
    allocation: Allocation,
    share: float,
    fits: bool,
    need: Need | None,
) -> str:
    at = f"at {rates[0]:,.6g} and {rates[1]:,.6g} rows/s"
    if shedding.cpu_us_per_batch is not None:
        at += f", {BATCH_SECONDS:g} s a batch"
    if need is None and service is not None and shedding.rate is None:
        at += f" and {FIRST_COST_US:g} us of CPU a row (a first guess; it is measured)"
    said = [] if need is None else [explain_selective.in_words(need)]
    if fits:
        return f"{at}: {', '.join([*said, 'the streams fit, nothing is left out'])}"
    left, right = allocation.rates
    if service is not None and allocation.rates != rates:
        said.append(f"{_n(left)} left and {_n(right)} right rows/s are let in")
    if allocation.memory is not None:
        held_left, held_right = (_amount(n, shedding.memory_unit) for n in allocation.memory)
        said.append(f"{held_left} left and {held_right} right are remembered")
    return f"{at}: {', '.join(said)}; about {100 * share:.3g} % of the results"


def _spread(matches: Matches | None, need: Need | None) -> str:
    """What is known of where the results are, if that matters."""
    if need is None or need.fraction >= 1:
        return ""
    if matches is None or matches.basis != "sample":
        return _CLUSTERED
    return _EVEN if matches.ages is None else _UNEVEN


def _amount(n: float, unit: str) -> str:
    return f"{_n(n)} rows" if unit == "rows" else format_bytes(n)


def _n(n: float) -> str:
    """Write a number of rows.

    Examples
    --------
    >>> _n(50000.0), _n(2.5)
    ('50,000', '2.5')
    """
    return f"{n:,.0f}" if n >= 100 else f"{n:.3g}"
