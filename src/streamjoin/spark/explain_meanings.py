"""What budgets would mean: how much would give way, and which part of the results remains."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from streamjoin.joins.routing import copies
from streamjoin.shedding.limits import Shedding
from streamjoin.spark.explain_budget import Planned, plan_for
from streamjoin.spark.explain_expected import Expected
from streamjoin.spark.explain_matches import Matches
from streamjoin.spark.explain_state import SideEstimate, format_bytes
from streamjoin.spark.plans import JoinPlan

PARTS: Final = (1.0, 0.5, 0.25, 0.1)
"""Parts of what is needed that budgets are explained for."""
_HEAD: Final = ("of the need", "budget", "recall", "what gives way")


@dataclass(frozen=True)
class Meaning:
    """What a budget of some size would mean.

    Parameters
    ----------
    resource
        What is limited.
    part
        How much of it there would be, as a part of what the join needs.
    budget
        As an argument of `streamjoin.Budget`.
    gives_way
        What would be left out.
    recall
        About which part of the results would remain.
    """

    resource: Literal["cpu", "memory"]
    part: float
    budget: str
    gives_way: str
    recall: float

    def cells(self) -> tuple[str, str, str, str]:
        """Cells of the table."""
        resource = "CPU" if self.resource == "cpu" else "memory"
        found = f"{100 * self.recall:.3g} %"
        return f"{100 * self.part:.0f} % {resource}", self.budget, found, self.gives_way


@dataclass(frozen=True)
class Meanings:
    """Budgets of several sizes.

    Parameters
    ----------
    rows
        One for each budget.
    note
        What they assume, or why there are none.
    """

    rows: tuple[Meaning, ...]
    note: str

    def table(self) -> Iterator[str]:
        """The table, aligned, and the note."""
        if self.rows:
            lines = [_HEAD, *(row.cells() for row in self.rows)]
            need, budget, recall = (max(len(line[i]) for line in lines) for i in range(3))
            for line in lines:
                head = f"{line[0]:<{need}}  {line[1]:<{budget}}  {line[2]:>{recall}}"
                yield f"{head}  {line[3]}"
        yield self.note


def meanings(
    plan: JoinPlan,
    sides: Sequence[SideEstimate],
    rates: tuple[float, float],
    matches: Matches,
    found: Expected,
) -> Meanings:
    """Budgets of a join of two streams."""
    join = plan.resolved.join
    if join.how != "inner" or join.is_ordered:
        return Meanings((), "a budget is for inner joins over windows of time: this one is exact")
    rows = [*_of_cpu(plan, sides, rates, matches, found), *_of_memory(plan, sides, rates, matches)]
    return Meanings(tuple(rows), _note(matches))


def _note(matches: Matches) -> str:
    said = "assumed: results lie evenly in the windows; where they do not, more of them are found"
    if matches.basis == "sample":
        said = "a sample of the streams shows results evenly in the windows"
        if matches.ages is not None:
            said = "a sample of the streams shows where in the windows results are"
    return f"of CPU by the model of Gedik et al., of memory by that of Kang et al.; {said}"


def _of_cpu(
    plan: JoinPlan,
    sides: Sequence[SideEstimate],
    rates: tuple[float, float],
    matches: Matches,
    found: Expected,
) -> Iterator[Meaning]:
    n_shards = plan.routing.n_shards
    for part in PARTS:
        budget = f"cpu={part * found.share:.2g}"
        if part == 1:
            yield Meaning("cpu", part, budget, "nothing", 1.0)
            continue
        us = part * found.cpu_s * 1e6 / n_shards
        limits = Shedding(cpu_us_per_second=us, policy="best", copies=copies(plan.routing))
        planned = plan_for(plan, limits, sides, rates, matches)
        yield Meaning("cpu", part, budget, _left_out(planned, rates), planned.share)


def _left_out(planned: Planned, rates: tuple[float, float]) -> str:
    said = []
    dropped = 1 - sum(planned.rates) / sum(rates)
    if dropped > 0.005:
        said.append(f"{100 * dropped:.0f} % of the rows")
    if planned.fraction < 1:
        said.append(f"{100 * (1 - planned.fraction):.0f} % of the comparisons")
    return ", ".join(said) or "nothing"


def _of_memory(
    plan: JoinPlan, sides: Sequence[SideEstimate], rates: tuple[float, float], matches: Matches
) -> Iterator[Meaning]:
    whole = sum(side.bytes for side in sides)
    for part in PARTS if whole else ():
        budget = f'memory="{format_bytes(part * whole)}"'
        if part == 1:
            yield Meaning("memory", part, budget, "nothing", 1.0)
            continue
        limits = Shedding(memory=part * whole, copies=copies(plan.routing))
        planned = plan_for(plan, limits, sides, rates, matches)
        yield Meaning("memory", part, budget, _forgotten(planned, sides), planned.share)


def _forgotten(planned: Planned, sides: Sequence[SideEstimate]) -> str:
    if planned.memory is None or planned.fits:
        return "nothing"
    cut = []
    for held, side in zip(planned.memory, sides, strict=True):
        gone = 1 - held / side.bytes if side.bytes else 0.0
        if gone > 0.005:
            part = "all" if gone > 0.995 else f"the oldest {100 * gone:.0f} %"
            cut.append(f"{part} of {side.side}")
    return ", ".join(cut)
