"""Which order makes the fewest intermediate results."""

import math
from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.planning.join_order import choose_tree, produced_rate
from streamjoin.planning.tree import Tree

Streams = frozenset[int]


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
