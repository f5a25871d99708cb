"""The paper's worked examples, by the solvers (JAQ-C1 to C12 and C14)."""

from typing import Any, Final

import numpy as np

from papers.base import Context, Numbers
from papers.jaqpot.knapsack import best_hjp, dynamic, greedy
from papers.jaqpot.workload import BUSHY, LINEAR
from papers.operators.plan_window import Fixed, PlanJoin, PlanTrace, plan_window_join
from streamjoin.planning.many.cover import Refresh
from streamjoin.planning.many.jaqpot import HEURISTICS, exact_cover, grepp, heuristic
from streamjoin.planning.many.plan_model import Allocation, PathTable, PlanModel
from streamjoin.planning.many.tree import Tree

_TWO_JOINS: Final = Tree.parse("(a b) c")
FIGURE_2A: Final = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.001, 0.005])
TABLE_2: Final = PlanModel.of(_TWO_JOINS, [11, 11, 10], [5, 4, 1, 0.1], [1 / 11, 1 / 11, 1, 1])
"""The plan that its numbers come from: rho_h of a 4/11, b 5/11, ab 1, c 0.1 (JAQ-C4)."""
TABLE_4: Final = PlanModel.of(_TWO_JOINS, [500, 700, 600], [5000, 500, 1000, 200], [0.001, 0.005])
"""rho_h of a 0.5, b 5, ab 5, c 1 (JAQ-C9)."""
FIGURE_5A: Final = Tree.parse("(a b)((c d) e)")
MINUTE: Final = 60_000_000


def examples(_context: Context) -> Numbers:
    """Every number that the paper works out, from our solvers."""
    return {
        "one join": _one_join(),
        "path b": _path_b(),
        "table 2": _table_2(),
        "mega cycle": _mega_cycle(),
        "table 4": _table_4(),
        "susceptible": {str(tree): _labels(tree, tree.susceptible) for tree in _PLANS},
        "cover": {str(tree): _least_cover(tree) for tree in (LINEAR, BUSHY, FIGURE_5A)},
        "query": _query(),
    }


_PLANS: Final = (
    LINEAR,
    BUSHY,
    FIGURE_5A,
    Tree.parse("((a b)(c d)) e"),
    Tree.parse("(((a b) c) d) e"),
)


def _one_join() -> dict[str, Any]:
    model = FIGURE_2A
    flow = model.flow(best_hjp(model, 300).allowances)
    return {
        "productivities": model.productivities.tolist(),
        "best": best_hjp(model, 300).throughput,
        "probes": float(flow.probes.sum()),
        "inserted": float(flow.produced[:2].sum()),
        "all to a": model.throughput([300, 0]),
        "equal": heuristic("equal-hj", model, 300).throughput,
        "best at 1000": best_hjp(model, 1000).throughput,
        "saturation": (model.saturation_resources, model.saturation_throughput),
    }


def _path_b() -> dict[str, Any]:
    """600 for path B of Figure 2.b, whose first half-way join has a productivity of 5."""
    allowances = PathTable.of(TABLE_4).allowances(np.array([0.0, 600.0, 0.0]))
    flow = TABLE_4.flow(allowances)
    a, b, *_ = PathTable.of(TABLE_4).productivity
    rho = TABLE_4.productivities
    return {
        "allowances": allowances.tolist(),
        "produced": float(flow.produced[3]),
        "unused": float(flow.unused[3]),
        "formula": float(abs(a - rho[3] * rho[0] / (1 + rho[0]))),
        "productivity": float(b),
    }


