"""What an n-ary join and a tree cost, and which of them, and which order, is chosen."""

import math
from collections.abc import Callable
from dataclasses import asdict
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.planning.many.nary import Sizes, probing_sequences
from streamjoin.planning.many.nary_cost import Situation, mjoin_cost, tree_cost
from streamjoin.planning.many.strategy import (
    EQUAL_COST,
    adaptive_groups,
    choose,
    choose_tree,
    produced_rate,
)
from streamjoin.planning.many.tree import Tree
from streamjoin.planning.two.algorithm_choice import OperationCosts
from tests.planning.many.plans import pairs_of, uniform

OPERATIONS = OperationCosts()
amounts = st.lists(st.integers(0, 5000), min_size=3, max_size=3)
Streams = frozenset[int]


def situation(
    sizes: Sizes,
    arrivals: list[float],
    tables: list[float],
    operations: OperationCosts = OPERATIONS,
) -> Situation:
    pieces = tuple(4.0 if n else 0.0 for n in tables)
    return Situation(tuple(arrivals), tuple(tables), pieces, sizes, operations)


@given(amounts, amounts, st.floats(1, 1e4))
def test_every_way_finds_the_same_results(
    arrivals: list[float], tables: list[float], keys: float
) -> None:
    """VAL-U5: what the orders and the trees find together does not differ."""
    at = situation(uniform(3, keys), arrivals, tables)
    sequences = probing_sequences(3, at.sizes, None, tables)
    expected = pytest.approx(at.formed(range(3)), rel=1e-6, abs=1e-6)
    for order in permutations(range(3)):
        cost = mjoin_cost(at, sequences, tuple((j,) for j in order))
        assert cost.results == expected
        assert cost.switches == 2
        assert cost.us >= 0
    for text in ("(a b) c", "(b c) a", "(a c) b"):
        cost = tree_cost(Tree.parse(text, names="abc"), at)
        assert cost.results == expected
        assert cost.us >= 0


def test_counts_of_an_mjoin_and_a_tree() -> None:
    at = situation(uniform(3, keys=10), [10, 20, 30], [100, 100, 100])
    sequences = ((1, 2), (0, 2), (0, 1))
    cost = mjoin_cost(at, sequences, ((0,), (1,), (2,)))
    first = [10 * 100 / 10, 20 * 110 / 10, 30 * 110 / 10]
    assert cost.intermediate == pytest.approx(sum(first))
    assert cost.probes == pytest.approx(60 + sum(first))
    tree = tree_cost(Tree.parse("(a b) c", names="abc"), at)
    assert tree.intermediate == pytest.approx((110 * 120 - 100 * 100) / 10)
    assert tree.probes == pytest.approx(60 + tree.intermediate)


def test_turns_cost_more_than_draining() -> None:
    at = situation(uniform(3, keys=1e5), [40_000.0] * 3, [100_000.0] * 3)
    sequences = probing_sequences(3, at.sizes)
    drained = mjoin_cost(at, sequences, ((0,), (1,), (2,)))
    turns = mjoin_cost(at, sequences, ((0, 1, 2),))
    assert turns.results == pytest.approx(drained.results, rel=0.2)
    assert turns.switches > 10 * drained.switches
    assert turns.us > 1.5 * drained.us


@pytest.mark.parametrize("n_streams", [2, 3, 4, 5])
def test_the_adaptive_order_is_among_the_cheapest(n_streams: int) -> None:
    random = np.random.default_rng(n_streams)
    for _ in range(4):
        arrivals = random.integers(0, 20_000, n_streams).tolist()
        tables = random.integers(0, 50_000, n_streams).tolist()
        at = situation(
            uniform(n_streams, float(random.integers(10_000, 1_000_000))), arrivals, tables
        )
        sequences = probing_sequences(n_streams, at.sizes, None, tables)
        costs = {
            order: mjoin_cost(at, sequences, tuple((j,) for j in order)).us
            for order in permutations(range(n_streams))
        }
        chosen = tuple(j for (j,) in adaptive_groups(at, sequences))
        # What indexes cost that are kept is not a matter of the order.
        assert costs[chosen] <= 1.02 * EQUAL_COST * min(costs.values())


