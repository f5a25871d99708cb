"""Which shards rows of many streams go to."""

from dataclasses import dataclass

from streamjoin.explanations.plans import MultiPlan
from streamjoin.explanations.words import Shards
from streamjoin.joins.routing import Shares, shares_for


@dataclass(frozen=True)
class GridShards(Shards):
    """How the work is split where rows go to some cells of a grid; `sent` says to how many."""

    sent: dict[str, int]

    @property
    def text(self) -> str:
        """In words."""
        sent = ", ".join(f"of {name} to {n}" for name, n in self.sent.items())
        return f"{self.routing}, over {self.n_partitions} partitions; each row {sent} of them"


def spread(plan: MultiPlan) -> Shards:
    """How the work is split."""
    grid = grid_of(plan)
    if grid is None:
        return Shards(plan.n_shards, plan.n_partitions, f"{plan.n_shards} by key", (1, 1))
    return GridShards(plan.n_shards, plan.n_partitions, grid.describe(), (1, 1), copies(plan))


def copies(plan: MultiPlan) -> dict[str, int]:
    """To how many shards a row of each stream goes."""
    grid, names = grid_of(plan), plan.resolved.tree.names
    return {name: 1 if grid is None else grid.copies(i) for i, name in enumerate(names)}


def grid_of(plan: MultiPlan) -> Shares | None:
    """The grid of shards; None where one key joins all streams of an operator."""
    join = plan.resolved.steps[-1].join
    if not join.attributes:
        return None
    return shares_for(plan.n_shards, join.attributes, len(join.inputs))
