"""An explanation in a few sentences: what is joined, what that takes, what to look out for."""

from collections.abc import Iterator, Sequence
from typing import Final

from streamjoin.explanations.budget import BATCH_SECONDS
from streamjoin.explanations.expected import Expected, percent
from streamjoin.explanations.join import JoinExplanation
from streamjoin.explanations.plan import PlanExplanation
from streamjoin.explanations.plan_numbers import about
from streamjoin.explanations.state import format_bytes
from streamjoin.explanations.table import TableExplanation
from streamjoin.explanations.warnings import Advice

TIGHT: Final = 0.5
"""Spark itself needs CPU too: with more than this part of it for the join there may be too
little."""
_KINDS: Final = {
    "inner": "Pairs each row of {a} with the rows of {b} {match}.",
    "left": "Gives each row of {a} with the rows of {b} {match}, or alone if there is none.",
    "right": "Gives each row of {b} with the rows of {a} {match}, or alone if there is none.",
    "full": "Pairs rows of {a} with the rows of {b} {match}; rows of both without a partner come "
    "out alone.",
    "semi": "Gives the rows of {a} for which there is a row of {b} {match}.",
    "anti": "Gives the rows of {a} for which there is no row of {b} {match}.",
    "asof": "Gives each row of {a} with one row of {b} {match}, or with nulls if there is none.",
}


def answer_of_join(join: JoinExplanation) -> Iterator[str]:
    """A join of two streams."""
    a, b = (_with_rate(name, rate) for name, rate in zip(join.streams, _rates(join), strict=True))
    yield _KINDS[join.how].format(a=a, b=b, match=_match(join))
    if not join.streaming:
        yield "All rows are there, so the result comes at the end and nothing is remembered."
        return
    held = sum(side.bytes for side in join.state)
    rows = sum(side.rows for side in join.state)
    remembered = f"{format_bytes(held)} are remembered ({about(rows)} rows)"
    if join.expected is None:
        yield (
            f"At 1,000 rows/s a side about {remembered}; give rates=(left, right), and "
            "selectivities if known, to see what comes out, the CPU that takes and what a budget "
            "would mean."
        )
    else:
        comes_out = _comes_out(join.expected, join.budget is not None, known=join.how == "asof")
        yield f"{comes_out}; about {remembered}."
        yield _takes(join.expected, limited=join.budget is not None)
    if join.budget is not None and join.budget.planned is not None:
        planned = join.budget.planned
        yield _kept(join.budget.limits, planned.fits, planned.share, join.expected)
    elif join.budget is not None:
        yield f"The budget is {join.budget.limits}."
    if join.burst is not None:
        yield join.burst
    yield from _look_out(join.warnings)


def answer_of_plan(plan: PlanExplanation) -> Iterator[str]:
    """A join of many streams."""
    rates = {} if plan.numbers is None else plan.numbers.rates
    streams = [_with_rate(name, rates.get(name)) for name in plan.streams]
    how = "one n-ary join" if plan.tree is None else f"a tree of {len(plan.streams) - 1} joins"
    if plan.strategy is not None and plan.strategy.strategy == "auto":
        how = "one n-ary join or a tree of joins, whichever is cheaper"
        if plan.strategy.expected is not None:
            expects = "one n-ary join" if plan.strategy.expected == "mjoin" else "the tree"
            how = f"{how} (to expect: {expects})"
    equal = " and ".join(c.text for c in plan.conditions if c.place == "key")
    yield f"Combines rows of {_listed(streams)} where {equal}, by {how}."
    if not plan.streaming:
        yield "All rows are there, so the result comes at the end."
        return
    if plan.expected is None or plan.state_bytes is None:
        yield (
            "Give rates, and selectivities if known, to see what comes out, what is remembered, "
            "the CPU that takes and what a budget would mean."
        )
    else:
        held = format_bytes(plan.state_bytes)
        yield f"{_comes_out(plan.expected, bool(plan.budget))}; about {held} are remembered."
        yield _takes(plan.expected, limited=bool(plan.budget))
    if plan.budget and plan.numbers is not None:
        planners = plan.numbers.planners
        share = planners[0].share if planners else 1.0
        yield _kept(plan.budget[0], not planners, share, plan.expected)
    yield from _look_out(plan.warnings)


