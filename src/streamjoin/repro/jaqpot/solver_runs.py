"""The solvers by themselves: steps, quality, times, and JAQPOT against the optimum (JAQ-C13, C29, C30).

Random plans have 3 to 8 streams in any shape, and numbers from the paper's Table 3.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.joins.plan_window import Second
from streamjoin.joins.plan_window_policy import Planned
from streamjoin.planning.adaptation import Adaptation
from streamjoin.planning.cover import gh_wmscp
from streamjoin.planning.exact import exact, exact_cover
from streamjoin.planning.jaqpot import grepp, jaqpot
from streamjoin.planning.knapsack import dynamic, fill
from streamjoin.planning.refresh import refresh_rates
from streamjoin.planning.tree import Tree
from streamjoin.repro.base import Context, Numbers
from streamjoin.repro.jaqpot.workload import FRESHNESS, TABLE_3, Setting

N_PLANS: Final = 1000
STREAMS: Final = (3, 4, 6, 8, 10, 12, 16, 20)
"""Numbers of streams whose solvers are timed."""
_COUNTED: Final = (4, 8, 16, 32)
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """JAQPOT on a random plan, as parts of the optimum; NaN where one of them found no cover.

    Parameters
    ----------
    jaqpot, path_optimum
        Results over those of the optimum in the paper's model, where all tuples probe on; and the
        latter over those of the optimum without that.
    cover
        What GH-WMSCP's cover costs over the cheapest one.
    feasible
        Whether JAQPOT, the optimum of whole paths and the optimum of all allowances found a cover.
    """

    jaqpot: float
    path_optimum: float
    cover: float
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


def random_setting(seed: int, n_streams: int | None = None) -> tuple[Setting, float, float]:
    """A plan, resources as a share of saturation, and a freshness predicate in windows."""
    rng = np.random.default_rng((seed, 11))
    k = int(rng.integers(3, 9)) if n_streams is None else n_streams
    setting = Setting.draw(random_tree(rng, k), TABLE_3, (seed, 12))
    return setting, float(rng.uniform(0.02, 1.0)), float(rng.uniform(FRESHNESS[0], FRESHNESS[-1]))


def gaps(context: Context) -> Numbers:
    """JAQPOT against the linear programme, on random plans."""
    n = N_PLANS // 10 if context.quick else N_PLANS
    context.progress(f"{n} random plans")
    return {"gaps": [_gap(*random_setting(seed)) for seed in range(n)]}


def _gap(setting: Setting, share: float, windows: float) -> Gap:
    model = setting.model
    mu = share * model.saturation_resources
    refresh = refresh_rates(model, setting.freshness_s(windows))
    found = jaqpot(model, mu, refresh)
    paths, free = exact(model, mu, refresh), exact(model, mu, refresh, match=False)
    feasible = tuple(each.infeasible is None for each in (found, paths, free))
    cheapest = exact_cover(model, refresh).cost
    cover = found.cover / cheapest if cheapest > 0 and feasible[1] else np.nan
    return Gap(
        jaqpot=found.throughput / paths.throughput if feasible[0] and feasible[1] else np.nan,
        path_optimum=paths.throughput / free.throughput if feasible[1] else np.nan,
        cover=cover,
        feasible=(feasible[0], feasible[1], feasible[2]),
    )


def steps(_context: Context) -> Numbers:
    """Operations of the solvers as plans and resources grow (JAQ-C13)."""
    budgets = (100, 200, 400, 800)
    paths = list(range(3, 11))
    return {
        "mu": {mu: dynamic(paths, [p * 0.3 for p in paths], mu).steps for mu in budgets},
        "k": {
            k: dynamic(list(range(3, 3 + k)), [1.0] * k, 4000).steps for k in _COUNTED
        },
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
    """The most of several plans with numbers from Table 3."""
    found = []
    for seed in range(5):
        setting = Setting.draw(tree, TABLE_3, (seed, 13))
        refresh = refresh_rates(setting.model, setting.freshness_s(3.0), share="equal")
        found.append(gh_wmscp(setting.model, refresh, capped=False).steps)
    return max(found)


def times(context: Context) -> Numbers:
    """Milliseconds of each solver, and of what goes with an analysis (JAQ-C30)."""
    repeats = 2 if context.quick else 7
    found = {k: _times(k, repeats) for k in STREAMS}
    return {"milliseconds": found, "overhead": _overhead(repeats)}


def _times(k: int, repeats: int) -> dict[str, float]:
    setting, _, _ = random_setting(k, k)
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
    setting, _, _ = random_setting(4, 4)
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
    """The median, after one that does not count."""
    action()
    found = []
    for _ in range(repeats):
        start = perf_counter()
        action()
        found.append(1e3 * (perf_counter() - start))
    return float(np.median(found))
