"""Windowed averages of what batches of a plan showed, as the numbers of a model (JAQ-A25)."""

from typing import Final

import numpy as np

from streamjoin.planning.many.plan_model import Floats, PlanModel
from streamjoin.planning.many.timed_plan import TimedPlan
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.plan_limits import Observed, PlanLimits

ENOUGH: Final = 30
"""Probes from which a half-way join's own productivity is believed; with fewer, its join's."""


class Averages:
    """Windowed averages of what batches showed (JAQ-A25).

    Parameters
    ----------
    observed
        The batches.
    seconds
        Event time of all of them.
    """

    def __init__(self, observed: list[Observed], seconds: float) -> None:
        self._n, self._seconds, self._observed = len(observed), seconds, observed
        self._arrived, self._probed, self._found, sizes, self._probe_us = (
            np.array([getattr(one, name) for one in observed], np.float64).sum(axis=0)
            for name in ("arrived", "probed", "found", "sizes", "probe_us")
        )
        self._all_arrived, self._all_found = (
            np.array([getattr(one, name) for one in observed], np.float64).sum(axis=0)
            for name in ("all_arrived", "all_found")
        )
        # in a batch in which none has probed, those that came stand for nothing that was found
        self._all_probed: Floats = np.sum(
            [np.where(np.array(one.probed) > 0, one.all_arrived, 0.0) for one in observed], axis=0
        )
        self._sizes: Floats = sizes / self._n
        self._receive_us = sum(one.receive_us for one in observed)

    def model(self, tree: Tree, *, in_time: bool) -> PlanModel:
        """The plan with these numbers; `in_time`: probes cost CPU time, else one each."""
        sigmas = self._sigmas(tree, self._found, self._probed, self._sizes)
        costs = self._costs(tree) if in_time else 1.0
        return PlanModel.of(tree, self._rates(tree), self._sizes, sigmas, costs)

    def timed_plan(self, tree: Tree, *, in_time: bool) -> TimedPlan:
        """The plan as it would be if all tuples probed."""
        more = np.divide(
            self._all_arrived, self._arrived, out=np.ones(tree.root), where=self._arrived > 0
        )
        sizes = self._sizes * more
        sigmas = self._sigmas(tree, self._all_found, self._all_probed, sizes)
        costs = self._costs(tree) if in_time else 1.0
        model = PlanModel.of(tree, self._rates(tree), sizes, sigmas, costs)
        return TimedPlan(tree, model.rates, model.sizes, model.sigmas, model.costs)

    def _rates(self, tree: Tree) -> Floats:
        rates: Floats = self._arrived[: tree.n_streams] / self._seconds
        return rates

    def _sigmas(self, tree: Tree, found: Floats, probed: Floats, sizes: Floats) -> Floats:
        """Selectivity on each state; where few have probed it, that of the whole join."""
        siblings = [tree.sibling(node) for node in range(tree.root)]
        pairs = probed * sizes[siblings]  # that were compared, were there no index
        own = (self._probed >= ENOUGH) & (pairs > 0)
        found = np.where(own, found, found + found[siblings])
        pairs = np.where(own, pairs, pairs + pairs[siblings])
        on_sibling = np.divide(found, pairs, out=np.zeros(tree.root), where=pairs > 0)
        sigmas: Floats = on_sibling[siblings]
        return sigmas

    def _costs(self, tree: Tree) -> Floats:
        """CPU time of one probe of each node, with what it finds."""
        _, probe, find = self._prices(tree)
        total = float(self._found.sum()) / max(float(self._probed.sum()), 1.0)
        known = self._probed >= ENOUGH
        finds = np.divide(
            self._found, self._probed, out=np.full_like(self._probed, total), where=known
        )
        floor: Floats = np.maximum(probe + find * finds, 1e-3)
        return floor

    def _prices(self, tree: Tree) -> Floats:
        """CPU time of passing a tuple of the partner, of a probe, and of a tuple that it forms.

        The first is to be paid however few tuples probe.
        """
        siblings = [tree.sibling(node) for node in range(tree.root)]
        values = {
            name: np.array([getattr(one, name) for one in self._observed], np.float64)
            for name in ("arrived", "sizes", "probed", "found", "probe_us")
        }
        passed = (values["arrived"] + values["sizes"])[:, siblings]
        columns = np.stack([x.ravel() for x in (passed, values["probed"], values["found"])], axis=1)
        return _not_negative(columns, values["probe_us"].ravel())

    def results(self, tree: Tree) -> float:
        """Results per second."""
        return float(self._found[list(tree.children(tree.root))].sum()) / self._seconds

    def resources(self, limits: PlanLimits, tree: Tree) -> float:
        """What may be spent on probes per second, in the model's unit."""
        if limits.rate is not None:
            return limits.rate
        per_second = limits.cpu_us_per_second
        if per_second is None:
            assert limits.cpu_us_per_batch is not None
            per_second = limits.cpu_us_per_batch * self._n / self._seconds
        passed = float((self._arrived + self._n * self._sizes).sum())
        fixed = self._receive_us + float(self._prices(tree)[0]) * passed
        return max(0.0, per_second - fixed / self._seconds)


def _not_negative(columns: Floats, values: Floats) -> Floats:
    """The weights of columns that come nearest to values, none below 0: the best of all subsets."""
    best, least = np.zeros(columns.shape[1]), float(values @ values)
    for chosen in range(1, 1 << columns.shape[1]):
        at = [i for i in range(columns.shape[1]) if chosen >> i & 1]
        found, *_ = np.linalg.lstsq(columns[:, at], values)
        error = values - columns[:, at] @ found
        if found.min() >= 0 and error @ error < least:
            best, least = np.zeros(columns.shape[1]), float(error @ error)
            best[at] = found
    return best
