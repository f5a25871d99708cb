"""What a batch costs in a tree of joins.

Every join is done both ways, with stored tuples and once with new ones. Each intermediate tuple is
formed once; but it is stored, read again in each batch, and removed.
"""

from math import exp, prod
from typing import Final

from streamjoin.core.window import N_BASIC_WINDOWS
from streamjoin.planning.nary_cost import (
    INTERVAL,
    NOTHING,
    Cost,
    Halfway,
    Situation,
    indexes_ns,
    values_of,
)
from streamjoin.planning.tree import Tree

STATE_STORE: Final = 90.0
"""Nanoseconds that Spark's state store takes for each value that is kept, besides what we do. It
was measured in whole queries, where a tree that keeps much took so much longer than its own work
explains; `calibrate`, which runs no query, cannot see it."""


def tree_cost(tree: Tree, situation: Situation) -> Cost:
    """One batch of a tree of joins; its streams are numbered as those of the situation are."""
    total = NOTHING
    for node in range(tree.n_streams, tree.root + 1):
        total += _join(tree, node, situation)
    return total


def _join(tree: Tree, node: int, at: Situation) -> Cost:
    """One join, both ways; what it forms is stored unless it is the last."""
    pair, streams = tree.children(node), tree.streams(node)
    is_last, keys, ops = node == tree.root, at.keys, at.operations
    new = [at.formed(tree.streams(x)) for x in pair]
    old = [at.stored(tree.streams(x)) for x in pair]
    formed, both = at.formed(streams), prod(n + o for n, o in zip(new, old, strict=True))
    sigma = at.sizes.of(frozenset(streams), at.after) / both if both else 0.0
    ns = 0.0
    for x, y, meets in ((0, 1, new[1]), (1, 0, 0.0)):
        pieces, is_stream = _pieces(tree, pair[y], at), pair[x] < tree.n_streams
        half = Halfway(
            new[x], is_stream, old[y], pieces, meets, sigma * new[x] * (old[y] + meets),
            values_of(len(streams), is_last=is_last),
        )  # fmt: skip
        ns += half.ns(keys, ops)
        if pair[y] >= tree.n_streams:
            values = len(tree.streams(pair[y])) + INTERVAL - 2
            ns += half.happens * (ops.read * pieces + ops.load * values * old[y])
        if half.is_indexed:
            cuts = _cuts(tree, pair[y], new[y])
            ns += half.happens * indexes_ns(new[y], cuts, pieces, keys, ops)
    if not is_last:
        values = len(streams) + INTERVAL - 2
        ns += (ops.store + STATE_STORE) * values * formed + ops.piece * _cuts(tree, node, formed)
    results = formed if is_last else 0.0
    return Cost(sum(new), formed - results, results, 0.0, ns / 1000)


def _cuts(tree: Tree, node: int, formed: float) -> float:
    """Pieces that are stored of the new tuples of a node.

    Those that a join forms end at different times, and are cut into pieces that end together.
    """
    most = 1.0 if node < tree.n_streams else N_BASIC_WINDOWS + 0.5
    return most * (1 - exp(-formed / most))


def _pieces(tree: Tree, node: int, at: Situation) -> float:
    """Pieces that a node's tuples lie in; of those that batches stored half are still there."""
    if node < tree.n_streams:
        return at.pieces[node]
    streams = tree.streams(node)
    batches = max(at.pieces[i] for i in streams)
    return max(1.0, min(at.stored(streams), batches * _cuts(tree, node, at.formed(streams)) / 2))
