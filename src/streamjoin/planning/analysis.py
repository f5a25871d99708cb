"""Run a planner, also beside the work that it plans (Mukherji 2011, Section 4.4)."""

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread

from streamjoin.errors import ConfigError
from streamjoin.planning.allocation import Allocation
from streamjoin.planning.cover import Refresh
from streamjoin.planning.plan_model import PlanModel
from streamjoin.planning.planners import allocate
from streamjoin.planning.refresh import refresh_rates


@dataclass(frozen=True, eq=False)
class Analysis:
    """What a planner was asked, and what it recommends.

    Parameters
    ----------
    model, mu
        The plan and its resources per second.
    refresh
        What keeps results fresh, if that was asked for.
    allocation
        What is recommended.
    """

    model: PlanModel
    mu: float
    refresh: Refresh | None
    allocation: Allocation


def analyse(
    planner: str, model: PlanModel, mu: float, freshness: Sequence[float] | None = None
) -> Analysis:
    """Turn freshness into refresh rates, and plan.

    Parameters
    ----------
    planner, model, mu
        As for `allocate`.
    freshness
        As for `refresh_rates`.
    """
    refresh = None if freshness is None else refresh_rates(model, freshness)
    return Analysis(model, mu, refresh, allocate(planner, model, mu, refresh))


class Analyst:
    """Analyses in a thread of its own, so that the join goes on meanwhile.

    What it finds depends on its inputs only, never on how long it takes: who needs the result at a
    certain point of the work asks for it there, and waits if need be.

    Examples
    --------
    >>> from streamjoin.planning.tree import Tree
    >>> model = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.001, 0.005])
    >>> analyst = Analyst()
    >>> analyst.start("jaqpot", model, 300)
    >>> analyst.result().allocation.throughput
    1500.0
    """

    def __init__(self) -> None:
        self._pending: Future[Analysis] | None = None

    def start(
        self, planner: str, model: PlanModel, mu: float, freshness: Sequence[float] | None = None
    ) -> None:
        """Begin an analysis; the result of an earlier one is given up."""
        pending: Future[Analysis] = Future()

        def run() -> None:
            try:
                pending.set_result(analyse(planner, model, mu, freshness))
            except BaseException as error:
                pending.set_exception(error)

        self._pending = pending
        Thread(target=run, name="streamjoin-analyst", daemon=True).start()

    def result(self) -> Analysis:
        """What the last analysis found, or its error."""
        if self._pending is None:
            msg = "result: got no analysis; allowed: after start"
            raise ConfigError(msg)
        return self._pending.result()
