"""What to expect of a join of two streams, what budgets would mean, and what may go wrong."""

from collections.abc import Iterator
from dataclasses import replace
from math import exp
from typing import Final

from streamjoin.explanations.expected import (
    BASES,
    BUDGET_PARTS,
    ITSELF,
    Expected,
    Meaning,
    Meanings,
    Resource,
    cpu_words,
    left_to_spark,
    time_warnings,
)
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.window_planned import Planned, need_for, plan_for
from streamjoin.explanations.window_situation import Matches, Situation
from streamjoin.explanations.window_words import NAMES
from streamjoin.explanations.wording import BATCH_SECONDS, about, percent
from streamjoin.joins.report import Advice
from streamjoin.metrics.words import size as format_bytes
from streamjoin.shedding.limits import Shedding

_ALONE: Final = "if matches are spread evenly over the rows"


def assumed_matches(at: Situation) -> Matches:
    """One match for each row, where nothing else is known."""
    pairs = _pairs(at)
    return Matches(min(1.0, sum(at.rates) / pairs) if pairs else 0.0, "assumed")


def expect(at: Situation, cores: int, *, is_reflexive: bool = False) -> Expected:
    """What a join of two streams brings, and what it takes."""
    matches = at.matches or assumed_matches(at)
    pairs = _pairs(at)
    rows, how = _rows(at, matches, matches.share * pairs)
    need = need_for(at, at.rates)
    rest = "; Spark then checks the rest" if at.plan.resolved.rest else ""
    basis, itself = BASES[matches.basis], ITSELF if is_reflexive else ""
    return Expected(
        rows_per_second=rows,
        selectivity=matches.share,
        basis=matches.basis,
        cpu_s=need.receiving + need.comparing,
        cores=cores,
        output=f"{about(rows)} rows/s{how}: of {about(pairs)} pairs/s within the windows "
        f"{percent(matches.share)} match ({basis}){rest}{itself}",
        cpu=cpu_words(need.receiving, need.comparing, cores, "to find and hand out results"),
    )


def _pairs(at: Situation) -> float:
    """Pairs per second that are within the windows."""
    left, right = (
        rate * stream.window_us / 1e6 if stream.window_rows is None else float(stream.window_rows)
        for stream, rate in zip(at.join.streams, at.rates, strict=True)
    )
    return at.rates[1] * left + at.rates[0] * right


def _rows(at: Situation, matches: Matches, pairs: float) -> tuple[float, str]:
    """Rows that come out, and what is taken for granted for that."""
    (left, right), how, partnered = at.rates, at.join.how, matches.partnered
    alone_left = left * (exp(-pairs / left) if partnered is None else 1 - partnered)
    alone_right = right * exp(-pairs / right)
    guess = "" if partnered is not None and how not in ("right", "full") else f", {_ALONE}"
    if how == "inner":
        return pairs, ""
    if how == "asof":
        return left, ", one for each left row"
    if how == "semi":
        return left - alone_left, guess
    if how == "anti":
        return alone_left, guess
    alone = (alone_left if how != "right" else 0.0) + (alone_right if how != "left" else 0.0)
    return pairs + alone, f", {about(alone)} of them without a partner{guess}"


def burst_words(at: Situation, times: float, cores: int) -> str | None:
    """What becomes of a time in which all streams bring some times as many rows."""
    if not at.rates_given or at.matches is None or times <= 1:
        return None
    high = replace(at, rates=(at.rates[0] * times, at.rates[1] * times))
    expected = expect(high, cores)
    cpu = f"In the burst, at {times:g} times the rates, it takes about {expected.cpu_s:.2g} s"
    shedding = at.join.shedding
    if shedding is None:
        return f"{cpu} of CPU a second, {percent(expected.share)} of the cores."
    planned = plan_for(high, shedding)
    left = "nothing is left out" if planned.fits else f"about {percent(planned.share)} remain"
    return f"{cpu} of CPU a second for everything: {left} within the budget."