def test_early_results_decide_between_orders_that_cost_alike() -> None:
    """VAL-U3: as with the initial output size, by |buffer| / |table| from the largest on."""
    visits = OperationCosts(**{**dict.fromkeys(asdict(OPERATIONS), 0.0), "visit": 1.0})
    at = situation(uniform(3, keys=1e4), [1e3] * 3, [2e4, 6e4, 1e4], visits)
    assert adaptive_groups(at, probing_sequences(3, at.sizes, None, at.tables)) == (
        (2,),
        (0,),
        (1,),
    )


def test_many_streams_and_silent_ones() -> None:
    sizes = uniform(7, keys=1e3)
    at = situation(sizes, [10.0] * 6 + [0.0], [500.0] * 7)
    choice = choose("abcdefg", at)
    assert {len(sequence) for sequence in choice.sequences} == {6}
    assert sorted(j for (j,) in adaptive_groups(at, choice.sequences)) == list(range(7))
    nothing = choose("abc", situation(uniform(3, keys=10), [0.0] * 3, [0.0] * 3))
    assert (nothing.mjoin.us, nothing.tree_cost.us, nothing.strategy) == (0, 0, "mjoin")


@pytest.fixture
def rare() -> Situation:
    """Tuples of a and b seldom match, and each of c has many partners."""
    tables = [100_000.0] * 3
    joined = {0b011: 100.0, 0b101: 3e6, 0b110: 3e6, 0b111: 3000.0}
    return situation(Sizes(tuple(tables), joined, keys=3e3), [20_000.0] * 3, tables)


def test_a_tree_is_better_where_it_remembers_little(rare: Situation) -> None:
    choice = choose("abc", rare)
    assert choice.strategy == "tree"
    assert str(choice.tree) == "(a b) c"


def test_an_mjoin_is_better_where_a_tree_stores_much() -> None:
    tables = [20_000.0] * 3
    choice = choose("abc", situation(uniform(3, keys=2e3), [2_000.0] * 3, tables))
    assert choice.strategy == "mjoin"


def test_what_runs_stays_unless_the_other_is_clearly_better(rare: Situation) -> None:
    choice = choose("abc", rare)
    ratio = choice.mjoin.us / choice.tree_cost.us
    assert ratio > 1.1
    assert choose("abc", rare, stay="mjoin").strategy == "tree"
    # Where storing costs more, both cost nearly the same.
    dear = choice.mjoin.us - choice.tree_cost.us
    formed = choice.tree_cost.intermediate * 5
    near = OperationCosts(store=OPERATIONS.store + 0.95 * 1000 * dear / formed)
    at = situation(rare.sizes, list(rare.arrivals), list(rare.tables), near)
    assert choose("abc", at).strategy == "tree"
    stays = choose("abc", at, stay="mjoin")
    assert stays.strategy == "mjoin"
    assert choose("abc", at, stay="tree").strategy == "tree"


def test_trees_of_joins_on_different_keys_have_no_cross_products() -> None:
    sizes = Sizes.given(pairs_of(ab=0.1, bc=0.1, cd=0.1), 4)
    at = situation(sizes, [10.0] * 4, [100.0] * 4)
    choice = choose("abcd", at, can_follow=lambda done, i: any(abs(i - j) == 1 for j in done))
    assert choice.sequences[0] == (1, 2, 3)
    for node in range(4, choice.tree.root):
        streams = sorted(choice.tree.streams(node))
        assert streams == list(range(streams[0], streams[-1] + 1))


def independent(sizes: list[float], sigmas: dict[Streams, float]) -> Callable[[Streams], float]:
    """Windows of some sizes; each predicate halves, say, what matches, whatever the others do."""

    def cardinality(streams: Streams) -> float:
        found = math.prod(sizes[i] for i in streams)
        return found * math.prod(s for pair, s in sigmas.items() if pair <= streams)

    return cardinality


