"""The set-ups of Mukherji et al.: plans, streams and runs (JAQ-A31, A32, D1, D2)."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from papers.jaqpot.plan_streams import Parameters, PlanStream, PlanStreams, Range
from papers.operators.plan_window import PlanJoin, PlanRun, PlanTrace, plan_window_join
from papers.operators.plan_window_policy import Planned
from streamjoin.planning.many.plan_model import PlanModel
from streamjoin.planning.many.planners import Adaptation
from streamjoin.planning.many.tree import Tree

LINEAR: Final = Tree.parse("((a b) c) d")
BUSHY: Final = Tree.parse("(a b)(c d)")
SHAPES: Final = {"linear": LINEAR, "bushy": BUSHY}
HEURISTICS: Final = ("equal-hj", "global-hjpr", "e-best-hjp", "s-best-hjp")
COMPARED: Final = ("jaqpot", *HEURISTICS)
NAMES: Final = {
    "jaqpot": "JAQPOT",
    "grepp": "GrePP",
    "equal-hj": "EqualHJ",
    "global-hjpr": "GlobalHJPR",
    "e-best-hjp": "EBestHJP",
    "s-best-hjp": "SBestHJP",
    "exact": "exact LP",
}
"""What planners are called in the report."""
FRESHNESS: Final = (1.5, 3.0, 5.0)
"""Freshness predicates of Figure 9, in windows."""
TABLE_3: Final = Parameters()
SMALL: Final = Parameters(sizes=Range(200, 1000), selectivities=Range(0.01, 0.03))
"""The small end of Table 3: plans that can be run at saturation, tuple by tuple."""


@dataclass(frozen=True)
class Setting:
    """A plan with its numbers.

    Parameters
    ----------
    tree
        The plan.
    rates
        Tuples a second of each stream.
    sizes
        Tuples of each state.
    sigmas
        Selectivity of each join, in the order of `Tree.joins`.

    Examples
    --------
    >>> setting = Setting(BUSHY, (9, 9, 9, 9), (5, 5, 5, 5, 5, 5), (0.01, 0.02, 0.5))
    >>> setting.neighbours(setting.sigmas)
    (0.01, 0.5, 0.02)
    """

    tree: Tree
    rates: tuple[float, ...]
    sizes: tuple[int, ...]
    sigmas: tuple[float, ...]

    @classmethod
    def draw(cls, tree: Tree, parameters: Parameters, seed: tuple[int, ...]) -> "Setting":
        """Numbers of a seed."""
        rates, sizes, sigmas = parameters.draw(np.random.default_rng(seed), tree.n_streams)
        return cls(tree, tuple(rates), tuple(sizes), tuple(sigmas))

    @property
    def model(self) -> PlanModel:
        """What the planners see."""
        return PlanModel.of(self.tree, self.rates, self.sizes, self.sigmas)

    def neighbours(self, sigmas: tuple[float, ...]) -> tuple[float, ...]:
        """Selectivities of joins by the streams that stand side by side."""
        left = [self.tree.streams(left)[-1] for left, _ in self.tree.joins]
        return tuple(sigmas[left.index(i)] for i in range(len(left)))

    def freshness_s(self, windows: float) -> tuple[float, ...]:
        """A freshness predicate in windows, as seconds: the window of a count is count / rate."""
        return tuple(windows * s / r for s, r in zip(self.sizes, self.rates, strict=False))

    def traces(self, seconds: float, seed: int) -> list[PlanTrace]:
        """Streams with these numbers."""
        steps = ((0.0, self.neighbours(self.sigmas)),)
        return recorded(PlanStreams(self.rates, steps, seconds, seed).draw())


@dataclass(frozen=True)
class Limits:
    """What a run may do.

    Parameters
    ----------
    mu
        Probes a second.
    freshness_s
        Of each stream.
    cover
        Whether the planner is to keep states fresh; the others but JAQPOT do not know how.
    check
        Whether stale results are counted; that takes time.
    adapt
        Seconds over which the planner averages what it sees; None if it trusts the model.
    """

    mu: float
    freshness_s: tuple[float, ...] | None = None
    cover: bool = True
    check: bool = True
    adapt: int | None = None


CYCLE_S: Final = 60.0
"""Allowance is saved up for a minute: of large plans the first join may make a probe in that time
(the paper's mega cycles)."""


def run(
    model: PlanModel, traces: list[PlanTrace], planner: str, limits: Limits, seconds: int
) -> tuple[PlanRun, Planned]:
    """Run a plan under a planner; states are filled for free at the beginning."""
    fresh = limits.freshness_s
    policy = Planned(
        planner,
        model,
        limits.mu,
        fresh if limits.cover and planner == "jaqpot" else None,
        None if limits.adapt is None else Adaptation(epsilon=0.05, p=0.05),
        limits.adapt or 1,
    )
    join = PlanJoin(
        model.tree,
        sizes=tuple(int(size) for size in model.sizes),
        freshness_us=tuple(round(f * 1e6) for f in fresh) if fresh and limits.check else (),
        fill=True,
        cycle_s=CYCLE_S,
    )
    return plan_window_join(traces, join, policy, seconds), policy


def recorded(streams: list[PlanStream]) -> list[PlanTrace]:
    """Streams as the operator takes them."""
    return [PlanTrace(stream.times, stream.left, stream.right) for stream in streams]


def results(run: PlanRun, begin: int, end: int | None = None) -> float:
    """Results a second between two seconds, stale ones too."""
    return float(run.made[begin:end].mean())
