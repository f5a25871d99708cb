"""The n-ary join against the oracle: all orders, windows, cuts, disorder, restarts, keys."""

import tracemalloc
from collections import Counter
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.core.batch import Batch, arrange
from streamjoin.joins.base import Arrival, MemoryStore
from streamjoin.joins.multi import halfway, logic, nary, states
from streamjoin.joins.multi.logic import MultiJoinLogic
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.local import LocalMultiJoin
from streamjoin.planning.many.nary import ORDERS
from streamjoin.planning.many.nary_cost import FEW, SMALL
from tests.joins import multi_streams
from tests.joins.test_multi import ANY, DURATIONS, LENIENT, SCHEMA, cases, expected, run, words

ORDER = st.sampled_from(ORDERS)


def _join(case: dict[str, Any], on: Any, windows: Any, order: str) -> LocalMultiJoin:
    return LocalMultiJoin(
        dict.fromkeys(case["streams"], SCHEMA), on=on, time="t", window=words(windows),
        lateness="20 seconds", strategy="mjoin", order=order,
    )  # fmt: skip


def _shared(names: list[str], column: str) -> list[Any]:
    return [((names[0], column), (other, column)) for other in names[1:]]


@LENIENT
@given(cases(DURATIONS), st.sampled_from(["x", "y"]), ORDER)
def test_one_key(case: dict[str, Any], key: str, order: str) -> None:  # VAL-U5
    streams, windows = case["streams"], case["windows"]
    found = run(_join(case, key, windows, order), streams, case["cuts"])
    assert found == expected(streams, _shared(list(streams), key), windows)


@LENIENT
@given(cases(ANY), ORDER)
def test_windows_that_count(case: dict[str, Any], order: str) -> None:
    streams, windows = case["streams"], {**case["windows"], "s0": 3}
    found = run(_join(case, "x", windows, order), streams, case["cuts"])
    assert found == expected(streams, _shared(list(streams), "x"), windows)


@LENIENT
@given(cases(DURATIONS | ANY), ORDER, st.data())
def test_different_keys(case: dict[str, Any], order: str, data: st.DataObject) -> None:
    """Any connected graph of equalities, cycles too."""
    streams, windows = case["streams"], {**case["windows"], "s0": 8}
    names = list(streams)
    on = []
    for i, name in enumerate(names[1:], start=1):
        column = data.draw(st.sampled_from(["x", "y"]))
        on.append(((names[data.draw(st.integers(0, i - 1))], column), (name, column)))
    for _ in range(data.draw(st.integers(0, 2))):
        one, other = data.draw(st.permutations(names))[:2]
        column = data.draw(st.sampled_from(["x", "y"]))
        on.append(((one, column), (other, column)))
    texts = [f"{a}.{x} = {b}.{y}" for (a, x), (b, y) in on]
    found = run(_join(case, texts, windows, order), streams, case["cuts"])
    assert found == expected(streams, on, windows)


INDEXES = {"kept": 0, "either": FEW, "of each turn": 1 << 60}


@given(
    st.integers(3, 6),
    ORDER,
    st.sampled_from(sorted(INDEXES)),
    st.sampled_from([0, SMALL]),
    st.sampled_from([5, nary.TAKEN_TOGETHER]),
    st.booleans(),
    st.integers(0, 99),
)
def test_rounds_parts_and_both_ways_to_look_up(
    k: int, order: str, indexes: str, small: int, together: int, told: bool, seed: int
) -> None:
    """Many rows a batch, as far as four are many; results come in parts of five or at once.

    Pieces of less than `small` rows are visited together.
    """
    names = "abcdef"[:k]
    rates = dict.fromkeys(names, 40 // k)
    batches = list(multi_streams.poisson(rates, keys=2 * k, batches=3, seed=seed))
    known = {f"a {other}": 0.1 + 0.05 * i for i, other in enumerate(names[1:])}
    join = multi_streams.local(
        names, window="2 seconds", strategy="mjoin", order=order,
        selectivities=known if told else None,
    )  # fmt: skip
    found: multi_streams.Numbers = Counter()
    with (
        patch.object(nary, "ROUND", 4),
        patch.object(halfway, "FEW", INDEXES[indexes]),
        patch.object(states, "SMALL", small),
        patch.object(nary, "TAKEN_TOGETHER", together),
        patch.object(logic, "GATHERED", together),
    ):
        for batch in batches:
            found += multi_streams.numbers(join.push(batch), names)
            join = multi_streams.restarted(join)
            assert join.counts["driver_changes"] >= k or order not in ("timestamp", "round-robin")
    assert found == multi_streams.expected(batches, 2)
    assert join.total["nary"] == len(batches)
    assert join.counts["intermediate_rows"] == 0


@pytest.mark.parametrize("k", [3, 4])
def test_results_come_early_and_memory_does_not_grow_with_them(k: int) -> None:
    """One key, 300 rows of each stream: 27 million results of three, and 8 billion of four.

    Of four, those of three are intermediate: all of them together would take a gigabyte.
    """
    names = "abcd"[:k]
    join = multi_streams.local(names, window="10 seconds", strategy="mjoin").plan.steps[0].join
    rows = multi_streams.table([1] * 300, np.arange(300)).combine_chunks().to_batches()[0]
    arrivals = []
    for one in join.inputs:
        arranged = arrange(rows, one.stream)
        arrivals.append(Arrival(Batch(arranged.rows, one.stream), latest=arranged.latest))
    made = MultiJoinLogic(join, MultiJoinState.of(join), MemoryStore())
    tracemalloc.start()
    try:
        parts = made.on_batch(arrivals)
        peaks = []
        for _ in range(6):
            assert len(next(parts)[0]) < 1 << 19
            peaks.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()
    assert made.counts["rows_out"] < 1 << 22  # nothing that comes later is formed yet
    assert peaks[-1] < 1.1 * peaks[1] < 100e6


def test_nothing_is_formed_while_a_table_is_empty() -> None:
    """Rows of a and b match, but c has none: before it speaks, and before its turn."""
    times = np.arange(50)
    one, none = multi_streams.table([1] * 50, times), multi_streams.table([], [])
    other = multi_streams.table([2] * 50, times)
    join = multi_streams.local("abc", window="1 second", strategy="mjoin", order="consumption-rate")
    assert len(join.push({"a": one, "b": one, "c": none})) == 0
    assert join.counts["intermediate"] == 0
    join = multi_streams.local("abc", window="1 second", strategy="mjoin", order="round-robin")
    assert len(join.push({"a": one, "b": one, "c": other})) == 0
    assert join.counts["intermediate"] == 0
    assert join.counts["probed_a"] == join.counts["probed_c"] == 50
