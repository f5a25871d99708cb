"""Plans for tests: the paper's, and random ones of all shapes."""

import math
from itertools import combinations

import numpy as np
from hypothesis import strategies as st

from streamjoin.planning.many.cover import Refresh
from streamjoin.planning.many.nary import Sizes
from streamjoin.planning.many.plan_model import Numbers, PlanModel
from streamjoin.planning.many.tree import Children, Tree

FIGURE_2A = PlanModel.of(Tree.parse("a b"), [500, 700], [5000, 500], [0.001, 0.005])
"""JAQ-C1, C2."""

TABLE_2 = PlanModel.of(
    Tree.parse("(a b) c"), [11, 11, 10], [5, 4, 1, 0.1], [1 / 11, 1 / 11, 1.0, 1.0]
)
"""JAQ-C4: productivities 4/11, 5/11, 0.1 and 1 of a, b, c and ab."""

TABLE_4 = PlanModel.of(
    Tree.parse("(a b) c"), [500, 700, 600], [5000, 500, 1000, 200], [0.001, 0.005]
)
"""JAQ-C9: productivities 0.5, 5, 1 and 5 of a, b, c and ab."""


@st.composite
def trees(draw: st.DrawFn, least: int = 2, most: int = 8) -> Tree:
    k = draw(st.integers(least, most))
    joins: list[Children] = []

    def build(first: int, end: int) -> int:
        if end - first == 1:
            return first
        middle = draw(st.integers(first + 1, end - 1))
        joins.append((build(first, middle), build(middle, end)))
        return k + len(joins) - 1

    build(0, k)
    return Tree(tuple(f"s{i}" for i in range(k)), tuple(joins))


@st.composite
def models(draw: st.DrawFn, least: int = 2, most: int = 8, endless: bool = False) -> PlanModel:
    """Productivities from far below 1 to far above, and now and then nothing at all."""
    tree = draw(trees(least, most))
    k, n = tree.n_streams, tree.root

    def many(values: st.SearchStrategy[float], count: int) -> list[float]:
        return draw(st.lists(values, min_size=count, max_size=count))

    rates = many(st.just(0.0) | st.floats(1, 1000), k)
    sizes = many(st.sampled_from([0.0, math.inf] if endless else [0.0]) | st.floats(1, 1000), n)
    sigmas = many(st.just(0.0) | st.floats(0.0005, 0.1), n)
    costs = many(st.just(1.0) | st.floats(0.1, 10), n)
    return PlanModel.of(tree, rates, sizes, sigmas, costs)


@st.composite
def lively_models(draw: st.DrawFn, least: int = 2, most: int = 8) -> PlanModel:
    """No zeros: every path makes results."""
    seed = draw(st.integers(0, 2**32 - 1))
    return random_model(np.random.default_rng(seed), draw(trees(least, most)))


def random_model(
    rng: np.random.Generator, tree: Tree, sigmas: tuple[float, float] = (0.0005, 0.005)
) -> PlanModel:
    """Productivities about 1, unless selectivities are larger."""
    k, n = tree.n_streams, tree.root
    sizes, rates = rng.uniform(200, 1000, n), rng.uniform(300, 1200, k)
    return PlanModel.of(tree, rates, sizes, rng.uniform(*sigmas, k - 1))


def refresh(model: PlanModel, share: float) -> Refresh:
    """Each intermediate state needs a share of what full load gives it."""
    rates = model.saturation.produced[:-1] * share
    rates[: model.tree.n_streams] = 0
    return Refresh(rates)


def pairs_of(**sigmas: float) -> dict[frozenset[int], float]:
    """Selectivities of pairs, such as ab=0.1."""
    return {frozenset(map("abcdef".index, name)): sigma for name, sigma in sigmas.items()}


def uniform(n_streams: int, keys: float) -> Sizes:
    """All streams draw from the same keys."""
    return Sizes.given(
        {frozenset(pair): 1 / keys for pair in combinations(range(n_streams), 2)}, n_streams
    )


def timed(
    tree: Tree, rates: Numbers, spans: Numbers, sigmas: Numbers, costs: Numbers | float = 1.0
) -> PlanModel:
    """States that keep what came in the last seconds: size is rate times span (JAQ-A3).

    A state of intermediate results is as large as it is when all tuples probe.
    """

    def size(rate: float, span: float) -> float:  # none a second make none, however long they stay
        return rate * span if rate and span else 0.0

    sizes = [*map(size, rates, spans), *[0.0] * len(tree.susceptible)]
    for node in tree.susceptible:
        below = PlanModel.of(tree, rates, sizes, sigmas, costs)
        sizes[node] = size(below.saturation.produced[node], spans[node])
    return PlanModel.of(tree, rates, sizes, sigmas, costs)
