"""Sizes of joins, probing sequences (VAL-A3, A4) and which input drives (VAL-A5..A10)."""

import math
from itertools import combinations, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.operators.nary_window_settings import output_estimates
from streamjoin.errors import ConfigError
from streamjoin.planning.many.nary import (
    ORDERS,
    Sizes,
    Waiting,
    groups_of,
    probing_sequences,
)
from tests.planning.many.plans import pairs_of, uniform

few_keys = st.lists(st.integers(0, 3), min_size=1, max_size=6)
PAPER = [order for order in ORDERS if order != "adaptive"]


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
    assert probing_sequences(3, sizes)[0] == (1, 2)
    assert probing_sequences(3, sizes, tables=(10, 5000, 10))[0] == (2, 1)
    even = uniform(4, keys=100)
    assert probing_sequences(4, even, tables=(9, 9, 9, 9))[2] == (0, 1, 3)
    never = Sizes((9, 9, 8), {0b011: 0, 0b101: 0, 0b110: 0, 0b111: 0}, keys=9)
    assert probing_sequences(3, never)[0] == (2, 1)


def test_only_linked_streams_follow() -> None:
    sizes = Sizes.given(pairs_of(ab=0.1, bc=1e-6, cd=0.1), 4)
    chain = probing_sequences(4, sizes, lambda done, i: any(abs(i - j) == 1 for j in done))
    assert chain == ((1, 2, 3), (2, 0, 3), (1, 0, 3), (2, 1, 0))


def waitings(least_table: int = 0) -> st.SearchStrategy[Waiting]:
    def of(n: int) -> st.SearchStrategy[Waiting]:
        buffers = st.tuples(*[st.integers(0, 50)] * n)
        tables = st.tuples(*[st.integers(least_table, 500)] * n)
        totals = st.tuples(*[st.integers(0, 5)] * n)
        return st.builds(Waiting, buffers, tables, totals)

    return st.integers(2, 6).flatmap(of)


def drained(order: str, waiting: Waiting) -> list[int]:
    groups, _ = groups_of(order, waiting)  # type: ignore[arg-type]
    assert all(len(group) == 1 for group in groups)
    return [j for (j,) in groups]


def test_derived_estimates() -> None:
    """VAL-U2, first and second step."""
    waiting = Waiting((10, 30, 50), (100, 200, 400), (1, 1, 1))
    assert output_estimates(waiting, (100, 200, 400), 1e-4) == pytest.approx([80, 120, 100])
    grown = output_estimates(waiting, (100, 230, 400), 1e-4)
    assert [grown[0], grown[2]] == pytest.approx([92, 115])
    rates = [out / n for out, n in zip(output_estimates(waiting, waiting.tables, 1e-4),
                                       waiting.buffers, strict=True)]  # fmt: skip
    assert rates == pytest.approx([8, 4, 2])
    assert drained("initial-output-size", waiting) == [1, 2, 0]
    assert drained("output-rate", waiting) == [0, 1, 2]


@given(waitings(least_table=1))
def test_greedy_choices_have_simple_forms(waiting: Waiting) -> None:
    """VAL-U3: each next stream has the largest buffer to table, or the smallest table, of all left.

    A table grows when its stream has been drained, which moves no other stream's rank.
    """
    buffers, tables = waiting.buffers, waiting.tables
    by_size = drained("initial-output-size", waiting)
    ratios = [buffers[j] / tables[j] for j in by_size]
    assert ratios == pytest.approx(sorted(ratios, reverse=True))
    by_rate = [j for j in drained("output-rate", waiting) if buffers[j]]
    assert [tables[j] for j in by_rate] == sorted(tables[j] for j in by_rate)


def test_tables_of_the_uneven_data_sets_reverse_the_order() -> None:
    """VAL-U4."""
    waiting = Waiting((100, 1000, 9000), (2000, 20_000, 300_000), (10**4, 10**5, 10**6))
    groups, turns = groups_of("consumption-rate", waiting)
    assert (groups, turns) == (((2,), (1,), (0,)), "position")
    assert drained("output-rate", waiting) == [0, 1, 2]


def test_ties_go_to_the_larger_buffer_then_to_the_first() -> None:
    """VAL-U3: with two empty tables every estimate is 0."""
    empty = Waiting((3, 9, 9, 1), (0, 0, 7, 7), (1, 1, 1, 1))
    assert drained("initial-output-size", empty)[0] == 1
    assert drained("output-rate", empty)[0] == 1
    same = Waiting((5, 5, 5), (4, 4, 4), (1, 1, 1))
    assert drained("initial-output-size", same) == [0, 1, 2]
    assert drained("output-rate", same) == [0, 1, 2]


def test_the_only_stream_with_an_empty_table_drives_first() -> None:
    """Only it finds full tables; once it has drained, the others find all."""
    waiting = Waiting((1, 50, 50), (0, 10, 10), (1, 1, 1))
    assert drained("initial-output-size", waiting)[0] == 0
    assert drained("output-rate", waiting)[0] == 0


@given(waitings())
def test_every_stream_has_its_place_once(waiting: Waiting) -> None:
    n = len(waiting.buffers)
    for order in PAPER:
        groups, turns = groups_of(order, waiting)
        assert sorted(j for group in groups for j in group) == list(range(n))
        assert turns == ("time" if order == "timestamp" else "position")
    assert groups_of("timestamp", waiting)[0] == groups_of("round-robin", waiting)[0]
    by_share = groups_of("consumption-rate", waiting)[0]
    totals = [waiting.totals[group[0]] for group in by_share]
    assert totals == sorted(set(waiting.totals), reverse=True)


def test_streams_of_one_selectivity_take_turns() -> None:
    """VAL-I8: data sets I to IV."""
    equal = Waiting((3, 1, 2), (9, 9, 9), (10**6,) * 3)
    assert groups_of("consumption-rate", equal) == groups_of("round-robin", equal)


def test_adaptive_is_not_an_order_of_its_own() -> None:
    with pytest.raises(ValueError, match="follows from costs"):
        groups_of("adaptive", Waiting((1, 1), (1, 1), (1, 1)))
