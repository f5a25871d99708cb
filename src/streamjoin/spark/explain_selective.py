"""Windows that are probed in part: how they are cut, by which policy, and what to expect."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamjoin._typing import SIDES
from streamjoin.core.cells import CELLS, Axis
from streamjoin.durations import format_duration
from streamjoin.joins.routing import copies
from streamjoin.joins.window_join import WindowJoin
from streamjoin.joins.window_parts import LOOKING_BYTES, LOOKING_ROWS, SOME_ITEMS
from streamjoin.planning.two.split import Pair
from streamjoin.shedding.comparisons import GAMMA, GAMMA_EXACT, MOST_RECEIVING, SelectiveState
from streamjoin.shedding.limits import Shedding
from streamjoin.spark.explain_matches import Matches
from streamjoin.spark.explain_words import NAMES
from streamjoin.spark.plans import JoinPlan

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
class Selective:
    """How comparisons are chosen.

    Parameters
    ----------
    order
        What gives way first, and what next.
    policy
        The rule by which parts of the windows are chosen.
    basic_windows
        Into how many parts the left and the right window are cut.
    basic_window_us
        How long each is, in microseconds.
    utility
        Columns of left and right that say what a result is worth; None for none.
    text
        In words.
    """

    order: tuple[str, str]
    policy: str
    basic_windows: tuple[int, int]
    basic_window_us: int
    utility: tuple[str | None, str | None]
    text: tuple[str, ...]


@dataclass(frozen=True)
class Need:
    """CPU time for each second of the streams, in seconds, by first guesses of the costs.

    Parameters
    ----------
    receiving
        To receive and to store rows.
    comparing
        To look for results and to hand them out, if all are wanted.
    given
        What the budget gives.
    assumed
        What the guess for comparing assumes.
    """

    receiving: float
    comparing: float
    given: float
    assumed: str

    @property
    def fraction(self) -> float:
        """Part of the comparisons that there is time for."""
        room = max(self.given - self.receiving, (1 - MOST_RECEIVING) * self.given)
        return min(1.0, room / self.comparing) if self.comparing else 1.0


def selective(join: WindowJoin, shedding: Shedding) -> Selective | None:
    """Explain how comparisons are chosen; None if they are not."""
    if shedding.policy is None:
        return None
    axis = Axis(join.windows_us)
    numbers = axis.n_basic(0), axis.n_basic(1)
    left, right = (
        None if at is None else join.streams[side].schema.names[at]
        for side, at in zip(SIDES, join.utility, strict=True)
    )
    length = CELLS * axis.cell_us
    return Selective(
        order=("selective", "lag" if shedding.lag else "drop"),
        policy=shedding.policy,
        basic_windows=numbers,
        basic_window_us=length,
        utility=(left, right),
        text=(
            f"policy {shedding.policy}: {_POLICIES[shedding.policy]}",
            *_worth((left, right)),
            f"basic windows: {numbers[0]} of the left and {numbers[1]} of the right window, "
            f"{format_duration(length)} each; of the last one that fits a part is probed, in steps "
            f"of 1/{CELLS}",
        ),
    )


def meaning(chosen: Selective, has_gate: bool) -> list[str]:
    """What gives way, in which order, and how it is known what that costs."""
    return [_SKIPPED, _THEN[chosen.order[1]] + (_GATE if has_gate else ""), _SAMPLE]


def receivable(budget_us: float) -> float:
    """Rows that can be received in some CPU time before others must be dropped."""
    return SelectiveState().receivable(budget_us)


def need(
    plan: JoinPlan, rates: Pair, budget_us: float = 0.0, matches: Matches | None = None
) -> Need:
    """What all comparisons take, where a batch brings a second; by default a row finds another."""
    join, sent = plan.resolved.join, copies(plan.routing)
    windows = [stream.window_us / 1e6 for stream in join.streams]
    arriving = sum(rate * n for rate, n in zip(rates, sent, strict=True))
    met = sum(rate * n * w for rate, n, w in zip(rates, sent, windows, strict=True))
    comparisons = rates[0] * rates[1] * sum(windows)
    found = sum(rates) if matches is None else matches.share * comparisons
    looked_at, assumed = _looked_at(join, found, comparisons)
    if matches is None:
        assumed = f"one result for each row{assumed}"
    else:
        assumed = f"{found:,.3g} results/s{assumed}"
    costs = SelectiveState()
    return Need(
        receiving=costs.receiving.each * arriving / 1e6,
        comparing=(
            costs.comparing.each * (met + looked_at) + costs.emitting.each * found
        ) / 1e6,
        given=budget_us / 1e6,
        assumed=assumed,
    )  # fmt: skip


def _looked_at(join: WindowJoin, found: float, comparisons: float) -> tuple[float, str]:
    """Pairs that an index hands over, for each second of the streams, and what that assumes."""
    if join.sets is not None:
        with_others = f"items in common with {100 * SOME_ITEMS:g} % of the others"
        return SOME_ITEMS * comparisons, f" and {with_others}"
    if join.left.key or join.band is not None:
        return found, ""
    return comparisons, " and all pairs looked at"


def in_words(needed: Need) -> str:
    """What to expect of a budget."""
    costs = SelectiveState()
    by = (
        f"{costs.receiving.each:g} us a row, {costs.comparing.each:g} us a comparison and "
        f"{costs.emitting.each:g} us a result (first guesses; they are measured), and with "
        f"{needed.assumed},"
    )
    whole = needed.receiving + needed.comparing
    said = (
        f"by {by} a second of the streams needs {whole:.2g} s of CPU, {needed.receiving:.2g} s of "
        f"it to receive rows, and there is {needed.given:.2g} s"
    )
    if needed.fraction >= 1:
        return f"{said}: everything is compared"
    return f"{said}: {100 * needed.fraction:.2g} % of the comparisons are made"


def _worth(columns: Sequence[str | None]) -> list[str]:
    named = [f"{NAMES[side]}.{name}" for side, name in enumerate(columns) if name is not None]
    return [f"a result is worth {' x '.join(named)} (utility)"] if named else []