def _table_2() -> dict[str, Any]:
    table = PathTable.of(TABLE_2)
    uses, gains = [15, 16, 10], [4, 5, 1]
    free = grepp(TABLE_2, 30, capped=False)
    budgets = (15, 16, 26, 31, 32, 45, 46, 47, 60, 100)
    return {
        "uses": table.caps.tolist(),
        "outputs": table.outputs.tolist(),
        "productivity": table.productivity.tolist(),
        "greedy": greedy(uses, gains, 30, once=False),
        "dynamic": dynamic(uses, gains, 30),
        "dynamic once": dynamic(uses, gains, 30, once=True).output,
        "others": {
            mu: (greedy(uses, gains, mu).output, dynamic(uses, gains, mu).output) for mu in budgets
        },
        "grepp": (free.allowances.tolist(), free.throughput),
        "capped": grepp(TABLE_2, 30).throughput,
    }


def _mega_cycle() -> list[int]:
    """Results in each second of a join that may make 2.5 probes a second, one result each."""
    many, one = np.arange(100) * 100_000, np.zeros(1, np.int64)
    traces = [PlanTrace.single(many, np.zeros(100, np.int64)), PlanTrace.single(one, one)]
    join = PlanJoin(FIGURE_2A.tree, sizes=(1, 1))
    found: list[int] = plan_window_join(traces, join, Fixed([2.5, 0.0])).made.tolist()
    return found


def _table_4() -> dict[str, dict[str, Any]]:
    found = {name: _flow(heuristic(name, TABLE_4, 300)) for name in HEURISTICS}
    return {**found, "grepp": _flow(grepp(TABLE_4, 300))}


def _flow(allocation: Allocation) -> dict[str, Any]:
    """Allowances of a, b, ab and c, and what comes of them."""
    flow = TABLE_4.flow(allocation.allowances)
    a, b, c, ab = allocation.allowances.tolist()
    used, produced = float(flow.probes[3]), float(flow.produced[3])
    return {
        "allowances": (a, b, ab, c),
        "r_1": produced,
        "used": used,
        "results": flow.throughput,
    }


def _labels(tree: Tree, nodes: range) -> tuple[str, ...]:
    return tuple(tree.label(node).replace(" ", "") for node in nodes)


def _least_cover(tree: Tree) -> dict[str, Any]:
    """Which states paths refresh, and how few paths refresh all."""
    states = set(tree.susceptible)
    covered = {tree.names[i]: states.intersection(path) for i, path in enumerate(tree.paths)}
    alone = [name for name, nodes in covered.items() if nodes == states]
    pairs = [
        (one, two)
        for one in covered
        for two in covered
        if one < two and covered[one] | covered[two] == states
    ]
    # Every path costs about the same here: the optimum then takes as few as it can.
    k = tree.n_streams
    model = PlanModel.of(tree, [100.0] * k, [10.0] * tree.root, [0.1] * (k - 1))
    needs = np.where(np.arange(tree.root) >= k, 1.0, 0.0)
    paths = exact_cover(model, Refresh(needs)).resources
    return {"alone": alone, "pairs": pairs, "optimum": int(np.sum(paths > 1e-6))}


def _query() -> dict[str, tuple[int, int]]:
    """Q1: windows of 10 minutes; results, and stale ones, by freshness of a, b and c in minutes.

    a comes at 0, b 9 minutes later, c another 2, 3 or 4 minutes later: within 10 minutes of ab.
    """
    cases = {
        "12, c at 11": (11, (12, 12, 12)),
        "12, c at 13": (13, (12, 12, 12)),
        "15 for a, c at 13": (13, (15, 12, 12)),
        "12 for a, 15 for others, c at 13": (13, (12, 15, 15)),
    }
    return {name: _run_query(*case) for name, case in cases.items()}


def _run_query(last: int, freshness: tuple[int, ...]) -> tuple[int, int]:
    key = np.zeros(1, np.int64)
    traces = [PlanTrace.single(np.array([m * MINUTE]), key) for m in (0, 9, last)]
    join = PlanJoin(
        _TWO_JOINS,
        spans_us=(10 * MINUTE,) * 4,
        freshness_us=tuple(minutes * MINUTE for minutes in freshness),
    )
    run = plan_window_join(traces, join, Fixed.unlimited(_TWO_JOINS))
    return int(run.made.sum()), int(run.stale.sum())
