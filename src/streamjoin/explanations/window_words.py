"""The sentences about a join of two streams: conditions, time, and how matches are found."""

from typing import Any, Final

from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.core.predicate.expressions import And, Compare, Expression
from streamjoin.durations import format_duration
from streamjoin.explanations.window_expected import Planned
from streamjoin.explanations.window_situation import NAMES, Situation
from streamjoin.explanations.wording import BATCH_SECONDS, Condition, format_cpu
from streamjoin.joins.plans import JoinPlan
from streamjoin.joins.window.arguments import Resolved
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.joins.window.spread_join import can_spread
from streamjoin.planning.two.algorithm_choice import Load, OperationCosts, choose, costs_of

_WAYS: Final = {
    "auto": "in each batch the cheapest of batch, hash and nested, by the rows that arrive, the "
    "rows and basic windows that are remembered and the share of the pairs that matched so far; "
    "changed only if that saves a quarter",
    "batch": "the rows that arrive are indexed, what is remembered is streamed past",
    "hash": "each basic window has a hash index that is kept, the rows that arrive probe it",
    "nested": "every row that arrives is compared with every row that is remembered",
}
_LEGEND: Final = (
    "batch is by the index below; with hash an index of each basic window is kept and probed; with "
    "nested all rows are compared"
)


def keys(join: WindowJoin) -> tuple[tuple[str, str], ...]:
    """Columns of left and right that must be equal."""
    left, right = join.streams
    names = left.schema.names, right.schema.names
    return tuple((names[0][a], names[1][b]) for a, b in zip(left.key, right.key, strict=True))


def conditions(resolved: Resolved) -> tuple[Condition, ...]:
    """Every condition besides the windows, and where it is evaluated."""
    join, where = resolved.join, resolved.where
    equal = (Condition(f"left.{a} = right.{b}", "key") for a, b in keys(join))
    # What fulfils a band has been found by the index already.
    parts = join.predicate.parts if isinstance(join.predicate, And) else [join.predicate]
    checked = (Condition(part.describe(), _place(part, join)) for part in parts if part is not None)
    rest = (Condition(text, "spark") for text in (where.rest if where else ()))
    return (*equal, *checked, *rest)


def _place(part: Expression, join: WindowJoin) -> str:
    if join.sets is not None and part == join.sets.condition:
        return "inverted_index"
    bounds = not (isinstance(part, Compare) and part.operation in ("<>", "<=>"))
    if join.band is None or not bounds:
        return "operator"
    columns = {(column.side, column.position) for column in part.columns()}
    is_banded = columns == {(LEFT, join.band.left), (RIGHT, join.band.right)}
    return "index" if is_banded else "operator"


def windows(join: WindowJoin) -> tuple[str, ...]:
    """Who meets whom in time."""
    left, right = join.streams
    span = f"from {_shifted('-', right.window_us)} to {_shifted('+', left.window_us)}"
    if join.how == "asof":
        is_nearest = join.direction == "nearest"
        which = "the right row nearest to it" if is_nearest else "the last right row"
        return (f"a left row of time t takes {which}, {span}",)
    if join.is_ordered:
        return _earlier(join, LEFT), _earlier(join, RIGHT)
    meets = f"a left row of time t meets right rows {span}"
    if left.window_us == right.window_us:
        return meets, f"rows {_remembered(left.window_us)}"
    kept = _remembered(left.window_us), _remembered(right.window_us)
    return meets, f"left rows {kept[0]}; right rows {kept[1]}"


def lengths(join: WindowJoin) -> tuple[str | None, str | None]:
    """How long, or how many, rows of left and right are remembered."""
    left, right = (
        (format_duration(s.window_us) if s.window_us else None)
        if s.window_rows is None
        else f"{s.window_rows:,} rows"
        for s in join.streams
    )
    return left, right


def freshness(join: WindowJoin) -> list[str]:
    """Which results are withheld, if any."""
    ages = [
        f"{name} {format_duration(us)}"
        for name, us in zip(NAMES, join.freshness_us, strict=True)
        if us is not None
    ]
    older = "results with an older row, by the newest time of either stream, are withheld (stale)"
    return [f"{', '.join(ages)}: {older}"] if ages else []


def _shifted(sign: str, us: int) -> str:
    return f"t {sign} {format_duration(us)}" if us else "t"


def _remembered(us: int) -> str:
    return f"are remembered for {format_duration(us)}" if us else "only probe"


def _earlier(join: WindowJoin, side: Side) -> str:
    """Which earlier rows of a side a row of the other meets, in a join in the total order."""
    stream, mine, other = join.streams[side], NAMES[side], NAMES[1 - side]
    if stream.window_rows is not None:
        return f"a {other} row meets {mine} rows among the last {stream.window_rows:,} before it"
    what = "left rows of the same time" if side == LEFT else "no right row before it"
    if stream.window_us:
        what = f"{mine} rows up to {format_duration(stream.window_us)} before it"
    return f"a {other} row meets {what}"


def emitted(join: WindowJoin, streaming: bool) -> tuple[str, ...]:
    """When rows come out."""
    if not streaming:
        return ("everything at the end: all rows are there",)
    if join.how == "asof":
        return (
            f"each left row once, {_when_final(join, LEFT)}; with nulls if there is no right row",
        )
    if join.how == "semi":
        return ("each left row once, in the batch that brings its first match",)
    waits = "once the watermark has passed the later row" if join.is_ordered else "at once"
    pairs = [] if join.how == "anti" else [f"pairs {waits}"]
    lone = [
        f"{NAMES[side]} rows without a partner {_when_final(join, side)}; "
        "those with a null key or time at once"
        for side in SIDES
        if join.keeps(side)
    ]
    return (*pairs, *lone)


