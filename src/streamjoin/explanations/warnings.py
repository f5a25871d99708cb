"""What may go wrong with a join, before it does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from streamjoin.durations import format_duration
from streamjoin.explanations.budget import BATCH_SECONDS, Planned
from streamjoin.explanations.expected import Expected
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.state import SideEstimate
from streamjoin.explanations.words import NAMES

LONG_US: Final = 86_400_000_000


@dataclass(frozen=True)
class Advice:
    """A warning: a word for programs, and a sentence with what to do."""

    code: str
    text: str


def advice(
    plan: JoinPlan,
    sides: Sequence[SideEstimate],
    planned: Planned | None,
    found: Expected | None,
) -> Iterator[Advice]:
    """All warnings of a join, from what its state, its budget and its CPU come to."""
    yield from _about_pairs(plan)
    yield from _about_shards(plan)
    if plan.streaming:
        yield from _about_time(plan)
    if plan.budget is not None:
        yield from _about_cpu(plan)
    if planned is not None:
        yield from _about_memory(plan, sides, planned)
    if found is not None and plan.budget is None:
        yield from about_need(found)


def about_need(found: Expected) -> Iterator[Advice]:
    """What is needed and not there makes a query fall behind."""
    if found.share > 1:
        yield Advice(
            "too_little_cpu",
            f"too little CPU: a second of the streams takes about {found.cpu_s:.2g} s of it and "
            f"there {'is' if found.cores == 1 else 'are'} {found.cores} core"
            f"{'' if found.cores == 1 else 's'}, so the query would fall behind; give a `budget`",
        )


def _about_pairs(plan: JoinPlan) -> Iterator[Advice]:
    join, where = plan.resolved.join, plan.resolved.where
    if not join.left.key and join.how != "asof":
        if join.predicate is None and not (where and where.rest):
            yield Advice(
                "cross_join",
                "cross join: no key and no condition, so every pair within the windows comes out; "
                "give `on` or `where`",
            )
        elif join.band is None and join.sets is None:
            yield Advice(
                "all_pairs",
                "no key and no band: every pair within the windows is looked at; an equality, "
                "abs(left.x - right.y) <= e or an overlap of sets in `where` would be indexed",
            )
    for text in where.rest if where else ():
        yield Advice(
            "left_to_spark",
            f"{text} is left to Spark: pairs are built first and dropped afterwards, and the "
            "counters count them",
        )


def _about_shards(plan: JoinPlan) -> Iterator[Advice]:
    join = plan.resolved.join
    if plan.routing.n_shards == 1:
        full = not join.left.key and join.how == "full"
        why = "a full join without an equality cannot be split" if full else "there is one shard"
        yield Advice("one_shard", f"one core does all the work: {why}")
    elif plan.n_partitions == 1:
        yield Advice(
            "one_partition",
            "one core does all the work: there is one partition (spark.sql.shuffle.partitions)",
        )


def _about_time(plan: JoinPlan) -> Iterator[Advice]:
    join = plan.resolved.join
    bounded = plan.budget is not None and plan.budget.memory is not None
    if join.idle_us is None and not bounded:
        waits = " and rows without a partner wait" if join.keeps(0) or join.keeps(1) else ""
        yield Advice(
            "unbounded_state",
            "unbounded state: while one input is silent the rows of the other are all kept"
            f"{waits}; give `idle_timeout` if that may last",
        )
    if join.left.lateness_us == 0:
        yield Advice(
            "no_lateness",
            "no lateness: a row that is older than what both inputs had reached a batch before is "
            "left out; give `lateness` unless rows come in order of time",
        )
    for name, stream in zip(NAMES, join.streams, strict=True):
        if stream.window_us > LONG_US:
            length = format_duration(stream.window_us)
            yield Advice("long_window", f"the {name} window is long ({length}): mind the state")
    if join.is_ordered:
        yield Advice(
            "waits_for_watermark",
            "a window counts rows: a row is joined when the watermark has passed it, as only then "
            "its place is known",
        )


def _about_cpu(plan: JoinPlan) -> Iterator[Advice]:
    """With CPU limited, a shard with a hot key leaves out more than the others."""
    limited, shedding = plan.budget, plan.resolved.join.shedding
    if limited is None or limited.cpu is None or shedding is None:
        return
    if plan.resolved.join.left.key and plan.routing.n_shards > 1:
        does = (
            "drops more rows"
            if shedding.policy is None
            else "makes a smaller part of its comparisons"
        )
        yield Advice(
            "hot_keys_stay",
            "a key with very many rows is not spread over shards while there is a budget: its "
            f"shard has its part of the CPU and {does} than the others",
        )


def _about_memory(
    plan: JoinPlan, sides: Sequence[SideEstimate], planned: Planned
) -> Iterator[Advice]:
    """Windows that hold less than a batch are of little use to the next one."""
    shedding = plan.resolved.join.shedding
    if shedding is None or planned.memory is None or planned.fits:
        return
    seconds = []
    for side, memory, rate in zip(sides, planned.memory, planned.rates, strict=True):
        size = 1.0 if shedding.memory_unit == "rows" else side.bytes_per_row
        seconds.append(memory / (size * side.copies * rate))
    if max(seconds) < BATCH_SECONDS:
        yield Advice(
            "little_memory",
            f"the memory holds at most {max(seconds):.2g} s of a stream: rows of different batches "
            "will hardly meet; give more of it",
        )
