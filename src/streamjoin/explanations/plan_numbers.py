"""A plan of many joins in numbers, and how these are written."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NOTHING: Final = 1e-6


@dataclass(frozen=True)
class HalfWayExplanation:
    """One half-way join: tuples of one node that probe the state of another.

    Parameters
    ----------
    tuples, probes
        The two nodes, by their streams.
    arriving
        Tuples per second that come to probe, if all before them do.
    selectivity
        Share of the state that matches one of them.
    productivity
        Matches of one.
    state
        Tuples remembered of the first node.
    allowance
        How many may probe per second; None where all may.
    refresh
        New tuples per second that keep the first node's state fresh; None where none are needed.
    """

    tuples: str
    probes: str
    arriving: float
    selectivity: float
    productivity: float
    state: float
    allowance: float | None
    refresh: float | None

    def cells(self) -> tuple[str, ...]:
        """Cells of the table."""
        return (
            f"{self.tuples} -> {self.probes}",
            write(self.arriving),
            f"{self.selectivity:.3g}",
            write(self.productivity),
            write(self.state),
            "all" if self.allowance is None else f"{write(self.allowance)}/s",
            "" if self.refresh is None else f"{write(self.refresh)}/s",
        )


@dataclass(frozen=True)
class PathExplanation:
    """The way of one stream's tuples to the results.

    Parameters
    ----------
    stream
        The stream.
    steps
        Its half-way joins, from the first.
    results, probes
        What one of its tuples yields and takes, if all that it forms probe on.
    productivity
        Results for one unit of cost.
    """

    stream: str
    steps: tuple[str, ...]
    results: float
    probes: float
    productivity: float


@dataclass(frozen=True)
class PlannerExplanation:
    """What a planner makes of the budget.

    Parameters
    ----------
    planner
        Its name.
    results
        Results per second.
    share
        Part of the exact result.
    cover
        Part of the budget, per second, that keeps states fresh.
    infeasible
        Why the freshness asked for cannot be had; None if it can, or if the planner does not care.
    """

    planner: str
    results: float
    share: float
    cover: float
    infeasible: str | None


@dataclass(frozen=True)
class PlanNumbers:
    """A plan in numbers.

    Parameters
    ----------
    rates, selectivities
        What they come from: rows per second by stream, selectivities by join.
    half_way, paths
        All half-way joins and paths.
    results, cost
        Results per second, and what all probes cost, when every tuple probes.
    unit
        Of costs.
    budget
        What may be spent on probes per second; None without a budget.
    planners
        What each would make of it; empty where the budget is enough.
    infeasible
        Why the freshness asked for cannot be had, whoever plans.
    """

    rates: dict[str, float]
    selectivities: dict[str, float]
    half_way: tuple[HalfWayExplanation, ...]
    paths: tuple[PathExplanation, ...]
    results: float
    cost: float
    unit: str
    budget: float | None
    planners: tuple[PlannerExplanation, ...]
    infeasible: str | None

    def table(self) -> Iterator[str]:
        """The half-way joins, aligned."""
        head = ("tuples -> state", "tuples/s", "sel.", "finds", "state", "allowance", "refresh")
        lines = [head, *(one.cells() for one in self.half_way)]
        shown = [i for i in range(len(head)) if i == 0 or any(line[i] for line in lines[1:])]
        widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
        for line in lines:
            cells = [line[0].ljust(widths[0])] + [line[i].rjust(widths[i]) for i in shown[1:]]
            yield "  ".join(cells).rstrip()

    def ways(self) -> Iterator[str]:
        """The paths, aligned."""
        width = max(len(path.stream) for path in self.paths)
        for path in self.paths:
            steps = ", ".join(path.steps)
            yield (
                f"{path.stream.ljust(width)}  {steps}: {write(path.results)} results for "
                f"{write(path.probes)} probes, {write(path.productivity)} a {self.unit}"
            )

    def spent(self) -> Iterator[str]:
        """What the budget comes to."""
        unit = "probes/s" if self.unit == "probe" else "us of CPU/s"
        yield f"all tuples probe: {write(self.results)} results/s for {write(self.cost)} {unit}"
        if self.budget is None:
            return
        enough = "" if self.planners else ": enough, nothing is left out"
        part = 100 * self.budget / self.cost if self.cost else 100
        yield f"for probes there are {write(self.budget)} {unit}, {part:.3g} %{enough}"
        width = max((len(one.planner) for one in self.planners), default=0)
        for one in self.planners:
            cover = f", {write(one.cover)} {unit} of it for freshness" if one.cover else ""
            results = f"{write(one.results)} results/s"
            yield f"{one.planner.ljust(width)}  {100 * one.share:5.3g} %, {results}{cover}"


def write(n: float) -> str:
    """Write a number.

    Examples
    --------
    >>> write(50000.0), write(2.5), write(0.00012), write(0)
    ('50,000', '2.5', '0.00012', '0')
    """
    return f"{n:,.0f}" if n >= 100 else f"{n:.3g}"


def about(n: float) -> str:
    """Write an estimate: three digits of it, and next to nothing as nothing.

    Examples
    --------
    >>> about(10728.3), about(2.5), about(0.00012), about(1e-9)
    ('10,700', '2.5', '0.00012', '0')
    """
    return write(float(f"{n:.3g}")) if n > NOTHING else "0"