def answer_of_table(join: TableExplanation) -> Iterator[str]:
    """A join with a table."""
    stream = _with_rate(join.stream, join.rate)
    mine = " and ".join(mine for mine, _ in join.key)
    alone = ", or alone if there is none" if join.how == "left" else ""
    many = f"{join.sizes.rows:,} rows, {format_bytes(join.sizes.bytes)}"
    yield f"Gives each row of {stream} with the table's row of its {mine} ({many}){alone}."
    told = f"; the cache is expected to answer {percent(join.hits)} of the rows"
    yield f"The memory is {join.memory[0]}{told if join.hits else ''}; the others are looked up."
    if join.expected is not None:
        yield _takes(join.expected, limited=join.limited is not None)
    if join.limited is not None:
        yield f"The budget of CPU is {join.limited}: rows for which there is no time come later."
    yield from _look_out(join.warnings)


def _rates(join: JoinExplanation) -> Sequence[float | None]:
    if not join.state or not join.state[0].rate_given:
        return None, None
    return [side.rows_per_second for side in join.state]


def _with_rate(name: str, rate: float | None) -> str:
    return name if rate is None else f"{name} ({about(rate)} rows/s)"


def _listed(names: Sequence[str]) -> str:
    return " and ".join([*([", ".join(names[:-1])] if len(names) > 1 else []), names[-1]])


def _match(join: JoinExplanation) -> str:
    """What a row of the one stream must fulfil for one of the other."""
    same = [a for a, b in join.keys if a == b]
    others = [join.named(c.text) for c in join.conditions if c.place != "key"]
    others += [f"{join.streams[0]}.{a} = {join.streams[1]}.{b}" for a, b in join.keys if a != b]
    said = [f"of the same {_listed(same)}"] if same else []
    said.append(_when(join))
    return " ".join(said) + (f", where {' and '.join(others)}" if others else "")


def _when(join: JoinExplanation) -> str:
    """How far apart in time rows may be."""
    after, before = join.lengths
    if join.how == "asof":
        which = "the nearest" if join.direction == "nearest" else "the last one"
        return f"that is {which}, at most {before or after} {'before it' if not after else 'away'}"
    if any(length is not None and length.endswith(" rows") for length in join.lengths):
        kept = zip(join.streams, join.lengths, strict=True)
        return "among the last rows (" + ", ".join(f"{n}: {k or 'none'}" for n, k in kept) + ")"
    if join.how == "right":  # the other way round
        after, before = before, after
    if after == before:
        return f"up to {after} before or after it" if after else "at the same time"
    if before is None:
        return f"up to {after} after it"
    return f"up to {before} before it" + (f" or {after} after it" if after else "")


def _comes_out(found: Expected, limited: bool, *, known: bool = False) -> str:
    guess = ""
    if found.is_assumed and not known:
        guess = ", if each row has one match" if found.selectivity else ", by assumed selectivities"
    rows = f"{about(found.rows_per_second)} rows/s"
    if limited:
        return f"Without its budget about {rows} would come out{guess}"
    return f"About {rows} come out{guess}"


def _takes(found: Expected, *, limited: bool) -> str:
    cores = f"{found.cores} core{'' if found.cores == 1 else 's'}"
    said = (
        f"It takes about {found.cpu_s:.2g} s of CPU for each second of the streams, "
        f"{percent(found.share)} of {cores}"
    )
    if limited:
        return f"{said}, for everything."
    if found.share > 1:
        return f"{said}: too much, the query would fall behind."
    if found.share > TIGHT:
        return f"{said}: that is tight, as Spark needs CPU too."
    return f"{said}: it fits."


def _kept(limits: str, fits: bool, share: float, found: Expected | None) -> str:
    batches = f", for batches of {BATCH_SECONDS:g} s," if "a batch" in limits else ""
    said = f"The budget ({limits}){batches}"
    if fits:
        return f"{said} is enough: nothing is left out."
    rows = "" if found is None else f", {about(share * found.rows_per_second)} rows/s"
    return f"{said} is less than it takes: about {percent(share)} of the results come out{rows}."


def _look_out(warnings: Sequence[Advice]) -> Iterator[str]:
    if warnings:
        codes = ", ".join(warning.code.replace("_", " ") for warning in warnings)
        yield f"Look out for: {codes} (see ! below)."
