"""Sizes of joins, probing sequences, and what an n-ary join and a tree of joins cost."""

import math
from dataclasses import asdict
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.planning.algorithm_choice import OperationCosts
from streamjoin.planning.nary import Sizes, probing_sequence, probing_sequences
from streamjoin.planning.nary_choice import ALIKE, adaptive_groups, choose
from streamjoin.planning.nary_cost import Situation
from streamjoin.planning.nary_drains import mjoin_cost
from streamjoin.planning.nary_tree import tree_cost
from streamjoin.planning.tree import Tree

OPERATIONS = OperationCosts()
Pairs = dict[frozenset[int], float]


def pairs_of(**sigmas: float) -> Pairs:
    """Selectivities of pairs, such as ab=0.1."""
    return {frozenset(map("abcdef".index, name)): sigma for name, sigma in sigmas.items()}


def situation(
    sizes: Sizes,
    arrivals: list[float],
    tables: list[float],
    operations: OperationCosts = OPERATIONS,
) -> Situation:
    pieces = tuple(4.0 if n else 0.0 for n in tables)
    return Situation(tuple(arrivals), tuple(tables), pieces, sizes, operations)


def uniform(n_streams: int, keys: float) -> Sizes:
    """All streams draw from the same keys."""
    return Sizes.given(
        {frozenset(pair): 1 / keys for pair in combinations(range(n_streams), 2)}, n_streams
    )


few_keys = st.lists(st.integers(0, 3), min_size=1, max_size=6)


def counted(keys: list[list[int]]) -> Sizes:
    """Sizes of the joins of all sets of streams."""
    joined = {}
    for size in range(2, len(keys) + 1):
        for chosen in combinations(range(len(keys)), size):
            rows = product(*(keys[i] for i in chosen))
            joined[sum(1 << i for i in chosen)] = float(sum(len(set(row)) == 1 for row in rows))
    return Sizes(tuple(map(float, map(len, keys))), joined, len({k for of in keys for k in of}))


@given(st.lists(few_keys, min_size=2, max_size=4), st.integers(1, 5))
def test_what_was_counted_is_scaled_and_comes_back_from_a_file(
    keys: list[list[int]], times: int
) -> None:
    sizes = counted(keys)
    assert Sizes.from_dict(sizes.to_dict()) == sizes
    everything = frozenset(range(len(keys)))
    now = [times * n for n in sizes.tables]
    whole = sizes.joined[sum(1 << i for i in everything)]
    assert sizes.of(everything, now) == pytest.approx(whole * times ** len(keys))
    assert sizes.of(frozenset([1]), now) == now[1]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_independence_is_exact_where_keys_are_among_each_other(order: tuple[int, ...]) -> None:
    domains = [(10, 100, 100, 1000)[i] for i in order]
    pairs = {
        frozenset([i, j]): 1 / max(domains[i], domains[j]) for i, j in combinations(range(4), 2)
    }
    sizes = Sizes.given(pairs, 4)
    for chosen in combinations(range(4), 3):
        within = sorted(domains[i] for i in chosen)
        assert sizes.selectivity(frozenset(chosen)) == pytest.approx(1 / math.prod(within[1:]))
    assert sizes.selectivity(frozenset(range(4))) == pytest.approx(1 / (100 * 100 * 1000))


def test_selectivities_of_the_paper() -> None:
    """VAL-U1 and VAL-D2: of datasets I to IV the pairs give that of all; V and VI need it."""
    everything = frozenset(range(3))
    sizes = Sizes.given(pairs_of(ab=5e-9, ac=1e-6, bc=5e-6), 3)
    assert sizes.of(everything, [1e6] * 3) == pytest.approx(5e6)
    known = {**pairs_of(ab=1e-5, ac=1e-5, bc=1e-5), everything: 1e-9}
    assert Sizes.given(known, 3).of(everything, [1e4, 1e5, 1e6]) == pytest.approx(1e6)


def test_a_pair_that_is_not_given_follows_from_the_way_between() -> None:
    sizes = Sizes.given(pairs_of(ab=0.5, bc=0.01, cd=0.1), 4)
    assert sizes.selectivity(frozenset([0, 2])) == 0.01
    assert sizes.selectivity(frozenset([0, 3])) == 0.01
    assert sizes.selectivity(frozenset(range(4))) == pytest.approx(0.5 * 0.01 * 0.1)
    with pytest.raises(ConfigError, match="links stream 2"):
        Sizes.given(pairs_of(ab=0.5, cd=0.1), 4)


def test_streams_that_nothing_links_form_a_cross_product() -> None:
    sizes = Sizes((10, 10, 10), {0b011: 20, 0b110: 10}, keys=5)
    assert sizes.of(frozenset([0, 2]), (10, 10, 10)) == 100
    assert Sizes((0, 10), {0b11: 0}, keys=1).of(frozenset([0, 1]), (5, 10)) == 0


def test_the_next_stream_leaves_the_fewest_tuples() -> None:
    """VAL-A3: by tuples, not by selectivity; of equal ones the smaller table, then the first."""
    sizes = Sizes.given(pairs_of(ab=1e-3, ac=1e-2, bc=1e-3), 3)
    assert probing_sequence(0, 3, sizes) == (1, 2)
    assert probing_sequence(0, 3, sizes, tables=(10, 5000, 10)) == (2, 1)
    even = uniform(4, keys=100)
    assert probing_sequences(4, even, tables=(9, 9, 9, 9))[2] == (0, 1, 3)
    never = Sizes((9, 9, 8), {0b011: 0, 0b101: 0, 0b110: 0, 0b111: 0}, keys=9)
    assert probing_sequence(0, 3, never) == (2, 1)


def test_only_linked_streams_follow() -> None:
    sizes = Sizes.given(pairs_of(ab=0.1, bc=1e-6, cd=0.1), 4)
    chain = probing_sequences(4, sizes, lambda done, i: any(abs(i - j) == 1 for j in done))
    assert chain == ((1, 2, 3), (2, 0, 3), (1, 0, 3), (2, 1, 0))


amounts = st.lists(st.integers(0, 5000), min_size=3, max_size=3)


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
        assert costs[chosen] <= 1.02 * ALIKE * min(costs.values())


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
