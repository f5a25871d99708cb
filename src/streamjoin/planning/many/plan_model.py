"""The numbers of a plan of many joins, what it yields, and what a planner decides (Mukherji 2011).

`PlanModel` (Section 2): all arrays go over the nodes of a `Tree` but its root: entry x is state S_x
and half-way join x, the tuples of x that probe the state of x's sibling. All tuples are stored;
only as many probe as their *allowance* permits (JAQ-A1). What is produced at a join is inserted
into its state, and the part that its allowance permits probes on.

`PathTable` (Section 4.1): a path leads from a stream to the root. Each of its tuples that probes at
the first half-way join makes `phi_1` intermediate results on average, these make `phi_2`, and so on
(JAQ-A12). All of them probe on (the producer-consumer match, JAQ-A10), so a path is described by
what one tuple at its leaf causes: probes at every node of the path, their price, and results.

`Allocation`: the probes that each half-way join may make per second.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.errors import ConfigError
from streamjoin.planning.many.tree import Tree

Floats = NDArray[np.float64]
Numbers = Sequence[float] | Floats
_FINITE: Final = float(np.finfo(np.float64).max)
MOST_PER_PROBE: Final = 1e9
"""Stands for the productivity of a state without end, so that products over a path stay finite."""


@dataclass(frozen=True, eq=False)
class Flow:
    """What a plan does per second under some allowances."""

    probes: Floats  # tuples of each node that probe
    produced: Floats  # tuples of each node, the root last: arrivals of a stream, results of a join

    @property
    def throughput(self) -> float:
        """Results of the whole plan."""
        return float(self.produced[-1])

    @property
    def unused(self) -> Floats:
        """Tuples of each node that do not probe (JAQ-C10)."""
        return self.produced[:-1] - self.probes


@dataclass(frozen=True, eq=False)
class PlanModel:
    """Rates, states, selectivities and costs of a plan.

    Examples
    --------
    One join (Figure 2.a): b finds 5 tuples of a in each probe, a finds 2.5 of b.

    >>> model = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.001, 0.005])
    >>> model.productivities
    array([2.5, 5. ])
    >>> model.throughput([0, 300]), model.saturation_throughput, model.saturation_resources
    (1500.0, 4750.0, 1200.0)
    """

    tree: Tree  # the plan
    rates: Floats  # arrivals per second of each stream
    sizes: Floats  # tuples in each state
    sigmas: Floats
    """Selectivity on each state: share of its tuples that match one that probes it (JAQ-I12)."""
    costs: Floats  # what one probe by each node costs; 1 is the paper's unit

    @classmethod
    def of(
        cls,
        tree: Tree,
        rates: Numbers,
        sizes: Numbers,
        sigmas: Numbers,
        costs: Numbers | float = 1.0,
    ) -> "PlanModel":
        """Check the numbers; `sigmas` has one for each node, or one for each join.

        Examples
        --------
        >>> tree = Tree.parse("(a b) c")
        >>> PlanModel.of(tree, [1, 1, 1], [5, 5, 5, 5], [0.1, 0.3]).sigmas
        array([0.1, 0.1, 0.3, 0.3])
        >>> PlanModel.of(tree, [1, 1], [5, 5, 5, 5], [0.1, 0.3])
        Traceback (most recent call last):
            ...
        streamjoin.errors.ConfigError: rates: got 2 numbers; allowed: 3, one for each stream
        """
        k, nodes = tree.n_streams, tree.root
        if np.size(sigmas) == k - 1:
            joins = np.asarray(tree.parents) - k
            sigmas = np.asarray(sigmas, dtype=np.float64)[joins]
        costs = np.full(nodes, costs) if np.ndim(costs) == 0 else costs
        checked = cls(
            tree,
            _checked("rates", rates, k, "stream"),
            _checked("sizes", sizes, nodes, "state", most=np.inf),
            _checked("sigmas", sigmas, nodes, "state"),
            _checked("costs", costs, nodes, "half-way join"),
        )
        if not np.all(checked.costs > 0):
            raise ConfigError.at("costs", f"{checked.costs.min():g}", "more than 0")
        return checked

    @cached_property
    def productivities(self) -> Floats:
        """Matches per probe of each half-way join (JAQ-A6)."""
        partners = [self.tree.sibling(node) for node in range(self.tree.root)]
        matches = _product(self.sigmas, self.sizes)[partners]
        return np.minimum(matches, MOST_PER_PROBE)

    def flow(self, allowances: Numbers) -> Flow:
        """What happens per second under allowances (Eqs. 1, 2 and 4 for any tree).

        A half-way join makes as many probes as its allowance permits, and no more than there are
        tuples to make them.
        """
        tree, k = self.tree, self.tree.n_streams
        produced = np.zeros(tree.root + 1)
        produced[:k] = self.rates
        probes = np.zeros(tree.root)
        for node, (left, right) in enumerate(tree.joins, start=k):
            for child in (left, right):
                probes[child] = min(allowances[child], produced[child])
                produced[node] += probes[child] * self.productivities[child]
        return Flow(probes, produced)

    def throughput(self, allowances: Numbers) -> float:
        """Results per second of the whole plan."""
        return self.flow(allowances).throughput

    def resources(self, allowances: Numbers) -> float:
        """What the probes that are made cost per second."""
        return float(self.costs @ self.flow(allowances).probes)

    @cached_property
    def saturation(self) -> Flow:
        """The flow when every tuple probes (JAQ-A30)."""
        return self.flow(np.full(self.tree.root, np.inf))

    @property
    def saturation_resources(self) -> float:
        """The least resources with which every tuple probes."""
        return float(self.costs @ self.saturation.probes)

    @property
    def saturation_throughput(self) -> float:
        """Results per second when every tuple probes."""
        return self.saturation.throughput


def check_resources(mu: float) -> float:
    """The resources of a plan, or a sentence that says what is wrong with them."""
    if not 0 <= mu < np.inf:
        raise ConfigError.at("mu", mu, "a finite number of at least 0")
    return float(mu)


def _product(a: Floats, b: Floats) -> Floats:
    """Products where nothing of something endless is nothing."""
    with np.errstate(invalid="ignore"):
        return np.where((a == 0) | (b == 0), 0.0, a * b)


def _checked(
    name: str, values: Numbers | float, count: int, what: str, most: float = _FINITE
) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.shape != (count,):
        raise ConfigError.at(name, f"{array.size} numbers", f"{count}, one for each {what}")
    wrong = array[~((array >= 0) & (array <= most))]
    if wrong.size:
        raise ConfigError(
            f"{name}: got {wrong[0]}; allowed: 0 or more" + (", finite" if most < np.inf else "")
        )
    return array


@dataclass(frozen=True, eq=False)
class PathTable:
    """The path productivity table (JAQ-A15).

    Examples
    --------
    Table 2 of the paper, with 11, 11 and 10 tuples a second:

    >>> from streamjoin.planning.many.tree import Tree
    >>> sizes, sigmas = [5, 4, 1, 0.1], [1 / 11, 1 / 11, 1, 1]
    >>> table = PathTable.of(PlanModel.of(Tree.parse("(a b) c"), [11, 11, 10], sizes, sigmas))
    >>> table.caps, table.outputs
    (array([15., 16., 10.]), array([4., 5., 1.]))
    >>> table.productivity.round(4)
    array([0.2667, 0.3125, 0.1   ])
    """

    model: PlanModel  # the plan
    uses: Floats
    """Probes at each node (column) per tuple at the leaf of each path (row): the phi of Eq. 5."""
    yields: Floats  # results of the plan per tuple at the leaf

    @classmethod
    def of(cls, model: PlanModel) -> "PathTable":
        """The table of a plan."""
        paths = model.tree.paths
        uses, yields = np.zeros((len(paths), model.tree.root)), np.ones(len(paths))
        for stream, path in enumerate(paths):
            for node in path:
                uses[stream, node] = yields[stream]
                yields[stream] *= model.productivities[node]
        return cls(model, uses, yields)

    @cached_property
    def prices(self) -> Floats:
        """Resources that one tuple at the leaf uses up to the root (Eq. 6, with costs)."""
        return self.uses @ self.model.costs

    @cached_property
    def productivity(self) -> Floats:
        """Results per unit of resources: rho_p (Eq. 8, JAQ-A14)."""
        return self.yields / self.prices

    @cached_property
    def caps(self) -> Floats:
        """Resources of each path when all tuples of its stream probe (JAQ-U1)."""
        return self.model.rates * self.prices

    @property
    def outputs(self) -> Floats:
        """Results per second of each path with all the resources that it can use."""
        return self.model.rates * self.yields

    @cached_property
    def inserts(self) -> Floats:
        """Tuples inserted into each intermediate state per unit of resources of each path.

        What a path produces at a node is what probes on from there, and is what refreshes the
        node's state (JAQ-I9).
        """
        inserts = self.uses / self.prices[:, np.newaxis]
        inserts[:, : self.model.tree.n_streams] = 0
        return inserts

    def allowances(self, resources: Floats) -> Floats:
        """Divide the resources of each path among its half-way joins, and add up (Eq. 7)."""
        return (resources / self.prices) @ self.uses


@dataclass(frozen=True, eq=False)
class Allocation:
    """Allowances, and what the model predicts of them."""

    planner: str  # who decided
    allowances: Floats  # probes per second that each half-way join may make
    throughput: float  # results per second
    resources: float  # what the probes cost per second
    cover: float = 0.0
    """Part of the resources that keeps the intermediate states fresh (Delta mu, JAQ-A22)."""
    paths: Floats | None = None  # resources of each path, if the planner thinks in paths
    infeasible: str | None = None
    """Why the freshness asked for cannot be had; then throughput alone decided."""

    @classmethod
    def of_allowances(cls, planner: str, model: PlanModel, allowances: Floats) -> "Allocation":
        """Predict from allowances."""
        flow = model.flow(allowances)
        return cls(planner, allowances, flow.throughput, float(model.costs @ flow.probes))

    @classmethod
    def of_paths(
        cls,
        planner: str,
        table: PathTable,
        paths: Floats,
        cover: float = 0.0,
        infeasible: str | None = None,
    ) -> "Allocation":
        """Predict from the resources of each path."""
        allowances, throughput = table.allowances(paths), float(table.productivity @ paths)
        resources = float(paths.sum())
        return cls(planner, allowances, throughput, resources, cover, paths, infeasible)
