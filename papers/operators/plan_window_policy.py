"""A planner that follows the streams decides on the allowances of a plan.

It monitors rates and selectivities as averages over some seconds, thinks again when they vary, and
changes the allowances when that promises enough (JAQ-A25). In virtual time an analysis is instant,
so it needs no thread of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from papers.operators.plan_window import Second
from streamjoin.planning.many.plan_model import PlanModel
from streamjoin.planning.many.planners import Adaptation, analyse

FloatArray = NDArray[np.float64]

EXPECTED: Final = 10.0
"""Results that what was expected of a selectivity counts for."""


class Planned:
    """Allowances of a planner.

    Parameters
    ----------
    planner
        One of `planning.many.planners.PLANNERS`.
    expected
        The plan's numbers to begin with.
    mu
        Probes a second in all.
    freshness_s
        For each stream; None to plan for throughput only.
    adaptation
        Thresholds; None for a plan that stays.
    window
        Seconds over which rates and selectivities are averaged.

    Examples
    --------
    >>> from streamjoin.planning.many.tree import Tree
    >>> model = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.001, 0.005])
    >>> Planned("jaqpot", model, mu=300).start()
    array([  0., 300.])
    """

    def __init__(
        self,
        planner: str,
        expected: PlanModel,
        mu: float,
        freshness_s: Sequence[float] | None = None,
        adaptation: Adaptation | None = None,
        window: int = 10,
    ) -> None:
        self.planner, self.mu, self.freshness_s = planner, mu, freshness_s
        self.model, self.adaptation = expected, adaptation
        self.statistics = _Statistics(expected, window)
        self.analysis = analyse(planner, expected, mu, freshness_s)
        self.found = [self.analysis.allocation]
        """What each analysis recommended."""
        if adaptation is not None:
            adaptation.analysed(_values(expected))

    def start(self) -> FloatArray:
        """Allowances for the numbers that are expected."""
        return self.analysis.allocation.allowances

    def after(self, at_s: int, second: Second) -> FloatArray:
        """Allowances for the numbers of the last seconds, if that promises enough."""
        if self.adaptation is not None:
            self.statistics.observe(second)
            self.model = self.statistics.model()
            values = _values(self.model)
            if why := self.adaptation.should_analyse(values):
                self._analyse(at_s, why, self.adaptation)
                self.adaptation.analysed(values)
        return self.analysis.allocation.allowances

    def _analyse(self, at_s: int, why: str, adaptation: Adaptation) -> None:
        found = analyse(self.planner, self.model, self.mu, self.freshness_s)
        self.found.append(found.allocation)
        if adaptation.decide(at_s, why, self.start(), found).actuated:
            self.analysis = found


class _Statistics:
    """Counts of the last seconds."""

    def __init__(self, expected: PlanModel, window: int) -> None:
        self.expected, self.held = expected, expected.sizes
        # Inserted, outputs and met of each second by node; a new second replaces the oldest.
        self.counts = np.zeros((window, 3, expected.tree.root))
        self.n = 0

    def observe(self, second: Second) -> None:
        self.counts[self.n % len(self.counts)] = second.inserted, second.outputs, second.met
        self.held, self.n = second.held, self.n + 1

    def model(self) -> PlanModel:
        """The plan's numbers.

        A selectivity counts what was expected as some results more. Without that, a join that finds
        nothing for a while gets no allowance, and so never finds anything again.
        """
        tree, sigmas = self.expected.tree, self.expected.sigmas.copy()
        inserted, outputs, met = self.counts.sum(axis=0)
        for one, two in tree.joins:
            # Both halves of a join look at the same attribute: they learn together.
            before = (sigmas[one] + sigmas[two]) / 2
            if before > 0:
                found, looked_at = outputs[one] + outputs[two], met[one] + met[two]
                sigmas[one] = sigmas[two] = (found + EXPECTED) / (looked_at + EXPECTED / before)
        rates = inserted[: tree.n_streams] / min(self.n, len(self.counts))
        return PlanModel.of(tree, rates, self.held, sigmas, self.expected.costs)


def _values(model: PlanModel) -> Mapping[str, float]:
    tree = model.tree
    rates = {f"rate of {name}": float(model.rates[i]) for i, name in enumerate(tree.names)}
    return rates | {
        f"selectivity on {tree.label(node)}": float(model.sigmas[node]) for node in range(tree.root)
    }
