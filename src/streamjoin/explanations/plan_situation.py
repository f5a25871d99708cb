"""What a join of many streams would meet at given rates, for the costs of its strategies."""

from itertools import combinations
from math import prod

from streamjoin.core.window import N_BASIC_WINDOWS
from streamjoin.explanations.budget import BATCH_SECONDS
from streamjoin.explanations.plan_model import (
    Selectivities,
    StreamRates,
    sigmas_of,
    window_tuples,
)
from streamjoin.explanations.plan_shards import grid_of
from streamjoin.explanations.plan_words import inputs
from streamjoin.explanations.plans import MultiPlan
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.routing import Shares
from streamjoin.planning.many.nary import ALL_SETS, Sizes, Streams
from streamjoin.planning.many.nary_cost import Situation
from streamjoin.planning.many.tree import Tree


def situation(plan: MultiPlan, rates: StreamRates, selectivities: Selectivities) -> Situation:
    """What a batch brings to one shard when all windows are full."""
    join = plan.resolved.steps[-1].join
    streams = {name: one.stream for name, one in inputs(plan).items()}
    tables = [
        window_tuples(stream, rates[name]) + rates[name] * stream.lateness_us / 1e6
        for name, stream in streams.items()
    ]
    brought = [rates[name] * BATCH_SECONDS for name in streams]
    whole, n = _sizes(join, plan.resolved.tree, selectivities), len(tables)
    most, grid = n if n <= ALL_SETS else 2, grid_of(plan)
    sets = [frozenset(s) for size in range(2, most + 1) for s in combinations(range(n), size)]
    joined = {
        sum(1 << i for i in chosen): whole.of(chosen, tables) * _share(plan, grid, chosen)
        for chosen in sets
    }
    shares = [_share(plan, grid, frozenset([i])) for i in range(n)]
    here = tuple(t * share for t, share in zip(tables, shares, strict=True))
    return Situation(
        arrivals=tuple(b * share for b, share in zip(brought, shares, strict=True)),
        tables=here,
        pieces=tuple(
            max(float(N_BASIC_WINDOWS), t / b) for t, b in zip(tables, brought, strict=True)
        ),
        sizes=Sizes(here, joined, whole.keys / plan.n_shards),
        operations=join.operations,
    )


def _share(plan: MultiPlan, grid: Shares | None, streams: Streams) -> float:
    """Which part of the join of some streams one shard has."""
    if grid is None:
        return 1 / plan.n_shards
    axes = zip(grid.lengths, grid.attributes, strict=True)
    return 1 / prod(length for length, one in axes if not streams.isdisjoint(one))


def _sizes(join: MultiJoin, tree: Tree, selectivities: Selectivities) -> Sizes:
    """What is said of the joins; what the join itself was told, if nothing is."""
    if selectivities is None and join.sizes is not None:
        return join.sizes
    known: dict[Streams, float] = {frozenset([i]): 1.0 for i in range(tree.n_streams)}
    pairs: dict[Streams, float] = {}
    for node, sigma in enumerate(sigmas_of(tree, selectivities), start=tree.n_streams):
        left, right = (tree.streams(child) for child in tree.children(node))
        # All of one key: a row of the one side has as many partners as a tuple of that side has.
        pairs |= {frozenset([i, j]): sigma for i in left for j in right}
        both = known[frozenset(left)] * known[frozenset(right)]
        known[frozenset(left + right)] = sigma * both
    formed = {streams: sigma for streams, sigma in known.items() if len(streams) > 1}
    return Sizes.given(pairs | formed, tree.n_streams)