def meanings(at: Situation, expected: Expected) -> Meanings:
    """What budgets would mean: how much would give way, and which part of the results remains."""
    if at.join.how != "inner" or at.join.is_ordered:
        return Meanings((), "a budget is for inner joins over windows of time: this one is exact")
    assumed = (
        "assumed: results lie evenly in the windows; where they do not, more of them are found"
    )
    if at.matches is not None and at.matches.basis == "sample":
        assumed = "a sample of the streams shows results evenly in the windows"
        if at.matches.ages is not None:
            assumed = "a sample of the streams shows where in the windows results are"
    note = f"of CPU by the model of Gedik et al., of memory by that of Kang et al.; {assumed}"
    rows, whole = [], sum(side.bytes for side in at.sides)
    for part in BUDGET_PARTS:
        us = part * expected.cpu_s * 1e6 / at.plan.routing.n_shards
        planned = plan_for(at, Shedding(cpu_us_per_second=us, policy="best", copies=at.copies))
        budget, gone = f"cpu={part * expected.share:.2g}", _left_out(at, planned)
        rows.append(_meaning("cpu", part, budget, gone, planned.share))
    for part in BUDGET_PARTS if whole else ():
        planned = plan_for(at, Shedding(memory=part * whole, copies=at.copies))
        budget, gone = f'memory="{format_bytes(part * whole)}"', _forgotten(at, planned)
        rows.append(_meaning("memory", part, budget, gone, planned.share))
    return Meanings(tuple(rows), note)


def _meaning(resource: Resource, part: float, budget: str, gone: str, recall: float) -> Meaning:
    if part == 1:  # leaves nothing out, whatever rounding makes of it
        gone, recall = "nothing", 1.0
    return Meaning(resource, part, budget, gone, recall)


def _left_out(at: Situation, planned: Planned) -> str:
    parts = []
    dropped = 1 - sum(planned.rates) / sum(at.rates)
    if dropped > 0.005:
        parts.append(f"{100 * dropped:.0f} % of the rows")
    if planned.fraction < 1:
        parts.append(f"{100 * (1 - planned.fraction):.0f} % of the comparisons")
    return ", ".join(parts) or "nothing"


def _forgotten(at: Situation, planned: Planned) -> str:
    if planned.memory is None or planned.fits:
        return "nothing"
    cut = []
    for held, side in zip(planned.memory, at.sides, strict=True):
        gone = 1 - held / side.bytes if side.bytes else 0.0
        if gone > 0.005:
            part = "all" if gone > 0.995 else f"the oldest {100 * gone:.0f} %"
            cut.append(f"{part} of {side.side}")
    return ", ".join(cut)


def warnings(at: Situation, planned: Planned | None, expected: Expected | None) -> Iterator[Advice]:
    """All warnings of a join, from what its state, its budget and its CPU come to."""
    plan = at.plan
    yield from _about_pairs(plan)
    yield from _about_shards(plan)
    if plan.streaming:
        yield from _about_time(plan)
    if plan.budget is not None:
        yield from _about_cpu(plan)
    if planned is not None:
        yield from _about_memory(at, planned)
    if expected is not None and plan.budget is None:
        yield from expected.warnings()


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
    yield from left_to_spark(where.rest if where else (), "pairs")


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
    kept = "other are all kept"
    if join.keeps(0) or join.keeps(1):
        kept += " and rows without a partner wait"
    windows = {f"{name} window": one for name, one in zip(NAMES, join.streams, strict=True)}
    can_end = bounded or join.idle_us is not None
    yield from time_warnings(windows, can_end=can_end, every="both", kept=kept)
    if join.is_ordered:
        yield Advice(
            "waits_for_watermark",
            "a window counts rows: a row is joined when the watermark has passed it, as only then "
            "its place is known",
        )


def _about_cpu(plan: JoinPlan) -> Iterator[Advice]:
    """With CPU limited, a shard with a hot key leaves out more than the others."""
    budget, shedding = plan.budget, plan.resolved.join.shedding
    if budget is None or budget.cpu is None or shedding is None:
        return
    if plan.resolved.join.left.key and plan.routing.n_shards > 1:
        does = "makes a smaller part of its comparisons" if shedding.policy else "drops more rows"
        yield Advice(
            "hot_keys_stay",
            "a key with very many rows is not spread over shards while there is a budget: its "
            f"shard has its part of the CPU and {does} than the others",
        )


def _about_memory(at: Situation, planned: Planned) -> Iterator[Advice]:
    """Windows that hold less than a batch are of little use to the next one."""
    shedding = at.join.shedding
    if shedding is None or planned.memory is None or planned.fits:
        return
    seconds = 0.0
    for side, memory, rate in zip(at.sides, planned.memory, planned.rates, strict=True):
        size = 1.0 if shedding.memory_unit == "rows" else side.bytes_per_row
        seconds = max(seconds, memory / (size * side.copies * rate))
    if seconds < BATCH_SECONDS:
        yield Advice(
            "little_memory",
            f"the memory holds at most {seconds:.2g} s of a stream: rows of different batches will "
            "hardly meet; give more of it",
        )
