"""The sentences about a join of two streams: conditions and time."""

from typing import Final

from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.core.predicate.expressions import And, Compare, Expression
from streamjoin.durations import format_duration
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.wording import Condition
from streamjoin.joins.window.arguments import Resolved
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.joins.window.spread_join import can_spread

NAMES: Final = ("left", "right")


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
    if stream.window_us:
        return (
            f"a {other} row meets {mine} rows up to {format_duration(stream.window_us)} before it"
        )
    what = "left rows of the same time" if side == LEFT else "no right row before it"
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
