"""How arrivals will meet what is remembered, and what the cost model says of the ways to do it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from streamjoin._typing import SIDES, Side
from streamjoin.explanations.budget import BATCH_SECONDS, Planned
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.state import SideEstimate
from streamjoin.explanations.words import NAMES
from streamjoin.joins.routing import copies
from streamjoin.planning.two.algorithm_choice import Load, OperationCosts, choose, costs_of

_WAYS: Final = {
    "batch": "the rows that arrive are indexed, what is remembered is streamed past",
    "hash": "each basic window has a hash index that is kept, the rows that arrive probe it",
    "nested": "every row that arrives is compared with every row that is remembered",
}
_AUTO: Final = (
    "auto: in each batch the cheapest of batch, hash and nested, by the rows that arrive, the rows "
    "and basic windows that are remembered and the share of the pairs that matched so far; "
    "changed only if that saves a quarter"
)
_LEGEND: Final = (
    "batch is by the index below; with hash an index of each basic window is kept and probed; with "
    "nested all rows are compared"
)
_BAND: Final = "batch: a band is indexed over the rows that arrive"
_SETS: Final = "batch: sets are indexed over the rows that arrive"


@dataclass(frozen=True)
class WindowMethod:
    """How the window of one side is probed.

    Parameters
    ----------
    side
        Whose window.
    asked
        auto, batch, hash or nested.
    chosen
        The method to expect; None if it is decided while running and no rates were given.
    cost_us
        CPU time of the three methods for each second of the streams, in microseconds, by the cost
        model; None without rates.
    text
        In words.
    """

    side: str
    asked: str
    chosen: str | None
    cost_us: dict[str, float] | None
    text: str


@dataclass(frozen=True)
class Methods:
    """How the windows of both sides are probed.

    Parameters
    ----------
    windows
        Of left and right.
    costs
        Where the costs of operations come from: built-in, or calibrated.
    assumed
        What the predicted costs assume; None where there are none.
    """

    windows: tuple[WindowMethod, ...]
    costs: str
    assumed: str | None

    def lines(self) -> Sequence[str]:
        """The text, line by line."""
        left, right = self.windows
        texts = [f"{window.side} window {window.text}" for window in self.windows]
        if left.text == right.text:
            texts = [f"both windows {left.text}"]
        texts += [] if self.assumed is None else [self.assumed]
        if any(window.text.startswith("auto") for window in self.windows):
            own = "as calibrated on this machine" if self.costs == "calibrated" else "built in"
            texts += [_LEGEND, f"costs of operations: {own}"]
        return texts


def methods(
    plan: JoinPlan,
    sides: Sequence[SideEstimate],
    rates: tuple[float, float] | None,
    planned: Planned | None,
) -> Methods | None:
    """Explain the methods; None for joins that have no choice of them."""
    join = plan.resolved.join
    if join.how == "asof" or not plan.streaming:
        return None
    is_open = rates is not None and join.band is None and join.sets is None
    built_in = join.operations == OperationCosts()
    return Methods(
        windows=tuple(_window(plan, side, sides, rates, planned) for side in SIDES),
        costs="built-in" if built_in else "calibrated",
        assumed=_assumed(plan, planned) if is_open and "auto" in join.algorithm else None,
    )


def _window(
    plan: JoinPlan,
    side: Side,
    sides: Sequence[SideEstimate],
    rates: tuple[float, float] | None,
    planned: Planned | None,
) -> WindowMethod:
    """How one side's window is probed by arrivals of the other."""
    join, name = plan.resolved.join, NAMES[side]
    asked = join.algorithm[side]
    if join.band is not None or join.sets is not None:
        text = _SETS if join.band is None else _BAND
        return WindowMethod(name, asked, "batch", None, text)
    if asked != "auto":
        return WindowMethod(name, asked, asked, None, f"{asked}: {_WAYS[asked]}")
    if rates is None:
        return WindowMethod(name, asked, None, None, _AUTO)
    if sides[side].rows == 0:
        return WindowMethod(name, asked, None, None, "auto: nothing is remembered")
    load = _load(plan, side, sides, planned.rates if planned else rates, planned)
    n_shards = plan.routing.n_shards
    costs: dict[str, float] = {
        method: ns * n_shards / BATCH_SECONDS / 1000
        for method, ns in costs_of(load, join.operations).items()
    }
    chosen = choose(load, join.operations)
    said = ", ".join(f"{method} {_time(us)}" for method, us in costs.items())
    text = f"auto, to expect: {chosen}; CPU for each second of the streams: {said}"
    return WindowMethod(name, asked, chosen, costs, text)


def _load(
    plan: JoinPlan,
    side: Side,
    sides: Sequence[SideEstimate],
    rates: tuple[float, float],
    planned: Planned | None,
) -> Load:
    """What a batch brings for one shard, for the window of a side.

    Every batch leaves basic windows of its own; as many keys as rows are what the join itself
    assumes before it has seen a match.
    """
    other, sent, n_shards = 1 - side, copies(plan.routing), plan.routing.n_shards
    whole = sides[side].rows / sent[side] * rates[side] / sides[side].rows_per_second
    stored = min(whole, _room(plan, side, sides, planned))
    inserted = rates[side] * BATCH_SECONDS
    per_shard = sent[side] / n_shards
    return Load(
        arrivals=rates[other] * BATCH_SECONDS * sent[other] / n_shards,
        stored=stored * per_shard,
        stored_keys=max(1.0, stored * per_shard) if plan.resolved.join.left.key else 1.0,
        inserted=inserted * per_shard,
        n_windows=max(1, round(stored / inserted)),
    )


def _room(
    plan: JoinPlan, side: Side, sides: Sequence[SideEstimate], planned: Planned | None
) -> float:
    """Rows of a side for which there is memory."""
    shedding = plan.resolved.join.shedding
    if planned is None or planned.memory is None or shedding is None:
        return float("inf")
    size = 1.0 if shedding.memory_unit == "rows" else sides[side].bytes_per_row
    return planned.memory[side] / size / copies(plan.routing)[side]


def _assumed(plan: JoinPlan, planned: Planned | None) -> str:
    matches = "about one match a row" if plan.resolved.join.left.key else "matches of all rows"
    budgeted = "" if planned is None or planned.fits else ", within the budget"
    return (
        f"that is for batches of {BATCH_SECONDS:g} s with {matches}{budgeted}; longer ones favour "
        "batch, shorter ones hash and nested"
    )


def _time(us: float) -> str:
    """Write a CPU time.

    Examples
    --------
    >>> _time(0.42), _time(1234.5), _time(2_500_000)
    ('0.42 us', '1.23 ms', '2.5 s')
    """
    if us < 1e3:
        return f"{us:.3g} us"
    return f"{us / 1e3:.3g} ms" if us < 1e6 else f"{us / 1e6:,.3g} s"


def invalidation(plan: JoinPlan) -> str | None:
    """When rows that are too old go, where that is not in every batch."""
    if plan.resolved.join.invalidation == "active" or not plan.streaming:
        return None
    return (
        "lazy: rows that are too old stay until the other side brings rows that probe them: less "
        "to do, more to remember"
    )
