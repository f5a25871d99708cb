"""The sentences about a join of many streams: its plan, shards, time, and what is remembered."""

from collections.abc import Iterator, Mapping
from typing import Any

from streamjoin.core.stream import Stream
from streamjoin.durations import format_duration
from streamjoin.explanations.many_model import PlanNumbers
from streamjoin.explanations.wording import Shards, row_bytes, write
from streamjoin.joins.multi.keys import KeyClass
from streamjoin.joins.multi.operators import Step
from streamjoin.joins.multi.reordering import CLEARLY, EVERY
from streamjoin.joins.plans import MultiPlan
from streamjoin.joins.routing import Shares
from streamjoin.metrics.words import size as format_bytes
from streamjoin.planning.many.tree import Tree


def is_nary(plan: MultiPlan) -> bool:
    """Whether one n-ary join runs and never a tree."""
    return plan.join.strategy == "mjoin"


def planned(plan: MultiPlan) -> str:
    """Where the plan comes from and how it may change."""
    whole = plan.resolved
    limited = any(step.join.states for step in whole.steps)
    if is_nary(plan):
        return "none: one n-ary join of all streams"
    if not whole.chosen:
        how = "as given"
    elif plan.join.adaptive:
        how = (
            f"the first tree; every {EVERY} batches another takes over that forms {CLEARLY:g} "
            "times fewer intermediate results, counted on a sample of the keys (reordered)"
        )
    else:
        how = "as the equalities connect the streams; it stays"
    depend = "results do not depend on it"
    if limited:
        depend = "results depend on it, as joins remember a number of rows"
    return f"{whole.tree} ({whole.tree.shape}): {how}; {depend}"


def operators(plan: MultiPlan) -> list[dict[str, Any]]:
    """Which joins run together, and why."""
    names, steps = plan.operator_names, plan.resolved.steps
    operators = []
    for number, (name, step) in enumerate(zip(names, steps, strict=True)):
        sources = tuple(one if isinstance(one, str) else f"<{names[one]}>" for one in step.sources)
        joined = ", ".join(sources) if is_nary(plan) else str(Tree(sources, step.join.tree.joins))
        why = "one key, so no row is moved between the joins"
        if step.join.attributes:
            why = "a row goes to all shards of the grid in which it may meet others"
        elif len(steps) > 1:
            why = "rows of the operators before it are sent to the shards of another key"
            if number == 0 or all(isinstance(source, str) for source in step.sources):
                why = "joins on one key run together"
        key = tuple(_keys(plan, step))
        text = f"{name}: {joined} by {' and '.join(key)}; {why}"
        operators.append({"name": name, "plan": joined, "key": key, "text": text})
    return operators


def _keys(plan: MultiPlan, step: Step) -> Iterator[str]:
    """What is equal in an operator, in the user's words."""
    tree, keys = plan.resolved.tree, plan.resolved.keys
    if step.join.attributes:
        yield from (one.describe() for one in keys.classes)
        return
    left, right = (
        [tree.names[i] for i in tree.streams(child)] for child in tree.children(step.nodes[-1])
    )
    for number in keys.between(left, right):
        columns = keys.classes[number].columns
        yield KeyClass({s: c for s, c in columns.items() if s in (*left, *right)}).describe()


def shards(plan: MultiPlan) -> Shards:
    """How the work is split."""
    sent = None if grid_of(plan) is None else _copies(plan)
    return Shards(plan.n_shards, plan.n_partitions, plan.routing.describe(), sent=sent)


def _copies(plan: MultiPlan) -> dict[str, int]:
    """To how many shards a row of each stream goes."""
    return {name: plan.routing.copies(i) for i, name in enumerate(plan.resolved.tree.names)}


def grid_of(plan: MultiPlan) -> Shares | None:
    """The grid of shards; None where one key joins all streams of an operator."""
    return plan.routing if isinstance(plan.routing, Shares) else None


