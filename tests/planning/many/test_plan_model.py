"""The numbers of a plan: JAQ-C1, C3, C8, C10, C11, U1, and what every flow keeps."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.planning.many.plan_model import PathTable, PlanModel
from streamjoin.planning.many.tree import Tree
from tests.planning.many.plans import FIGURE_2A, TABLE_2, TABLE_4, models, timed, trees


def test_productivities_of_figure_2a() -> None:  # JAQ-C1
    assert FIGURE_2A.productivities.tolist() == [2.5, 5]


def test_path_b_of_figure_2b() -> None:  # JAQ-C3
    table = PathTable.of(TABLE_4)
    allowances = table.allowances(np.array([0.0, 600, 0]))
    assert allowances.tolist() == pytest.approx([0, 100, 0, 500])
    assert TABLE_4.flow(allowances).produced[3] == pytest.approx(500)
    (a, _, _, ab) = TABLE_4.productivities
    assert table.productivity[0] == pytest.approx(ab * a / (1 + a))


def test_table_2() -> None:  # JAQ-C4
    table = PathTable.of(TABLE_2)
    assert table.caps == pytest.approx([15, 16, 10])
    assert table.outputs == pytest.approx([4, 5, 1])
    assert table.productivity == pytest.approx([4 / 15, 5 / 16, 0.1], rel=1e-12)
    assert table.allowances(table.caps) == pytest.approx([11, 11, 10, 4 + 5])


def test_cycles_add_up() -> None:  # JAQ-C8: 3 and 2 results in two cycles are 2.5 in each
    one = PlanModel.of(Tree.parse("a b"), [1, 0], [0, 1], [1.0])
    assert (one.throughput([3, 0]) + one.throughput([2, 0])) / 2 == one.throughput([2.5, 0])
    table = PathTable.of(TABLE_4)
    results = [TABLE_4.throughput(table.allowances(np.array([0.0, x, 0]))) for x in (60, 40, 50)]
    assert (results[0] + results[1]) / 2 == pytest.approx(results[2])


@pytest.mark.parametrize(
    ("allowances", "made", "used"),
    [([75, 75, 75, 75], 412.5, 75), ([13, 130, 27, 130], 656.5, 130), ([0, 150, 0, 150], 750, 150)],
)
def test_what_is_made_in_vain(allowances: list[float], made: float, used: float) -> None:
    flow = TABLE_4.flow(allowances)  # JAQ-C10
    assert (flow.produced[3], flow.probes[3], flow.unused[3]) == (made, used, made - used)


@pytest.mark.parametrize(
    ("plan", "states"),
    [
        ("((a b) c) d", ["a b", "a b c"]),
        ("(a b) (c d)", ["a b", "c d"]),
        ("((a b) (c d)) e", ["a b", "c d", "a b c d"]),
        ("(a b) ((c d) e)", ["a b", "c d", "c d e"]),
    ],
)
def test_states_that_may_go_stale(plan: str, states: list[str]) -> None:  # JAQ-C11
    tree = Tree.parse(plan)
    assert sorted(tree.label(node) for node in tree.susceptible) == sorted(states)


@given(trees(most=20))
def test_there_are_always_two_fewer_than_streams(tree: Tree) -> None:  # JAQ-A19
    inner = {node for path in tree.paths for node in path[1:]}
    assert inner == set(tree.susceptible)
    assert len(inner) == tree.n_streams - 2


@given(models(most=20))
def test_the_paths_together_are_the_whole_load(model: PlanModel) -> None:  # JAQ-U1
    table = PathTable.of(model)
    assert table.caps.sum() == pytest.approx(model.saturation_resources)
    assert table.outputs.sum() == pytest.approx(model.saturation_throughput)
    assert table.allowances(table.caps) == pytest.approx(model.saturation.probes)


@given(models(), st.lists(st.floats(0, 2000), min_size=14, max_size=14))
def test_no_more_probes_than_allowed_and_than_there_are_tuples(
    model: PlanModel, allowances: list[float]
) -> None:
    flow = model.flow(allowances)
    assert np.all(flow.probes <= np.array(allowances[: model.tree.root]))
    assert np.all(flow.unused >= 0)
    assert flow.throughput <= model.saturation_throughput
    assert model.resources(allowances) <= model.saturation_resources


def test_states_by_time() -> None:  # JAQ-A3
    tree = Tree.parse("(a b) c")
    model = timed(tree, [10, 20, 5], [4, 2, 6, 3], [0.1, 0.2])
    assert model.sizes.tolist() == [40, 40, 30, (10 * 4 + 20 * 4) * 3]
    endless = timed(tree, [10, 0, 5], [math.inf, math.inf, 6, 3], [0.1, 0.2])
    assert endless.sizes.tolist() == [math.inf, 0, 30, 0]


def test_states_without_end_give_numbers() -> None:
    tree = Tree.parse("((a b) c) d")
    model = PlanModel.of(tree, [1, 0, 5, 1], [math.inf] * 6, [0.1, 0, 0.5])
    table = PathTable.of(model)
    assert np.all(np.isfinite(table.productivity))
    assert math.isfinite(model.saturation_throughput)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (([1], [1, 1], [1]), "rates: got 1 numbers; allowed: 2, one for each stream"),
        (([1, math.inf], [1, 1], [1]), "rates: got inf; allowed: 0 or more, finite"),
        (([1, 1], [1, -1], [1]), "sizes: got -1.0; allowed: 0 or more"),
        (([1, 1], [1, 1], [math.nan]), "sigmas: got nan; allowed: 0 or more, finite"),
        (([1, 1], [1, 1], [1], 0.0), "costs: got 0; allowed: more than 0"),
    ],
)
def test_says_what_is_wrong(values: tuple[list[float], ...], message: str) -> None:
    with pytest.raises(ConfigError) as error:
        PlanModel.of(Tree.parse("a b"), *values)
    assert str(error.value) == message
