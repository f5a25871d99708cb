"""All planners by name."""

from collections.abc import Callable
from typing import Final

from streamjoin.errors import ConfigError
from streamjoin.planning.allocation import Allocation
from streamjoin.planning.cover import Refresh
from streamjoin.planning.exact import exact
from streamjoin.planning.heuristics import e_best_hjp, equal_hj, global_hjpr, s_best_hjp
from streamjoin.planning.jaqpot import grepp, jaqpot
from streamjoin.planning.plan_model import PlanModel
from streamjoin.planning.timed_plan import TimedPlan, best_mix

_BLIND: Final[dict[str, Callable[[PlanModel, float], Allocation]]] = {
    "grepp": grepp,
    "equal-hj": equal_hj,
    "global-hjpr": global_hjpr,
    "e-best-hjp": e_best_hjp,
    "s-best-hjp": s_best_hjp,
}

PLANNERS: Final = ("jaqpot", "exact", *_BLIND)
"""The first two keep states fresh; the others see throughput only."""


def allocate(
    planner: str, model: PlanModel, mu: float, refresh: Refresh | None = None
) -> Allocation:
    """Divide resources among the half-way joins of a plan.

    Parameters
    ----------
    planner
        One of `PLANNERS`.
    model
        The plan.
    mu
        Resources per second, in the unit of the model's costs.
    refresh
        What keeps results fresh. "exact" has it for less than "jaqpot": tuples that refresh a
        state need not all probe on. Not for a `TimedPlan`, whose states are never stale; both then
        give the optimum, `best_mix`.

    Examples
    --------
    >>> from streamjoin.planning.tree import Tree
    >>> tree = Tree.parse("(a b) c")
    >>> model = PlanModel.of(tree, [500, 700, 600], [5000, 500, 1000, 200], [0.001, 0.005])
    >>> for planner in PLANNERS:
    ...     print(f"{planner:12} {allocate(planner, model, 300).throughput:6.1f}")
    jaqpot       1250.0
    exact        1250.0
    grepp        1250.0
    equal-hj      450.0
    global-hjpr   678.3
    e-best-hjp    750.0
    s-best-hjp   1250.0
    """
    if isinstance(model, TimedPlan) and planner in ("jaqpot", "exact"):
        return best_mix(planner, model, mu)
    if planner == "jaqpot":
        return jaqpot(model, mu, refresh)
    if planner == "exact":
        return exact(model, mu, refresh, match=False)
    if planner not in _BLIND:
        msg = f"planner: got {planner!r}; allowed: {', '.join(PLANNERS)}"
        raise ConfigError(msg)
    return _BLIND[planner](model, mu)
