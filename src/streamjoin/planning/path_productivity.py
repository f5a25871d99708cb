"""What each input path of a plan yields for what it uses (Mukherji 2011, Section 4.1).

A path leads from a stream to the root. Each of its tuples that probes at the first half-way join
makes `phi_1` intermediate results on average, these make `phi_2`, and so on to the root (JAQ-A12).
All of them probe on (the producer-consumer match, JAQ-A10), so a path is described by what one
tuple at its leaf causes: probes at every node of the path, their price, and results.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from streamjoin.planning.plan_model import Floats, PlanModel


@dataclass(frozen=True, eq=False)
class PathTable:
    """The path productivity table (JAQ-A15).

    Parameters
    ----------
    model
        The plan.
    uses
        Probes at each node (column) per tuple at the leaf of each path (row): the phi of Eq. 5.
    yields
        Results of the plan per tuple at the leaf.

    Examples
    --------
    Table 2 of the paper, with 11, 11 and 10 tuples a second:

    >>> from streamjoin.planning.tree import Tree
    >>> sizes, sigmas = [5, 4, 1, 0.1], [1 / 11, 1 / 11, 1, 1]
    >>> table = PathTable.of(PlanModel.of(Tree.parse("(a b) c"), [11, 11, 10], sizes, sigmas))
    >>> table.caps, table.outputs
    (array([15., 16., 10.]), array([4., 5., 1.]))
    >>> table.productivity.round(4)
    array([0.2667, 0.3125, 0.1   ])
    """

    model: PlanModel
    uses: Floats
    yields: Floats

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