def made(
    tree: Tree, names: list[str], rates: list[float], size: Callable[[Streams], float]
) -> float:
    """Intermediate results per second of a tree."""
    numbers = [names.index(name) for name in tree.names]
    inner = [frozenset(numbers[i] for i in tree.streams(node)) for node in tree.susceptible]
    return sum(produced_rate(streams, rates, size) for streams in inner)


def every_tree(names: list[str]) -> list[str]:
    """All plans, as text."""
    if len(names) == 1:
        return names
    first, *others = names
    found = []
    for size in range(len(others)):
        for more in combinations(others, size):
            left = [first, *more]
            right = [name for name in others if name not in more]
            found += [f"({a} {b})" for a in every_tree(left) for b in every_tree(right)]
    return found


@given(st.integers(0, 2**32 - 1), st.integers(2, 5))
def test_no_tree_makes_less(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    names = [f"s{i}" for i in range(k)]
    rates = rng.uniform(1, 100, k).tolist()
    sigmas = {frozenset(p): float(rng.uniform(0.0, 0.1)) for p in combinations(range(k), 2)}
    size = independent(rng.uniform(10, 1000, k).tolist(), sigmas)
    chosen = choose_tree(names, rates, size)
    assert sorted(chosen.names) == names
    least = min(made(Tree.parse(text), names, rates, size) for text in every_tree(names))
    assert made(chosen, names, rates, size) == pytest.approx(least)


def test_bushy_where_that_is_best() -> None:
    """Two selective pairs, and every other pair matches always."""
    sigmas = {frozenset([0, 2]): 0.001, frozenset([1, 3]): 0.001}
    chosen = choose_tree(list("abcd"), [1.0] * 4, independent([100.0] * 4, sigmas))
    assert str(chosen) == "(a c) (b d)"


def chained(left: Streams, right: Streams) -> bool:
    """Stream i has a predicate with i + 1."""
    return any(abs(i - j) == 1 for i in left for j in right)


@pytest.mark.parametrize("k", [4, 8, 14])
def test_avoids_cross_products(k: int) -> None:
    names = [f"s{i}" for i in range(k)]
    # a cross product of the ends would be cheap
    sizes = [1.0] + [100.0] * (k - 2) + [1.0]
    tree = choose_tree(names, [1.0] * k, independent(sizes, {}), connected=chained)
    order = [names.index(name) for name in tree.names]
    for node in range(k, tree.root + 1):
        left, right = (frozenset(order[i] for i in tree.streams(c)) for c in tree.children(node))
        assert chained(left, right)


def test_takes_a_cross_product_if_it_must() -> None:
    tree = choose_tree(
        list("abc"),
        [1.0] * 3,
        lambda streams: 1.0,
        connected=lambda left, right: 2 not in left | right,
    )
    assert str(tree) == "(a b) c"


def test_many_streams() -> None:
    names = [f"s{i}" for i in range(20)]
    tree = choose_tree(names, [1.0] * 20, lambda streams: float(sum(streams)))
    assert sorted(tree.names) == sorted(names)
    assert len(tree.joins) == 19


def test_empty_windows_make_nothing() -> None:
    assert produced_rate(frozenset([0, 1]), [5, 5], lambda streams: 0.0) == 0
    assert choose_tree(list("abc"), [0.0] * 3, lambda streams: 0.0).n_streams == 3


@pytest.mark.parametrize("size", [-1.0, math.nan, math.inf])
def test_refuses_wrong_sizes(size: float) -> None:
    with pytest.raises(ConfigError, match=r"cardinality: got .*; allowed: finite, 0 or more"):
        choose_tree(list("abc"), [1.0] * 3, lambda streams: size)


def test_refuses_a_missing_rate() -> None:
    with pytest.raises(ConfigError, match="rates: got 1; allowed: one for each"):
        choose_tree(list("ab"), [1.0], lambda streams: 1.0)
