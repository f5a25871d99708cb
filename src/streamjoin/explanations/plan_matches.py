"""How often rows of many streams match, as samples of them show."""

from collections.abc import Mapping
from math import prod
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin.core.keys import column_keys
from streamjoin.explanations.plans import MultiPlan
from streamjoin.explanations.samples import Sample

RAREST: Final = 1e-12
"""Stands for the selectivity of joins of which a sample has no match."""


def selectivities_of(plan: MultiPlan, samples: Mapping[str, Sample]) -> dict[str, float]:
    """Selectivity of each join of a plan, as if keys did not depend on time or on each other."""
    tree, keys = plan.resolved.tree, plan.resolved.keys
    shares = [
        {name: _shares(samples[name].rows[column]) for name, column in one.columns.items()}
        for one in keys.classes
    ]

    def joint(streams: tuple[int, ...]) -> float:
        names = {tree.names[i] for i in streams}
        return prod(_equal([x for name, x in one.items() if name in names]) for one in shares)

    found = {}
    for node in range(tree.n_streams, tree.root + 1):
        left, right = (tuple(tree.streams(child)) for child in tree.children(node))
        both = joint(left) * joint(right)
        found[tree.label(node)] = max(joint(left + right) / both if both else 0.0, RAREST)
    return found


def _shares(column: pa.ChunkedArray) -> dict[int, float]:
    """Which part of the rows has each value, by its hash."""
    hashes = column_keys(column.combine_chunks())
    values, counts = np.unique(hashes, return_counts=True)
    return dict(zip(values.tolist(), (counts / max(1, len(hashes))).tolist(), strict=True))


def _equal(shares: list[dict[int, float]]) -> float:
    """The chance that one row of each has the same value."""
    if len(shares) < 2:
        return 1.0
    first, *others = sorted(shares, key=len)
    return sum(
        share * prod(other.get(value, 0.0) for other in others) for value, share in first.items()
    )
