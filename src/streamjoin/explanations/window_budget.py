"""What a budget means for two streams: what gives way, how it is divided, what remains."""

from dataclasses import asdict, dataclass
from typing import Any, Final

from streamjoin._typing import SIDES
from streamjoin.core.cells import CELLS, Axis
from streamjoin.durations import format_duration
from streamjoin.explanations.asked import Pair
from streamjoin.explanations.window_state import Situation
from streamjoin.explanations.window_words import NAMES
from streamjoin.explanations.wording import BATCH_SECONDS, format_bytes, write
from streamjoin.joins.selective import LOOKING_BYTES, LOOKING_ROWS, SOME_ITEMS
from streamjoin.joins.window_join import WindowJoin
from streamjoin.planning.two.split import Allocation, Demand, Limits, held, output, plan
from streamjoin.shedding.regulation import FIRST_COST_US, Shedding
from streamjoin.shedding.selective import GAMMA, GAMMA_EXACT, MOST_RECEIVING, SelectiveState

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
_SKIPPED: Final = (
    "first comparisons give way: every row is received and remembered, and the parts of the "
    "windows that yield least for their CPU time are not probed (skipped_left, skipped_right)"
)
_RECEIVING: Final = f"if to receive rows alone takes more than {100 * MOST_RECEIVING:g} % of it"
_THEN: Final = {
    "drop": f"{_RECEIVING}, rows are dropped as they come (dropped_left, dropped_right)",
    "lag": f"{_RECEIVING}, batches take longer and nothing more is left out (lagging)",
}
_GATE: Final = (
    "; and before they are packed, if reading and shuffling them takes longer than the streams' "
    "own time and there is a folder for such decisions (`hot_keys`)"
)
_SAMPLE: Final = (
    f"a sample of the remembered rows (at most {LOOKING_ROWS:,} rows and {LOOKING_BYTES >> 10} KB"
    " of a side and shard) meets all that arrives: it shows what each part yields, also where "
    f"nothing is probed, and how many pairs are missing; it takes about {100 * GAMMA:g} % of the"
    f" time for comparisons, {100 * GAMMA_EXACT:g} % while all of them are made"
)
_POLICIES: Final = {
    "best": "the basic windows of both sides with the most results for their CPU time first",
    "ra": "the same part of both windows, the newest rows first",
    "ra+tc": "the same part of both windows, of each the most productive basic windows first",
    "ra+jd": "the less productive window gives way first; of each the newest rows first",
    "ra+tc+jd": "the less productive window gives way first; of each the most productive basic "
    "windows first",
}


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
    text: str


@dataclass(frozen=True)
class BudgetWords:
    """A join's budget, in words and in numbers."""

    limits: str
    meaning: tuple[str, ...]  # what gives way and what that means
    selective: dict[str, Any] | None  # how comparisons are chosen; None if rows are dropped instead
    split: str | None  # how the limits are divided; None if nothing is to be divided
    planned: Planned | None  # None if no rates are given

    def lines(self) -> list[str | None]:
        """The text, line by line."""
        chosen = () if self.selective is None else self.selective["text"]
        planned = None if self.planned is None else self.planned.text
        return [self.limits, *self.meaning, *chosen, self.split, planned]

    def to_dict(self) -> dict[str, Any]:
        """What programs get."""
        return asdict(self)


def explain_budget(at: Situation) -> BudgetWords | None:
    """Explain the budget of a join; None if it is exact."""
    given, shedding = at.plan.budget, at.join.shedding
    if given is None or shedding is None:
        return None
    regulated, cut = given.cpu is not None or given.rate is not None, given.memory is not None
    selective = _selective(at.join, shedding)
    meaning = [_DROPPED] if regulated else []
    if selective is not None:
        gate = _GATE if shedding.has_gate else ""
        meaning, regulated = [_SKIPPED, _THEN[selective["order"][1]] + gate, _SAMPLE], False
    meaning += [_CUT, _PART] if cut else [_PART]
    if given.cpu_share is not None or given.rate is not None:
        meaning.append(_EVENT_TIME)
    limits = f"at most {given.describe()}"
    if given.cpu_share is not None:
        limits += f"; for each second of the streams {given.cpu_share:.3g} s of each core"
    return BudgetWords(
        limits=limits,
        meaning=tuple(meaning),
        selective=selective,
        split=_split(shedding.split, regulated, cut) if regulated or cut else None,
        planned=plan_for(at, shedding) if at.rates_given else None,
    )


def _selective(join: WindowJoin, shedding: Shedding) -> dict[str, Any] | None:
    """How comparisons are chosen; None if they are not."""
    if shedding.policy is None:
        return None
    axis = Axis(join.windows_us)
    numbers, length = (axis.n_basic(0), axis.n_basic(1)), CELLS * axis.cell_us
    worth = tuple(
        None if column is None else join.streams[side].schema.names[column]
        for side, column in zip(SIDES, join.utility, strict=True)
    )
    named = [f"{NAMES[side]}.{name}" for side, name in enumerate(worth) if name is not None]
    return {
        "order": ("selective", "lag" if shedding.lag else "drop"),
        "policy": shedding.policy,
        "basic_windows": numbers,
        "basic_window_us": length,
        "utility": worth,
        "text": (
            f"policy {shedding.policy}: {_POLICIES[shedding.policy]}",
            *([f"a result is worth {' x '.join(named)} (utility)"] if named else []),
            f"basic windows: {numbers[0]} of the left and {numbers[1]} of the right window, "
            f"{format_duration(length)} each; of the last one that fits a part is probed, in steps "
            f"of 1/{CELLS}",
        ),
    }


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
    fits = allocation.rates == at.rates and fraction == 1 and held_all
    return Planned(
        service=service,
        need=need,
        fraction=fraction,
        rates=allocation.rates,
        memory=allocation.memory,
        share=share,
        fits=fits,
        text=_in_words(at, shedding, service, allocation, share, fits, need) + _spread(at, need),
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


def _in_words(
    at: Situation,
    shedding: Shedding,
    service: float | None,
    allocation: Allocation,
    share: float,
    fits: bool,
    need: Need | None,
) -> str:
    where = f"at {at.rates[0]:,.6g} and {at.rates[1]:,.6g} rows/s"
    if shedding.cpu_us_per_batch is not None:
        where += f", {BATCH_SECONDS:g} s a batch"
    if need is None and service is not None and shedding.rate is None:
        where += f" and {FIRST_COST_US:g} us of CPU a row (a first guess; it is measured)"
    parts = [] if need is None else [need.text]
    if fits:
        return f"{where}: {', '.join([*parts, 'the streams fit, nothing is left out'])}"
    left, right = allocation.rates
    if service is not None and allocation.rates != at.rates:
        parts.append(f"{write(left)} left and {write(right)} right rows/s are let in")
    if allocation.memory is not None:
        unit = shedding.memory_unit
        left_held, right_held = (
            f"{write(n)} rows" if unit == "rows" else format_bytes(n) for n in allocation.memory
        )
        parts.append(f"{left_held} left and {right_held} right are remembered")
    return f"{where}: {', '.join(parts)}; about {100 * share:.3g} % of the results"


def _spread(at: Situation, need: Need | None) -> str:
    """What is known of where the results are, if that matters."""
    if need is None or need.fraction >= 1:
        return ""
    if at.matches is None or at.matches.basis != "sample":
        return _CLUSTERED
    return _EVEN if at.matches.ages is None else _UNEVEN