def windows(streams: Mapping[str, Stream]) -> tuple[str, ...]:
    """How long the streams' rows are remembered."""
    each = _by_value({name: _window(one) for name, one in streams.items()}, "{}: {}")
    rule = "a row is in results while it is in its window when the last row of the result comes"
    return (rule, each)


def lengths(streams: Mapping[str, Stream]) -> dict[str, str | None]:
    """How long, or how many, rows of each stream are remembered."""
    return {
        name: _window(one) if one.window_rows or one.window_us else None
        for name, one in streams.items()
    }


def _window(one: Stream) -> str:
    if one.window_rows is not None:
        return f"the last {one.window_rows:,} rows"
    return format_duration(one.window_us) if one.window_us else "only probes"


def fresh(plan: MultiPlan) -> tuple[str, ...]:
    """Which results are withheld."""
    ages = {
        one.name: f"{one.age:,} rows" if one.counted else format_duration(one.age)
        for one in plan.join.freshness
    }
    each = _by_value(ages, "{} {}")
    by = "newer rows of the stream" if "rows" in each else "the newest time of any stream"
    return (f"{each}: results with an older row, by {by}, are withheld (stale)",) if ages else ()


def _by_value(texts: Mapping[str, str], form: str) -> str:
    """What is said of streams, those of which the same is said together."""
    names: dict[str, list[str]] = {}
    for name, text in texts.items():
        names.setdefault(text, []).append(name)
    return "; ".join(form.format(", ".join(some), text) for text, some in names.items())


def emitted(plan: MultiPlan) -> str:
    """When results come out."""
    if not plan.streaming:
        return "everything at the end: all rows are there"
    if any(step.join.counted for step in plan.resolved.steps):
        return "results once the watermark has passed their last row, whose place is known then"
    return "results at once, in the batch of their last row"


def intermediate(plan: MultiPlan) -> tuple[str, ...]:
    """What becomes of the results of joins below the root."""
    join = plan.join
    if is_nary(plan) or (not join.tree.susceptible and len(plan.resolved.steps) == 1):
        return ()
    if not join.states:
        return (
            "results of joins are forgotten when the first of their rows leaves its window: none "
            "goes stale",
        )
    sizes = [
        f"{join.tree.label(node)}: the last {n * plan.n_shards:,}"
        for node, n in enumerate(join.states)
        if n is not None
    ]
    return (
        f"{'; '.join(sizes)} results, however old their rows: they go stale where nothing "
        "refreshes them",
    )


def remembered(
    plan: MultiPlan, numbers: PlanNumbers, sent: Mapping[str, int]
) -> tuple[list[str], float]:
    """About how much each state holds, and all of them in bytes."""
    total, texts = 0.0, []
    tree, streams = plan.resolved.tree, plan.streams
    axes = max(step.join.n_axes for step in plan.resolved.steps)
    nodes = tree.n_streams if is_nary(plan) else tree.root
    for node, one in enumerate(numbers.half_way[:nodes]):
        rows = one.state
        if node < tree.n_streams:
            stream, what = streams[one.tuples], "rows"
            size = row_bytes(stream.kept)[0]
            rows += numbers.rates[one.tuples] * stream.lateness_us / 1e6
            rows *= sent.get(one.tuples, 1)
        else:
            size, what = tuple_bytes(axes, len(tree.streams(node))), "tuples"
        total += rows * size
        texts.append(
            f"{one.tuples} {format_bytes(rows * size)} = {write(rows)} {what} x {size:.3g} B"
        )
    late = max(one.lateness_us for one in streams.values())
    more = f", with {format_duration(late)} of lateness" if late else ""
    texts.append(
        f"together {format_bytes(total)}{more}, and more while one input is ahead of the others"
    )
    return texts, total


def tuple_bytes(axes: int, n_streams: int) -> float:
    """Bytes of an intermediate result: key, interval, and the names of its rows."""
    return 8.0 * (1 + 2 * axes + n_streams)
