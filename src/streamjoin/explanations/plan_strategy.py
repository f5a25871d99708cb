"""Whether one n-ary join or a tree runs, which stream drives, and what both would cost."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from streamjoin.explanations.budget import BATCH_SECONDS
from streamjoin.explanations.plan_model import Selectivities, StreamRates
from streamjoin.explanations.plan_numbers import write
from streamjoin.explanations.plan_situation import situation
from streamjoin.explanations.plan_state import tuple_bytes
from streamjoin.explanations.plan_words import inputs
from streamjoin.explanations.plans import MultiPlan
from streamjoin.explanations.state import format_bytes, row_bytes
from streamjoin.joins.multi.reordering import EVERY
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.planning.many.nary import Groups, Order, Waiting, groups_of
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
class WayExplanation:
    """One way to find the results, in numbers.

    Parameters
    ----------
    cpu_us
        CPU for each second of the streams, besides what both ways do alike.
    rows, tuples
        Rows of streams that are remembered, and intermediate results.
    state_bytes
        Of both.
    """

    cpu_us: float
    rows: float
    tuples: float
    state_bytes: float

    @property
    def text(self) -> str:
        """In words."""
        more = f" and {write(self.tuples)} intermediate results" if self.tuples else ""
        size = format_bytes(self.state_bytes)
        return f"{write(self.cpu_us)} us of CPU/s; {write(self.rows)} rows{more}, {size}"


@dataclass(frozen=True)
class StrategyExplanation:
    """How results are found.

    Parameters
    ----------
    strategy, order
        As asked for; the order is None where only a tree may run.
    expected
        What is predicted to be cheaper, "mjoin" or "tree"; None if no rates were given.
    sequences
        For each stream, the others in the order in which its rows probe them; None without rates.
    mjoin, tree, best_tree
        Both ways in numbers, and the tree that was taken for that; None without rates, or where
        there is only one way.
    texts
        All of it in words.
    """

    strategy: str
    order: str | None
    expected: str | None
    sequences: dict[str, tuple[str, ...]] | None
    mjoin: WayExplanation | None
    tree: WayExplanation | None
    best_tree: str | None
    texts: tuple[str, ...]

    @property
    def runs(self) -> str | None:
        """What will run, "mjoin" or "tree"; None if that is found out while it does."""
        return self.expected if self.strategy == "auto" else self.strategy


def explain_strategy(
    plan: MultiPlan, rates: StreamRates | None, selectivities: Selectivities
) -> StrategyExplanation | None:
    """Explain it; None for joins that can be done in one way only.

    These are joins of two streams, joins on different keys by a chain of operators, and those
    with a budget or with limited states.
    """
    join = plan.resolved.steps[-1].join
    if len(join.inputs) < 3 or len(plan.resolved.steps) > 1 or plan.budget or join.states:
        return None
    texts = [_WAYS[join.strategy]]
    order = None if join.strategy == "tree" else join.order
    if order is not None:
        texts.append(f"order {order}: {_ORDERS[order]}")
    if rates is None:
        if join.strategy == "auto":
            texts.append("which of them is cheaper is found out while it runs")
        return StrategyExplanation(join.strategy, order, None, None, None, None, None, tuple(texts))
    at = situation(plan, rates, selectivities)
    choice = choose(join.tree.names, at, can_follow=join.can_follow)
    names = join.tree.names
    sequences = {
        name: tuple(names[i] for i in sequence)
        for name, sequence in zip(names, choice.sequences, strict=True)
    }
    cost = mjoin_cost(at, choice.sequences, _groups(join, at, choice)).us
    mjoin = _way(plan, at, cost, None)
    best = _tree(join, at, choice)
    tree = None if join.attributes else _way(plan, at, tree_cost(best, at).us, best)
    expected = "mjoin" if tree is None or mjoin.cpu_us <= tree.cpu_us else "tree"
    texts += _numbers(join, sequences, mjoin, tree, best, expected)
    return StrategyExplanation(
        strategy=join.strategy,
        order=order,
        expected=expected,
        sequences=sequences,
        mjoin=mjoin,
        tree=tree,
        best_tree=None if tree is None else str(best),
        texts=tuple(texts),
    )


def _numbers(
    join: MultiJoin,
    sequences: dict[str, tuple[str, ...]],
    mjoin: WayExplanation,
    tree: WayExplanation | None,
    best: Tree,
    expected: str,
) -> Iterator[str]:
    """The comparison in words."""
    if join.strategy != "tree":
        probed = (f"{name} probes {', '.join(others)}" for name, others in sequences.items())
        yield f"to expect: {'; '.join(probed)}"
    yield f"one n-ary join: {mjoin.text}"
    if tree is None:
        yield "a tree is not compared: on different keys it would be several operators"
    else:
        yield f"tree {best}: {tree.text}"
        less, more = sorted((mjoin.cpu_us, tree.cpu_us))
        name = "one n-ary join" if expected == "mjoin" else "the tree"
        why = "forming results anew costs less than keeping them"
        if expected == "tree":
            why = "keeping intermediate results costs less than forming them anew"
        yield f"at these rates {name} is cheaper, {write(less)} against {write(more)} us: {why}"
    built_in = join.operations == OperationCosts()
    costs = "built in" if built_in else "as calibrated on this machine"
    yield f"that is for batches of {BATCH_SECONDS:g} s; costs of operations: {costs}"


def _groups(join: MultiJoin, at: Situation, choice: Choice) -> Groups:
    """Who drains after whom."""
    if join.order == "adaptive":
        return adaptive_groups(at, choice.sequences)
    buffers = tuple(round(n) for n in at.arrivals)
    tables = tuple(round(n) for n in at.tables)
    return groups_of(join.order, Waiting(buffers, tables, buffers))[0]


def _tree(join: MultiJoin, at: Situation, choice: Choice) -> Tree:
    """The tree that would run: the first one if it stays, or is as good as the best."""
    if join.adaptive and tree_cost(join.tree, at).us > choice.tree_cost.us:
        return choice.tree
    return join.tree


def _way(plan: MultiPlan, at: Situation, us: float, tree: Tree | None) -> WayExplanation:
    """What all shards need: for one n-ary join, or for a tree."""
    n, axes = plan.n_shards, plan.resolved.steps[-1].join.n_axes
    streams = inputs(plan).values()
    rows = [n * table for table in at.tables]
    size = sum(r * row_bytes(x.stream.kept)[0] for r, x in zip(rows, streams, strict=True))
    nodes = () if tree is None else [tree.streams(node) for node in tree.susceptible]
    formed = [n * at.stored(node) for node in nodes]
    size += sum(f * tuple_bytes(axes, len(x)) for f, x in zip(formed, nodes, strict=True))
    return WayExplanation(us * n / BATCH_SECONDS, sum(rows), sum(formed), size)
