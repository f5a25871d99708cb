"""Who drives (VAL-A5..A10): derived vectors, equivalent forms, ties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.planning.drivers import ORDERS, Waiting, groups_of, output_estimates

PAPER = [order for order in ORDERS if order != "adaptive"]


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
