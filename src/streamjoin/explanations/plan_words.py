"""The sentences of an explanation about a plan of many joins: its shape, time, and what stays."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from streamjoin.durations import format_duration
from streamjoin.explanations.conditions import Conjunct
from streamjoin.explanations.plans import MultiPlan
from streamjoin.joins.multi.arguments import Step
from streamjoin.joins.multi.keys import KeyClass
from streamjoin.joins.multi.reordering import CLEARLY, EVERY
from streamjoin.joins.multi.settings import Input
from streamjoin.planning.many.tree import Tree


@dataclass(frozen=True)
class OperatorExplanation:
    """Joins that run together.

    Parameters
    ----------
    name
        Name of its counters.
    plan
        The joins, over streams and over what operators before it found.
    key
        What is equal.
    text
        In words.
    """

    name: str
    plan: str
    key: tuple[str, ...]
    text: str


def operators(plans: Sequence[MultiPlan]) -> tuple[OperatorExplanation, ...]:
    """Which joins run together, and why."""
    found = []
    for number, plan in enumerate(plans):
        step = plan.resolved.steps[number]
        sources = [
            source if isinstance(source, str) else f"<{plans[source].name}>"
            for source in step.sources
        ]
        joined = str(Tree(tuple(sources), step.join.tree.joins))
        if is_nary(plan):
            joined = ", ".join(sources)
        key = tuple(_keys(plan, step))
        why = "one key, so no row is moved between the joins"
        if step.join.attributes:
            why = "a row goes to all shards of the grid in which it may meet others"
        elif len(plans) > 1:
            why = "rows of the operators before it are sent to the shards of another key"
            if number == 0 or all(isinstance(source, str) for source in step.sources):
                why = "joins on one key run together"
        text = f"{plan.name}: {joined} by {' and '.join(key)}; {why}"
        found.append(OperatorExplanation(plan.name, joined, key, text))
    return tuple(found)


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


def planned(plan: MultiPlan) -> str:
    """Where the plan comes from and how it may change."""
    whole = plan.resolved
    said = f"{whole.tree} ({whole.tree.shape})"
    limited = any(step.join.states for step in whole.steps)
    if is_nary(plan):
        return "none: one n-ary join of all streams"
    if not whole.chosen:
        how = "as given"
    elif whole.steps[-1].join.adaptive:
        how = (
            f"the first tree; every {EVERY} batches another takes over that forms {CLEARLY:g} "
            "times fewer intermediate results, counted on a sample of the keys (reordered)"
        )
    else:
        how = "as the equalities connect the streams; it stays"
    what = "results depend on it, as joins remember a number of rows"
    return f"{said}: {how}; {what if limited else 'results do not depend on it'}"


def is_nary(plan: MultiPlan) -> bool:
    """Whether one n-ary join runs and never a tree."""
    return plan.resolved.steps[-1].join.strategy == "mjoin"


def conditions(plan: MultiPlan) -> tuple[Conjunct, ...]:
    """What results must fulfil, and where that is evaluated."""
    keys = [Conjunct(one.describe(), "key") for one in plan.resolved.keys.classes]
    return (*keys, *([Conjunct(plan.where, "spark")] if plan.where else []))


def inputs(plan: MultiPlan) -> dict[str, Input]:
    """The streams, in the user's order."""
    found = {i.name: i for step in plan.resolved.steps for i in step.join.inputs if i.end is None}
    return {name: found[name] for name in plan.resolved.tree.names}


def windows(streams: Mapping[str, Input]) -> tuple[str, ...]:
    """How long the streams' rows are remembered."""
    said: dict[str, list[str]] = {}
    for name, one in streams.items():
        said.setdefault(_window(one), []).append(name)
    each = [f"{', '.join(names)}: {window}" for window, names in said.items()]
    rule = "a row is in results while it is in its window when the last row of the result comes"
    return (rule, "; ".join(each))


def lengths(streams: Mapping[str, Input]) -> dict[str, str | None]:
    """How long, or how many, rows of each stream are remembered."""
    return {
        name: _window(one) if one.stream.window_rows or one.stream.window_us else None
        for name, one in streams.items()
    }


def _window(one: Input) -> str:
    if one.stream.window_rows is not None:
        return f"the last {one.stream.window_rows:,} rows"
    return format_duration(one.stream.window_us) if one.stream.window_us else "only probes"


def fresh(plan: MultiPlan) -> tuple[str, ...]:
    """Which results are withheld."""
    asked: dict[str, list[str]] = {}
    for one in plan.resolved.steps[-1].join.freshness:
        age = f"{one.age:,} rows" if one.counted else format_duration(one.age)
        asked.setdefault(age, []).append(one.name)
    if not asked:
        return ()
    each = "; ".join(f"{', '.join(names)} {age}" for age, names in asked.items())
    by = "newer rows of the stream" if "rows" in each else "the newest time of any stream"
    return (f"{each}: results with an older row, by {by}, are withheld (stale)",)


def remembered(plan: MultiPlan) -> tuple[str, ...]:
    """What becomes of the results of joins below the root."""
    join = plan.resolved.steps[-1].join
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


def watermark(streams: Mapping[str, Input]) -> str:
    """How far time has come."""
    late = max(one.stream.lateness_us for one in streams.values())
    less = f", less {format_duration(late)} of lateness" if late else " (no lateness)"
    return f"the smallest of the streams' newest times{less}; it never goes back"


def emitted(plan: MultiPlan) -> str:
    """When results come out."""
    if not plan.streaming:
        return "everything at the end: all rows are there"
    if any(step.join.counted for step in plan.resolved.steps):
        return "results once the watermark has passed their last row, whose place is known then"
    return "results at once, in the batch of their last row"


def idle(plan: MultiPlan) -> str:
    """What becomes of a silent input."""
    us = plan.resolved.steps[-1].join.idle_us
    if us is None:
        return "holds the watermark until it brings a row"
    return f"no longer holds the watermark after {format_duration(us)} without a row"
