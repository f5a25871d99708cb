"""Whether one n-ary join or a tree runs, which stream drives, and what both would cost."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from math import prod
from typing import Final

from streamjoin.core.window import N_BASIC_WINDOWS
from streamjoin.explanations.asked import Selectivities, StreamRates
from streamjoin.explanations.many_model import sigmas_of
from streamjoin.explanations.many_words import grid_of, tuple_bytes
from streamjoin.explanations.wording import BATCH_SECONDS, row_bytes, window_tuples, write
from streamjoin.joins.multi.reordering import EVERY
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.plans import MultiPlan
from streamjoin.joins.routing import Shares
from streamjoin.metrics.words import size as format_bytes
from streamjoin.planning.many.nary import (
    ALL_SETS,
    Groups,
    Order,
    Sizes,
    Streams,
    Waiting,
    groups_of,
)
from streamjoin.planning.many.nary_cost import ROUND, Situation, mjoin_cost, tree_cost
from streamjoin.planning.many.strategy import CLEARLY, Choice, adaptive_groups, choose
from streamjoin.planning.many.tree import Tree
from streamjoin.planning.two.algorithm_choice import OperationCosts

_WAYS: Final = {
    "auto": (
        "auto: each shard begins as one n-ary join, which keeps no intermediate results; every "
        f"{EVERY} batches it changes to the tree, or back, if the other is predicted to cost "
        f"{CLEARLY:g} times less, by a sample of the keys (nary)"
    ),
    "mjoin": "mjoin: one n-ary join, which keeps no intermediate results and forms them anew",
    "tree": "tree: two-way joins, which keep what they form",
}
_TURNS: Final = f"in rounds of {ROUND:,} rows or more"
_ORDERS: Final[dict[Order, str]] = {
    "adaptive": "one stream drains after the other, as it is predicted to cost least; of orders "
    "that cost alike, the one whose results come earliest",
    "timestamp": f"rows are processed by time, {_TURNS}",
    "round-robin": f"the streams take turns, {_TURNS}",
    "consumption-rate": "the stream that has brought most rows so far drains first",
    "initial-output-size": "the stream that brings most results drains first",
    "output-rate": "the stream that brings most results for each row drains first",
}


@dataclass(frozen=True)
class Way:
    """What one way to find the results takes, besides what both ways do alike."""

    cpu_us: float  # for each second of the streams
    rows: float  # of streams that are remembered
    tuples: float  # intermediate results that are
    state_bytes: float  # of both

    @property
    def text(self) -> str:
        """In words."""
        more = f" and {write(self.tuples)} intermediate results" if self.tuples else ""
        size = format_bytes(self.state_bytes)
        return f"{write(self.cpu_us)} us of CPU/s; {write(self.rows)} rows{more}, {size}"


@dataclass(frozen=True)
class Strategy:
    """How results are found; what is None is not known without rates, or there is no choice."""

    strategy: str  # as asked for
    order: str | None  # as asked for; None where only a tree may run
    expected: str | None = None  # what is predicted to be cheaper, "mjoin" or "tree"
    sequences: dict[str, tuple[str, ...]] | None = None  # whom the rows of each stream probe
    mjoin: Way | None = None
    tree: Way | None = None
    best_tree: str | None = None  # the one whose costs these are
    texts: tuple[str, ...] = ()

    @property
    def runs(self) -> str | None:
        """What will run, "mjoin" or "tree"; None if that is found out while it does."""
        return self.expected if self.strategy == "auto" else self.strategy


def explain_strategy(
    plan: MultiPlan, rates: StreamRates | None, selectivities: Selectivities
) -> Strategy | None:
    """Explain it; None for joins that can be done in one way only.

    These are joins of two streams, joins on different keys by a chain of operators, and those
    with a budget or with limited states.
    """
    join = plan.join
    if len(join.inputs) < 3 or len(plan.resolved.steps) > 1 or plan.budget or join.states:
        return None
    texts = [_WAYS[join.strategy]]
    order = None if join.strategy == "tree" else join.order
    if order is not None:
        texts.append(f"order {order}: {_ORDERS[order]}")
    if rates is None:
        if join.strategy == "auto":
            texts.append("which of them is cheaper is found out while it runs")
        return Strategy(join.strategy, order, texts=tuple(texts))
    names, at = join.tree.names, _situation(plan, rates, selectivities)
    choice = choose(names, at, can_follow=join.can_follow)
    sequences = {
        name: tuple(names[i] for i in sequence)
        for name, sequence in zip(names, choice.sequences, strict=True)
    }
    mjoin = _way(plan, at, mjoin_cost(at, choice.sequences, _groups(join, at, choice)).us, None)
    # The tree that would run: the first one if it stays, or is as good as the best.
    first = not join.adaptive or tree_cost(join.tree, at).us <= choice.tree_cost.us
    best = join.tree if first else choice.tree
    tree = None if join.attributes else _way(plan, at, tree_cost(best, at).us, best)
    expected = "mjoin" if tree is None or mjoin.cpu_us <= tree.cpu_us else "tree"
    best_tree = None if tree is None else str(best)
    known = Strategy(join.strategy, order, expected, sequences, mjoin, tree, best_tree)
    built_in = join.operations == OperationCosts()
    costs = "built in" if built_in else "as calibrated on this machine"
    assumed = f"that is for batches of {BATCH_SECONDS:g} s; costs of operations: {costs}"
    return replace(known, texts=(*texts, *_compared(known, mjoin), assumed))


def _compared(known: Strategy, mjoin: Way) -> Iterator[str]:
    """The comparison in words."""
    if known.strategy != "tree":
        probed = (f"{name} probes {', '.join(x)}" for name, x in (known.sequences or {}).items())
        yield f"to expect: {'; '.join(probed)}"
    yield f"one n-ary join: {mjoin.text}"
    if known.tree is None:
        yield "a tree is not compared: on different keys it would be several operators"
        return
    yield f"tree {known.best_tree}: {known.tree.text}"
    cheaper, why = "one n-ary join", "forming results anew costs less than keeping them"
    if known.expected == "tree":
        cheaper = "the tree"
        why = "keeping intermediate results costs less than forming them anew"
    less, more = map(write, sorted((mjoin.cpu_us, known.tree.cpu_us)))
    yield f"at these rates {cheaper} is cheaper, {less} against {more} us: {why}"


def _groups(join: MultiJoin, at: Situation, choice: Choice) -> Groups:
    """Who drains after whom."""
    if join.order == "adaptive":
        return adaptive_groups(at, choice.sequences)
    buffers = tuple(round(n) for n in at.arrivals)
    tables = tuple(round(n) for n in at.tables)
    return groups_of(join.order, Waiting(buffers, tables, buffers))[0]


def _way(plan: MultiPlan, at: Situation, us: float, tree: Tree | None) -> Way:
    """What all shards need: for one n-ary join, or for a tree."""
    n, axes = plan.n_shards, plan.join.n_axes
    rows = [n * table for table in at.tables]
    sizes = [row_bytes(stream.kept)[0] for stream in plan.streams.values()]
    size = sum(r * each for r, each in zip(rows, sizes, strict=True))
    nodes = () if tree is None else [tree.streams(node) for node in tree.susceptible]
    formed = [n * at.stored(node) for node in nodes]
    size += sum(f * tuple_bytes(axes, len(x)) for f, x in zip(formed, nodes, strict=True))
    return Way(us * n / BATCH_SECONDS, sum(rows), sum(formed), size)


def _situation(plan: MultiPlan, rates: StreamRates, selectivities: Selectivities) -> Situation:
    """What a batch brings to one shard when all windows are full."""
    join, streams = plan.join, plan.streams
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
