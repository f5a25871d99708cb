from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.workloads import WORKLOADS, GeneratedStream
from streamjoin.workloads.stream import BLOCK_ROWS


@given(
    cuts=st.lists(st.integers(0, 3 * BLOCK_ROWS), min_size=2, max_size=6).map(sorted),
    workload=st.sampled_from(sorted(WORKLOADS)),
    seed=st.integers(0, 2**40),
)
def test_any_cut_gives_the_same_rows(cuts: list[int], workload: str, seed: int) -> None:
    stream = GeneratedStream(workload, keys=100, skew=1.0, disorder_ms=50, seed=seed)
    whole = pa.Table.from_batches([stream.rows(cuts[0], cuts[-1])])
    parts = [stream.rows(a, b) for a, b in pairwise(cuts)]
    assert pa.Table.from_batches(parts).equals(whole)


def test_streams_differ_by_seed_and_workload() -> None:
    people = [
        GeneratedStream(workload, seed=seed).rows(0, 1000)["person"].to_numpy()
        for workload in ("calls", "trades")
        for seed in (1, 2)
    ]
    assert len({values.tobytes() for values in people}) == 4


def test_event_times_keep_the_rate_and_the_disorder_bound() -> None:
    stream = GeneratedStream(rate_per_second=500, disorder_ms=200, start_us=7_000_000)
    times = stream.rows(0, 20_000)["called_at"].cast(pa.int64()).to_numpy()
    made = 7_000_000 + np.arange(20_000) * 2000
    delays = made - times
    assert delays.min() >= 0
    assert 190_000 < delays.max() <= 200_000
    behind = np.maximum.accumulate(times) - times
    assert behind.max() <= 200_000


def test_no_disorder_means_in_order() -> None:
    times = GeneratedStream(rate_per_second=3).rows(0, 100)["called_at"].cast(pa.int64()).to_numpy()
    assert (np.diff(times) > 0).all()


def test_skew_follows_zipf() -> None:
    keys = GeneratedStream(keys=1000, skew=1.0).rows(0, 200_000)["person"].to_numpy()
    counts = np.bincount(keys, minlength=1001)[1:]
    expected = 200_000 / np.arange(1, 1001) / (1 / np.arange(1, 1001)).sum()
    assert counts[:10] == pytest.approx(expected[:10], rel=0.05)


def test_the_most_frequent_key_moves_on_and_another_stream_follows() -> None:
    common: dict[str, Any] = {"rate_per_second": 1000, "keys": 100, "skew": 3.0, "cycle_s": 10.0}
    ahead, behind = (
        GeneratedStream(**common, lag_s=lag).rows(0, 10_000)["person"].to_numpy() for lag in (0, 2)
    )
    for second in range(2, 10):
        window = slice(1000 * second, 1000 * second + 50)
        assert np.bincount(ahead[window]).argmax() == 10 * second + 1
        assert np.bincount(behind[window]).argmax() == 10 * (second - 2) + 1


def test_news_of_one_story_are_alike() -> None:
    batch = GeneratedStream("news", keys=50).rows(0, 2000)
    stories = batch["story"].to_numpy()
    words = [dict(item) for item in batch["words"].to_pylist()]
    assert all(sum(w * w for w in item.values()) == pytest.approx(1, abs=0.01) for item in words)

    def alike(apart: int) -> float:
        pairs = [(0, j) for j in range(1, 2000) if abs(stories[0] - stories[j]) == apart]
        products = [
            sum(w * words[j].get(word, 0) for word, w in words[i].items()) for i, j in pairs
        ]
        return float(np.mean(products))

    assert all(len(item) == 9 for item in words)
    assert alike(0) > 0.4
    assert alike(0) > 1.5 * alike(1)
    assert alike(3) < 0.01  # words that all stories have


def test_alerts_have_distinct_descriptors_that_move_on() -> None:
    batch = GeneratedStream("alerts", skew=2.0, cycle_s=8.192).rows(0, 8192)
    sets = batch["descriptors"].to_pylist()
    assert all(len(set(items)) == len(items) >= 1 for items in sets)
    assert np.mean([len(items) for items in sets]) == pytest.approx(5, abs=0.1)
    first, later = (
        {item for items in part for item in items[:1]} for part in (sets[:40], sets[4096:4136])
    )
    assert "scan ssh" in first - later
    assert set(batch["severity"].to_pylist()) <= {1, 2, 3, 4, 5}


def test_uniform_keys_use_the_whole_range() -> None:
    keys = GeneratedStream(keys=50).rows(0, 10_000)["person"].to_numpy()
    assert np.unique(keys).tolist() == list(range(1, 51))


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
def test_batches_have_the_stated_schema_and_no_nulls(workload: str) -> None:
    batch = GeneratedStream(workload).rows(10, 20)
    assert batch.schema == WORKLOADS[workload].schema
    assert sum(column.null_count for column in batch.columns) == 0
    assert GeneratedStream(workload).rows(5, 5).schema == batch.schema


def test_trades_have_sensible_prices() -> None:
    batch = GeneratedStream("trades").rows(0, 5000)
    assert pc.min(batch["price"]).as_py() > 0
    assert set(batch["action"].to_pylist()) == {"buy", "sell"}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"workload": "cals"}, "workload: got 'cals'; allowed: calls, trades, news, alerts"),
        ({"rate_per_second": 0.0}, "rate: got 0.0; allowed: 0 < rate <= 1e9"),
        ({"keys": 0}, "keys: got 0; allowed: 1 to 10000000"),
        ({"skew": -1.0}, "skew: got -1.0; allowed: 0 to 10"),
        ({"cycle_s": -1.0}, "cycle: got -1.0; allowed: 0 or more seconds"),
        ({"lag_s": -1.0}, "lag: got -1.0; allowed: 0 or more seconds"),
        ({"disorder_ms": -1}, "disorder: got -1; allowed: 0 or more milliseconds"),
        ({"seed": -1}, "seed: got -1; allowed: 0 or more"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        GeneratedStream(**settings)
    assert str(refused.value) == sentence


def test_a_backward_range_is_refused() -> None:
    with pytest.raises(ConfigError, match="rows: got 5 to 4"):
        GeneratedStream().rows(5, 4)
