"""What may go wrong with a join, before it does."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamjoin.durations import format_duration
from streamjoin.spark.explain_words import NAMES
from streamjoin.spark.plans import JoinPlan

_LONG_US: Final = 86_400_000_000


@dataclass(frozen=True)
class Advice:
    """A warning: a word for programs, and a sentence with what to do."""

    code: str
    text: str


def advice(plan: JoinPlan) -> Iterator[Advice]:
    """All warnings of a join."""
    yield from _about_pairs(plan)
    yield from _about_shards(plan)
    if plan.streaming:
        yield from _about_time(plan)


def _about_pairs(plan: JoinPlan) -> Iterator[Advice]:
    join, where = plan.resolved.join, plan.resolved.where
    if not join.left.key and join.how != "asof":
        if join.predicate is None and not (where and where.rest):
            yield Advice(
                "cross_join",
                "cross join: no key and no condition, so every pair within the windows comes out; "
                "give `on` or `where`",
            )
        elif join.band is None:
            yield Advice(
                "all_pairs",
                "no key and no band: every pair within the windows is looked at; an equality or "
                "abs(left.x - right.y) <= e in `where` would be indexed",
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
    if join.idle_us is None:
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
        if stream.window_us > _LONG_US:
            length = format_duration(stream.window_us)
            yield Advice("long_window", f"the {name} window is long ({length}): mind the state")
    if join.is_ordered:
        yield Advice(
            "waits_for_watermark",
            "a window counts rows: a row is joined when the watermark has passed it, as only then "
            "its place is known",
        )
