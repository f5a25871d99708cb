"""About how much a join of many streams will remember, and what may go wrong with it."""

from collections.abc import Iterator
from typing import NamedTuple

from streamjoin.durations import format_duration
from streamjoin.explanations.expected import Expected
from streamjoin.explanations.plan_numbers import PlanNumbers, write
from streamjoin.explanations.plan_shards import copies
from streamjoin.explanations.plan_words import is_nary
from streamjoin.explanations.plans import MultiPlan
from streamjoin.explanations.state import format_bytes, row_bytes
from streamjoin.explanations.warnings import LONG_US, Advice, about_need
from streamjoin.joins.multi.settings import Input


class Remembered(NamedTuple):
    """About how much is remembered, in words and in bytes."""

    texts: tuple[str, ...]
    bytes: float


def remembered(plan: MultiPlan, found: PlanNumbers, streams: dict[str, Input]) -> Remembered:
    """About how much each state holds."""
    total, texts = 0.0, []
    tree = plan.resolved.tree
    axes = max(step.join.n_axes for step in plan.resolved.steps)
    nodes, sent = tree.n_streams if is_nary(plan) else tree.root, copies(plan)
    for node, one in enumerate(found.half_way[:nodes]):
        if node < tree.n_streams:
            stream = streams[one.tuples].stream
            size, rows = row_bytes(stream.kept)[0], one.state
            rows += found.rates[one.tuples] * stream.lateness_us / 1e6
            rows *= sent[one.tuples]
            what = "rows"
        else:
            size, rows = tuple_bytes(axes, len(tree.streams(node))), one.state
            what = "tuples"
        total += rows * size
        texts.append(
            f"{one.tuples} {format_bytes(rows * size)} = {write(rows)} {what} x {size:.3g} B"
        )
    late = max(one.stream.lateness_us for one in streams.values())
    more = f", with {format_duration(late)} of lateness" if late else ""
    texts.append(
        f"together {format_bytes(total)}{more}, and more while one input is ahead of the others"
    )
    return Remembered(tuple(texts), total)


def tuple_bytes(axes: int, n_streams: int) -> float:
    """Bytes of an intermediate result: key, interval, and the names of its rows."""
    return 8.0 * (1 + 2 * axes + n_streams)


def advice(
    plan: MultiPlan,
    streams: dict[str, Input],
    found: PlanNumbers | None,
    brings: Expected | None,
) -> Iterator[Advice]:
    """All warnings."""
    if found is not None and found.infeasible is not None:
        yield Advice("infeasible", found.infeasible)
    if plan.where:
        yield Advice(
            "left_to_spark",
            f"{plan.where} is left to Spark: results are built first and dropped afterwards, and "
            "the counters count them",
        )
    if plan.n_shards == 1:
        yield Advice("one_shard", "one core does all the work: there is one shard")
    if brings is not None and plan.budget is None:
        yield from about_need(brings)
    if not plan.streaming:
        return
    join = plan.resolved.steps[-1].join
    if join.idle_us is None:
        yield Advice(
            "unbounded_state",
            "unbounded state: while one input is silent the rows of the others are all kept; give "
            "`idle_timeout` if that may last",
        )
    if all(one.stream.lateness_us == 0 for one in streams.values()):
        yield Advice(
            "no_lateness",
            "no lateness: a row that is older than what all inputs had reached a batch before is "
            "left out; give `lateness` unless rows come in order of time",
        )
    for name, one in streams.items():
        if one.stream.window_us > LONG_US:
            length = format_duration(one.stream.window_us)
            yield Advice("long_window", f"the window of {name} is long ({length}): mind the state")
    if join.states and not join.freshness:
        yield Advice(
            "stale_states",
            "joins remember a number of results, whose rows may be of any age; give `freshness` "
            "to withhold results that are too old",
        )
