import json
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.metrics import Ages, BasicWindows, InputMetrics, JoinMetrics, TableMetrics
from streamjoin.metrics.details import begin
from tests.metrics.batches import selective
from tests.metrics.strategies import ages, batches


@given(batches())
def test_metrics_survive_json(batch: JoinMetrics) -> None:
    document = json.loads(json.dumps(batch.to_dict(), allow_nan=False))
    assert JoinMetrics.from_dict(document) == batch


def test_what_a_later_version_adds_is_passed_over() -> None:
    values = JoinMetrics(inputs=(InputMetrics("left", rows=3),), table=TableMetrics(1)).to_dict()
    values |= {"new": 1, "inputs": [{**values["inputs"][0], "new": 2}]}
    values["table"] = {**values["table"], "new": 3}
    assert JoinMetrics.from_dict(values).rows_in == 3


@given(st.lists(batches(), min_size=3, max_size=3))
def test_batches_add_up_in_any_grouping(three: list[JoinMetrics]) -> None:
    first, second, third = (
        replace(one, seconds=round(one.seconds), missed=round(one.missed), missed_variance=0.0,
                unmet=round(one.unmet), unmet_weight=0.0)
        for one in three
    )  # fmt: skip
    assert (first + second) + third == first + (second + third)


@given(st.lists(batches(), min_size=1, max_size=4))
def test_counts_are_sums_and_sizes_are_the_last(some: list[JoinMetrics]) -> None:
    total = sum(some[1:], some[0])
    assert total.batches == len(some)
    assert total.rows_in == sum(one.rows_in for one in some)
    assert total.pairs == sum(one.pairs for one in some)
    assert total.late == sum(one.late for one in some)
    assert (total.state_rows, total.windows) == (some[-1].state_rows, some[-1].windows)
    assert [one.state_rows for one in total.inputs] == [one.state_rows for one in some[-1].inputs]


def test_an_input_that_a_batch_does_not_name_keeps_its_counts() -> None:
    both = JoinMetrics(inputs=(InputMetrics("left", rows=1), InputMetrics("right", rows=2)))
    total = both + JoinMetrics(inputs=(InputMetrics("left", rows=4),)) + both
    assert {one.name: one.rows for one in total.inputs} == {"left": 6, "right": 4}


@given(batches())
def test_recall_lies_between_its_bounds(batch: JoinMetrics) -> None:
    assert (batch.recall is None) == (batch.recall_interval is None)
    if batch.recall is not None and batch.recall_interval is not None:
        low, high = batch.recall_interval
        assert 0 <= low <= batch.recall <= high <= 1


def test_every_count_is_told_as_left_out_once() -> None:
    assert selective().left_out == {
        "late": 5, "null": 3, "dropped": 7, "cut": 11, "skipped comparisons": 720,
        "stale results": 4,
    }  # fmt: skip


@given(ages(), ages())
def test_ages_add_up(some: Ages, others: Ages) -> None:
    both = some + others
    assert both.n == some.n + others.n
    assert both.most == max(some.most, others.most)
    assert both == others + some


def test_quantiles_of_ages_are_exact_to_an_eighth() -> None:
    exact = np.random.default_rng(1).lognormal(15, 2, 10_000)  # microseconds
    edges = [begin(bucket) for bucket in range(256)]
    numbers = np.searchsorted(edges, exact, side="right") - 1
    buckets = dict(zip(*np.unique(numbers, return_counts=True), strict=True))
    found = Ages({int(b): int(n) for b, n in buckets.items()}, exact.max() / 1e6)
    for share in (0.5, 0.95, 0.999):
        assert found.quantile(share) == pytest.approx(np.quantile(exact, share) / 1e6, rel=0.125)


def test_no_ages_have_no_quantile_but_zero() -> None:
    assert (Ages().p95, Ages().n) == (0.0, 0)


def test_basic_windows_that_were_not_counted_are_probed_in_full() -> None:
    strip = BasicWindows(1.0, found=(3.0, 1.0))
    assert (strip.fractions, strip.density) == ((1.0, 1.0), ())


def test_every_field_of_the_example_is_filled() -> None:
    """So that tests which take it see all of them."""
    empty = {"kind", "driver", "table", "allowances", "batch"}
    batch = selective()
    assert {one.name for one in fields(batch) if not getattr(batch, one.name)} <= empty
