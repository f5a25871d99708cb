"""The solvers by themselves: steps, quality and times (JAQ-C13, C29, C30), and JAQPOT's optimum.

Beyond the paper: JAQPOT against the exact linear programme, on random plans of 3 to 8 streams in
any shape. Their numbers are from the paper's Table 3 or *light*, with 0.2 to 6 matches a probe,
where a cover takes more of the resources. Resources are any part of saturation or *tight*, one to
three times what the cheapest cover costs.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np

from papers.base import Context, Numbers
from papers.jaqpot.knapsack import by_multiples, dynamic
from papers.jaqpot.plan_streams import Parameters, Range
from papers.jaqpot.workload import FRESHNESS, TABLE_3, Setting
from papers.operators.plan_window import Second
from papers.operators.plan_window_policy import Planned
from streamjoin.planning.many.cover import gh_wmscp, refresh_rates
from streamjoin.planning.many.jaqpot import exact, exact_cover, fill, grepp, jaqpot
from streamjoin.planning.many.plan_model import Allocation
from streamjoin.planning.many.planners import Adaptation
from streamjoin.planning.many.tree import Tree

N_PLANS: Final = 1000
STREAMS: Final = (3, 4, 6, 8, 10, 12, 16, 20)
"""Numbers of streams whose solvers are timed."""
LIGHT: Final = Parameters(sizes=Range(200, 1000), selectivities=Range(0.001, 0.006))
PLANS: Final = {"Table 3": TABLE_3, "light": LIGHT}
BUDGETS: Final = ("any", "tight")
_COUNTED: Final = (4, 8, 16, 32, 64)
_EVEN: Final = Parameters(sizes=Range(100, 200), selectivities=Range(0.008, 0.012))
"""About one match a probe: over a path of 63 joins numbers stay of one size."""


@dataclass(frozen=True)
class Gap:
    """JAQPOT on a random plan beside optima; NaN where one of the two has no cover.

    Parameters
    ----------
    plans, budget
        Kind of plan and of resources.
    jaqpot
        Its results over those of the optimum in the paper's model, where all tuples probe on.
    free
        Its results over those of the optimum over all allowances.
    cover, cover_by_multiples
        What GH-WMSCP's cover costs over the cheapest one, and if it ranks as in the discrete model.
    feasible
        Whether JAQPOT and the two optima found a cover.
    """

    plans: str
    budget: str
    jaqpot: float
    free: float
    cover: float
    cover_by_multiples: float
    feasible: tuple[bool, bool, bool]


class Counted(float):
    """A number that counts how often it is compared."""

    comparisons = 0

    def __lt__(self, other: float) -> bool:
        Counted.comparisons += 1
        return float(self) < float(other)


def random_tree(rng: np.random.Generator, n_streams: int) -> Tree:
    """Join two neighbours at random until one tree is left: every shape can come.

    Examples
    --------
    >>> print(random_tree(np.random.default_rng(2), 4))
    (s0 s1) (s2 s3)
    """
    parts = [f"s{i}" for i in range(n_streams)]
    while len(parts) > 1:
        at = int(rng.integers(len(parts) - 1))
        parts[at : at + 2] = [f"({parts[at]} {parts[at + 1]})"]
    return Tree.parse(parts[0])


def random_setting(
    seed: int, parameters: Parameters, n_streams: int | None = None
) -> tuple[Setting, np.random.Generator]:
    """A plan, and what else is to be drawn for it comes from."""
    rng = np.random.default_rng((seed, 11))
    k = int(rng.integers(3, 9)) if n_streams is None else n_streams
    return Setting.draw(random_tree(rng, k), parameters, (seed, 12)), rng


def gaps(context: Context) -> Numbers:
    """JAQPOT against linear programmes, on random plans."""
    kinds = [(plans, budget) for plans in PLANS for budget in BUDGETS]
    n = (N_PLANS // 10 if context.quick else N_PLANS) // len(kinds)
    found = []
    for plans, budget in kinds:
        context.progress(f"{n} {budget} plans, {plans}")
        found += [_gap(plans, budget, seed) for seed in range(n)]
    return {"gaps": found}


def _gap(plans: str, budget: str, seed: int) -> Gap:
    setting, rng = random_setting(seed, PLANS[plans])
    model, windows = setting.model, float(rng.uniform(FRESHNESS[0], FRESHNESS[-1]))
    refresh = refresh_rates(model, setting.freshness_s(windows), share="equal")
    cheapest = exact_cover(model, refresh)
    mu = float(rng.uniform(0.02, 1)) * model.saturation_resources
    if budget == "tight" and not cheapest.infeasible:
        mu = float(rng.uniform(1, 3)) * cheapest.cost
    found = jaqpot(model, mu, refresh)
    paths, free = exact(model, mu, refresh), exact(model, mu, refresh, match=False)
    feasible = tuple(each.infeasible is None for each in (found, paths, free))
    covers = [gh_wmscp(model, refresh, search=how).cost for how in (None, by_multiples)]
    over = [cost / cheapest.cost if not cheapest.infeasible else np.nan for cost in covers]
    return Gap(
        plans, budget, _over(found, paths), _over(found, free), over[0], over[1],
        (feasible[0], feasible[1], feasible[2]),
    )  # fmt: skip


def _over(found: Allocation, optimum: Allocation) -> float:
    if found.infeasible or optimum.infeasible:
        return float("nan")
    return found.throughput / optimum.throughput


def steps(_context: Context) -> Numbers:
    """Operations of the solvers as plans and resources grow (JAQ-C13)."""
    budgets = (100, 200, 400, 800)
    paths = list(range(3, 11))
    return {
        "mu": {mu: dynamic(paths, [p * 0.3 for p in paths], mu).steps for mu in budgets},
        "k": {k: dynamic(list(range(3, 3 + k)), [1.0] * k, 4000).steps for k in _COUNTED},
        "fill": {k: _comparisons(k, 1e3) for k in _COUNTED},
        "fill at 1000 times mu": {k: _comparisons(k, 1e6) for k in _COUNTED},
        "cover": {
            shape: {k: _cover_steps(tree(k)) for k in _COUNTED} for shape, tree in _SHAPED.items()
        },
    }


def _comparisons(k: int, mu: float) -> int:
    rng = np.random.default_rng(k)
    Counted.comparisons = 0
    fill([Counted(value) for value in rng.random(k)], [100.0] * k, mu)
    return Counted.comparisons


def _linear(k: int) -> Tree:
    return Tree.linear([f"s{i}" for i in range(k)])


def _bushy(k: int) -> Tree:
    """Of pairs, pairs of pairs and so on."""
    parts = [f"s{i}" for i in range(k)]
    while len(parts) > 1:
        parts = [f"({one} {two})" for one, two in zip(parts[::2], parts[1::2], strict=True)]
    return Tree.parse(parts[0])


_SHAPED: Final[dict[str, Callable[[int], Tree]]] = {"linear": _linear, "bushy": _bushy}


def _cover_steps(tree: Tree) -> int:
    """The most of several plans."""
    found = []
    for seed in range(5):
        setting = Setting.draw(tree, _EVEN, (seed, 13))
        refresh = refresh_rates(setting.model, setting.freshness_s(3.0), share="equal")
        found.append(gh_wmscp(setting.model, refresh, capped=False).steps)
    return max(found)


def times(context: Context) -> Numbers:
    """Milliseconds of each solver, and of what goes with an analysis (JAQ-C30)."""
    repeats = 2 if context.quick else 7
    found = {k: _times(k, repeats) for k in STREAMS}
    return {"milliseconds": found, "overhead": _overhead(repeats)}


def _times(k: int, repeats: int) -> dict[str, float]:
    setting, _ = random_setting(k, TABLE_3, k)
    model = setting.model
    mu = 0.3 * model.saturation_resources
    refresh = refresh_rates(model, setting.freshness_s(3.0), share="equal")
    solvers: dict[str, Callable[[], Any]] = {
        "GrePP": lambda: grepp(model, mu),
        "GH-WMSCP": lambda: gh_wmscp(model, refresh),
        "JAQPOT": lambda: jaqpot(model, mu, refresh),
        "cover by LP": lambda: exact_cover(model, refresh),
        "exact LP": lambda: exact(model, mu, refresh),
        "exact LP, all allowances": lambda: exact(model, mu, refresh, match=False),
        "refresh rates": lambda: refresh_rates(model, setting.freshness_s(3.0)),
    }
    return {name: _milliseconds(solver, repeats) for name, solver in solvers.items()}


def _overhead(repeats: int) -> dict[str, float]:
    """Monitoring a second, analysing, and actuating, for a plan of four streams."""
    setting, _ = random_setting(4, TABLE_3, 4)
    model = setting.model
    produced = model.saturation.produced[:-1]
    second = Second(produced, produced, produced, produced, model.sizes)
    mu, fresh = 0.3 * model.saturation_resources, setting.freshness_s(3.0)
    idle = Planned("jaqpot", model, mu, fresh, Adaptation(epsilon=9.0, tuned=False))
    stays = Planned("jaqpot", model, mu, fresh)
    return {
        "monitoring": _milliseconds(lambda: idle.after(1, second), repeats),
        "analysis": _milliseconds(lambda: Planned("jaqpot", model, mu, fresh), repeats),
        "actuation": _milliseconds(lambda: stays.after(1, second), repeats),
    }


def _milliseconds(action: Callable[[], Any], repeats: int) -> float:
    """The fastest, after one that does not count."""
    action()
    found = []
    for _ in range(repeats):
        start = perf_counter()
        action()
        found.append(1e3 * (perf_counter() - start))
    return min(found)