def _when_final(join: WindowJoin, side: Side) -> str:
    stream = join.streams[side]
    if stream.window_rows is not None:
        return f"after {stream.window_rows:,} more {NAMES[side]} rows that the watermark has passed"
    after = join.left.window_us if side == LEFT else stream.window_us
    return f"in the batch whose watermark is past {_shifted('+', after)}"


def skew(plan: JoinPlan) -> str:
    """What becomes of a key with very many rows."""
    if plan.hot_keys is not None:
        return f"spread over several shards once noticed; decisions are kept in {plan.hot_keys}"
    if can_spread(plan.resolved.join):
        return "never spread: there is one task only, or no folder for decisions (`hot_keys`)"
    if plan.budget is not None:
        return "never spread: with a budget each shard leaves out rows of its own keys"
    return "never spread: only inner joins by key over windows of time can do that"


def methods(at: Situation, planned: Planned | None) -> dict[str, Any] | None:
    """How the two windows are probed; None for joins that have no choice of methods."""
    join = at.join
    if join.how == "asof" or not at.plan.streaming:
        return None
    is_open = at.rates_given and join.band is None and join.sets is None
    matches = "about one match a row" if join.left.key else "matches of all rows"
    budgeted = "" if planned is None or planned.fits else ", within the budget"
    assumed = (
        f"that is for batches of {BATCH_SECONDS:g} s with {matches}{budgeted}; longer ones favour "
        "batch, shorter ones hash and nested"
    )
    return {
        "windows": [_method(at, side, planned) for side in SIDES],
        "costs": "built-in" if join.operations == OperationCosts() else "calibrated",
        "assumed": assumed if is_open and "auto" in join.algorithm else None,
    }


def method_lines(methods: dict[str, Any] | None) -> list[str | None]:
    """The methods in words."""
    if methods is None:
        return []
    left, right = (window["text"] for window in methods["windows"])
    lines = [f"left window {left}", f"right window {right}"]
    if left == right:
        lines = [f"both windows {left}"]
    own = "as calibrated on this machine" if methods["costs"] == "calibrated" else "built in"
    is_auto = any(text.startswith("auto") for text in (left, right))
    return [*lines, methods["assumed"], *([_LEGEND, f"costs of operations: {own}"] * is_auto)]


def _method(at: Situation, side: Side, planned: Planned | None) -> dict[str, Any]:
    """How one side's window is probed by arrivals of the other, and what each way would cost."""
    join, costs, chosen = at.join, None, None
    asked = join.algorithm[side]
    if join.band is not None or join.sets is not None:
        indexed = "sets are" if join.band is None else "a band is"
        chosen, text = "batch", f"batch: {indexed} indexed over the rows that arrive"
    elif asked != "auto" or not at.rates_given:
        chosen, text = None if asked == "auto" else asked, f"{asked}: {_WAYS[asked]}"
    elif at.sides[side].rows == 0:
        text = "auto: nothing is remembered"
    else:
        load = _load(at, side, planned)
        ns, n_shards = costs_of(load, join.operations), at.plan.routing.n_shards
        costs = {way: n * n_shards / BATCH_SECONDS / 1000 for way, n in ns.items()}
        chosen = choose(load, join.operations)
        prices = ", ".join(f"{way} {format_cpu(us)}" for way, us in costs.items())
        text = f"auto, to expect: {chosen}; CPU for each second of the streams: {prices}"
    return {"side": NAMES[side], "asked": asked, "chosen": chosen, "cost_us": costs, "text": text}


def _load(at: Situation, side: Side, planned: Planned | None) -> Load:
    """What a batch brings for one shard, for the window of a side.

    Every batch leaves basic windows of its own; as many keys as rows are what the join itself
    assumes before it has seen a match.
    """
    rates = at.rates if planned is None else planned.rates
    one, other, n_shards = at.sides[side], 1 - side, at.plan.routing.n_shards
    stored = one.rows / at.copies[side] * rates[side] / one.rows_per_second
    shedding = at.join.shedding
    if planned is not None and planned.memory is not None and shedding is not None:
        size = 1.0 if shedding.memory_unit == "rows" else one.bytes_per_row
        stored = min(stored, planned.memory[side] / size / at.copies[side])
    inserted = rates[side] * BATCH_SECONDS
    per_shard = at.copies[side] / n_shards
    return Load(
        arrivals=rates[other] * BATCH_SECONDS * at.copies[other] / n_shards,
        stored=stored * per_shard,
        stored_keys=max(1.0, stored * per_shard) if at.join.left.key else 1.0,
        inserted=inserted * per_shard,
        n_windows=max(1, round(stored / inserted)),
    )


def index(join: WindowJoin) -> str:
    """How matches are found."""
    exact = join.left.has_exact_key and join.right.has_exact_key
    keyed = "by key" if exact else "by a hash of the key (then the keys are compared)"
    if join.how == "asof":
        return f"of right rows, {keyed if join.left.key else 'without a key,'} in order of time"
    also = f" {keyed} and" if join.left.key else ""
    arrivals = "of the rows that arrive; what is remembered is streamed past it"
    if join.band is not None:
        return f"hash index{also} by buckets of about {join.band.width:g} {arrivals}"
    if join.sets is not None:
        return f"inverted index{also} by the items of sets {arrivals}"
    if not join.left.key:
        return "none: every pair within the windows is looked at"
    if "auto" in join.algorithm or "batch" in join.algorithm:
        return f"hash index {keyed} {arrivals}"
    if "hash" in join.algorithm:
        return f"hash index {keyed} of basic windows; the rows that arrive probe it"
    return "none: the keys of all rows within the windows are compared"
