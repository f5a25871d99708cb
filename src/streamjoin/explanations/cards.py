"""The operators of an explanation as cards: for the tree in the text and for the drawing."""

from collections.abc import Sequence
from typing import Final

from streamjoin.explanations.drawing import Card, Lane
from streamjoin.explanations.expected import Expected
from streamjoin.explanations.join import JoinExplanation
from streamjoin.explanations.plan_numbers import about
from streamjoin.explanations.query import QueryExplanation
from streamjoin.explanations.state import SideEstimate, format_bytes
from streamjoin.explanations.table import TableExplanation
from streamjoin.explanations.table_words import FIRST
from streamjoin.explanations.words import Shards

_PACK: Final = "packed into Arrow blocks"


def cards_of_join(join: JoinExplanation, query: QueryExplanation | None = None) -> Card:
    """A join of two streams, as a query has it or without one."""
    streams = tuple(_stream(join, side) for side in (0, 1))
    shuffle = Card("shuffle", "shuffle", (_shuffled(join),), children=streams)
    within = tuple(join.named(c.text) for c in join.conditions if c.place != "spark")
    rest = [join.named(c.text) for c in join.conditions if c.place == "spark"]
    operator = Card(
        "join",
        f"{join.how} window join",
        within or ("all rows within the windows match",),
        lanes=tuple(_half_way(join, side) for side in ((0,) if join.how == "asof" else (0, 1))),
        limits=_limits(join),
        children=(shuffle,),
    )
    columns = join.columns if query is None else query.selected
    planned = None if join.budget is None else join.budget.planned
    share = 1.0 if planned is None else planned.share
    return result((*rest, *checked(query)), columns, join.expected, operator, share)


def checked(query: QueryExplanation | None) -> list[str]:
    """What Spark checks after a query's join."""
    return [] if query is None else [c.text for c in query.conditions if c.place == "after"]


def result(
    conditions: Sequence[str],
    columns: Sequence[str],
    found: Expected | None,
    operator: Card,
    share: float = 1.0,
) -> Card:
    """The result, and what Spark checks before; `share` of the exact one comes out."""
    rate = []
    if found is not None:
        part = "" if share >= 1 else f"{about(share * found.rows_per_second)} of "
        rate = [f"about {part}{about(found.rows_per_second)} rows/s"]
    if conditions:
        said = "checked on the rows that the join hands out"
        operator = Card("check", " AND ".join(conditions), (said, *rate), children=(operator,))
        rate = ["those of these rows that fulfil it"] if rate else []
    return Card("result", "result", (*rate, ", ".join(columns)), children=(operator,))


def _stream(join: JoinExplanation, side: int) -> Card:
    rate = None
    if join.state and join.state[side].rate_given:
        rate = join.state[side].rows_per_second
    lines = stream_lines(rate, join.lengths[side], join.filters[side])
    return Card("stream" if join.streaming else "table", join.streams[side], (*lines, _PACK))


def stream_lines(rate: float | None, window: str | None, filters: Sequence[str]) -> list[str]:
    """Rate, window and filters of a stream.

    Examples
    --------
    >>> stream_lines(2000.0, "10 seconds", ["a.x > 3"])
    ['2,000 rows/s after the filter, window of 10 seconds', 'filter: a.x > 3']
    """
    after = " after the filter" if filters else ""
    rows = [] if rate is None else [f"{about(rate)} rows/s{after}"]
    kept = f"window of {window}" if window else "not remembered, only probes"
    return [", ".join([*rows, kept]), *(f"filter: {text}" for text in filters)]


def _shuffled(join: JoinExplanation) -> str:
    copies = [
        f"{name} to {n}" for name, n in zip(join.streams, join.shards.copies, strict=True) if n > 1
    ]
    more = f"; each row of {' and of '.join(copies)} shards" if copies else ""
    return f"{shards(join.shards)}{more}"


def shards(split: Shards) -> str:
    """How many shards there are, and how rows find theirs."""
    noun = "shard" if split.n_shards == 1 else "shards"
    return f"{split.n_shards} {noun}, {split.routing.removeprefix(f'{split.n_shards} ')}"


def _half_way(join: JoinExplanation, side: int) -> Lane:
    """Arrivals of a side probe the window of the other."""
    other = 1 - side
    length = join.lengths[other]
    kept = f"last {length}" if length else "just come"
    kept = f"{join.streams[other]}, {kept if join.streaming else 'all rows'}"
    notes = [_method(join, other)]
    if join.state:
        notes.append(_held(join.state[other]))
    return Lane((join.streams[side], kept), "; ".join(note for note in notes if note))


def _method(join: JoinExplanation, side: int) -> str:
    if join.algorithm is None:
        return ""
    window = join.algorithm.windows[side]
    if window.chosen is None:
        return "" if not join.lengths[side] else "algorithm chosen while it runs"
    return f"algorithm {window.chosen}"


def _held(side: SideEstimate) -> str:
    if not side.rows:
        return ""
    at = "" if side.rate_given else " at 1,000 rows/s"
    return f"{about(side.rows)} rows remembered, {format_bytes(side.bytes)}{at}"


def _limits(join: JoinExplanation) -> tuple[str, ...]:
    said = []
    if join.budget is not None:
        planned = join.budget.planned
        said.append(limit(join.budget.limits, None if planned is None else planned.share))
    if join.freshness is not None:
        said.append(f"freshness {join.freshness.partition(':')[0]}")
    return tuple(said)


def limit(budget: str, share: float | None) -> str:
    """A budget, and which part of the results it leaves.

    Examples
    --------
    >>> limit("at most 0.25 of the cores", 0.4321), limit("9 tuples/s", 1.0)
    ('budget at most 0.25 of the cores: about 43.2 % of the results', 'budget 9 tuples/s: enough')
    """
    if share is None:
        return f"budget {budget}"
    return (
        f"budget {budget}: " + (f"about {100 * share:.3g} % of the results", "enough")[share >= 1]
    )


def cards_of_table(join: TableExplanation) -> Card:
    """A join with a table: the front stage, then the back end."""
    rate = () if join.rate is None else (f"{about(join.rate)} rows/s",)
    stream = Card("stream" if join.streaming else "table", join.stream, (*rate, join.shards))
    place, *more = join.table.split("; ")
    table = Card("table", place, (join.sizes.text, *more))
    operator = Card(
        "join",
        f"{join.how} join with a table",
        tuple(f"{join.stream}.{mine} = table.{theirs}" for mine, theirs in join.key),
        lanes=(_stages(join),),
        limits=(f"memory {join.memory[0]}", *([f"CPU {join.limited}"] if join.limited else [])),
        children=(stream, table),
    )
    return result((), join.columns, join.expected, operator)


def _stages(join: TableExplanation) -> Lane:
    """What a row of the stream tries."""
    back = join.algorithm[0].removeprefix(FIRST)
    if back == join.algorithm[0]:
        return Lane((join.stream, "back end"), f"back end: {back}")
    hits = f"front stage: a cache, to answer about {100 * join.hits:.0f} %"
    return Lane((join.stream, "front stage", "back end"), f"{hits}; back end: {back}")
