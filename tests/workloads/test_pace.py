from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.workloads import Burst, GeneratedStream
from streamjoin.workloads.stream import Pace

BURST = Burst(at_s=3.0, lasting_s=2.0, times=4.0)


def times(stream: GeneratedStream, last: int) -> Any:
    return stream.rows(0, last)["called_at"].cast(pa.int64()).to_numpy()


def test_more_rows_come_in_a_burst_and_as_many_before_and_after() -> None:
    stream = GeneratedStream(rate_per_second=100, burst=BURST)
    seconds = np.bincount(times(stream, stream.pace.rows(8.0)) // 1_000_000)
    assert seconds.tolist() == [100, 100, 100, 400, 400, 100, 100, 100]


def test_a_burst_changes_when_rows_come_and_nothing_else() -> None:
    calm, busy = (GeneratedStream(seed=5, burst=burst).rows(0, 9000) for burst in (None, BURST))
    assert calm.drop_columns("called_at").equals(busy.drop_columns("called_at"))
    assert not calm["called_at"].equals(busy["called_at"])


@given(
    cuts=st.lists(st.integers(0, 20_000), min_size=2, max_size=6).map(sorted),
    at=st.floats(0, 10),
    lasting=st.floats(0.001, 10),
    times=st.floats(0.01, 100),
)
def test_any_cut_gives_the_same_rows(
    cuts: list[int], at: float, lasting: float, times: float
) -> None:
    burst = Burst(at, lasting, times)
    stream = GeneratedStream(keys=100, skew=1.0, cycle_s=7, lag_s=2, disorder_ms=50, burst=burst)
    whole = pa.Table.from_batches([stream.rows(cuts[0], cuts[-1])])
    parts = [stream.rows(a, b) for a, b in pairwise(cuts)]
    assert pa.Table.from_batches(parts).equals(whole)


@given(
    rate=st.floats(0.1, 1e6),
    at=st.floats(0, 100),
    lasting=st.floats(0.001, 100),
    times=st.floats(0.01, 100),
    seconds=st.floats(0, 300),
)
def test_rows_and_seconds_belong_together(
    rate: float, at: float, lasting: float, times: float, seconds: float
) -> None:
    pace = Pace(rate, Burst(at, lasting, times))
    row = pace.rows(seconds)
    made_s = pace.made_us(np.array([row - 1, row, row + 1])) / 1e6
    assert made_s[0] <= seconds + 1e-6
    assert made_s[2] >= seconds - 1e-6
    assert pace.after(row, 0.0) == row


def test_popularity_goes_by_time_and_not_by_rows() -> None:
    stream = GeneratedStream(
        rate_per_second=1000, keys=100, skew=3.0, cycle_s=10.0, burst=Burst(2.0, 4.0, 5.0)
    )
    rows = stream.rows(0, stream.pace.rows(9.0))
    people, at = rows["person"].to_numpy(), rows["called_at"].cast(pa.int64()).to_numpy()
    for second in range(1, 9):
        around = (at >= second * 1_000_000) & (at < second * 1_000_000 + 50_000)
        assert np.bincount(people[around]).argmax() == 10 * second + 1


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((-1, 1, 2), "burst_at: got -1; allowed: 0 or more seconds"),
        ((0, 0, 2), "burst_lasting: got 0; allowed: more than 0 seconds"),
        ((0, 1, 0), "burst_times: got 0; allowed: more than 0, at most 1000"),
        ((0, 1, 1001), "burst_times: got 1001; allowed: more than 0, at most 1000"),
    ],
)
def test_wrong_bursts_are_refused(values: tuple[float, float, float], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Burst(*values)
    assert str(refused.value) == sentence
