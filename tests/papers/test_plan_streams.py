"""Streams for plans (JAQ-D1, Table 3) and sensor readings (JAQ-D2)."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from papers.jaqpot.plan_streams import SEL, Parameters, PlanStreams
from papers.jaqpot.sensors import FILE, GROUP, SPEED, made_up, readings
from streamjoin.errors import ConfigError


def test_arrivals_are_poisson_and_keys_uniform() -> None:
    a, b = PlanStreams((400.0, 700.0), ((0.0, (0.02,)),), seconds=100, seed=4).draw()
    for stream, rate in ((a, 400), (b, 700)):
        counts = np.bincount(stream.times // 1_000_000, minlength=100)
        assert counts.mean() == pytest.approx(rate, rel=0.03)
        assert counts.var() == pytest.approx(rate, rel=0.5)
        assert np.all(np.diff(stream.times) >= 0)
    frequent = np.bincount(a.right, minlength=50)
    assert len(frequent) == 50
    assert frequent.std() < 2 * frequent.mean() ** 0.5
    assert a.left.max() == b.right.max() == 0


def test_selectivities_change_at_their_time() -> None:
    streams = PlanStreams((500.0,) * 4, SEL, seconds=600, seed=5).draw()
    for at, sigmas in SEL:
        for one, two, sigma in zip(streams, streams[1:], sigmas, strict=False):
            keys = [
                side[(s.times >= at * 1e6) & (s.times < (at + 60) * 1e6)]
                for s, side in ((one, one.right), (two, two.left))
            ]
            counts = [np.bincount(each, minlength=200) / len(each) for each in keys]
            assert counts[0] @ counts[1] == pytest.approx(1 / round(1 / sigma), rel=0.02)


def test_another_seed_is_another_stream() -> None:
    def times(seed: int) -> list[int]:
        drawn = PlanStreams((9.0, 9.0), ((0.0, (0.5,)),), 3, seed).draw()
        return list(map(int, drawn[0].times))

    assert times(1) == times(1) != times(2)


def test_table_3_bounds_what_is_drawn() -> None:
    drawn = [Parameters().draw(np.random.default_rng(seed), 4) for seed in range(200)]
    bounds = ((300, 1200), (200, 5000), (0.01, 0.1))
    for values, (low, high) in zip(zip(*drawn, strict=True), bounds, strict=True):
        assert low <= np.min(values) < 1.1 * low + 0.1 * high
        assert 0.9 * high < np.max(values) <= high


@pytest.mark.parametrize(
    ("rates", "steps", "sentence"),
    [
        ((1.0,), ((0.0, ()),), "rates: got"),
        ((1.0, 1.0), (), "selectivities: got"),
        ((1.0, 1.0), ((1.0, (0.5,)),), "allowed: steps that begin at 0"),
        ((1.0, 1.0), ((0.0, (0.5, 0.5)),), "allowed: 1 of more than 0 to 1"),
        ((1.0, 1.0), ((0.0, (0.0,)),), "allowed: 1 of more than 0 to 1"),
    ],
)
def test_wrong_numbers_are_refused(
    rates: tuple[float, ...], steps: tuple[tuple[float, tuple[float, ...]], ...], sentence: str
) -> None:
    with pytest.raises(ConfigError, match=sentence):
        PlanStreams(rates, steps, 1.0)


def test_made_up_sensors_are_alike_if_they_are_near() -> None:
    found = made_up(seed=1, days=2)
    assert not found.recorded
    assert set(found.sensors.tolist()) == set(range(1, 55))
    assert np.all(np.diff(found.times_us) >= 0)
    mean = [found.temperatures[found.sensors == n].mean() for n in range(1, 55)]
    near = np.mean(np.abs(np.subtract(mean, np.roll(mean, 1))))
    far = np.mean(np.abs(np.subtract(mean, np.roll(mean, 27))))
    assert near < 0.7 * far
    streams = found.streams(day=1, seconds=600)
    assert len(streams) == 5
    assert all(len(stream) / 600 == pytest.approx(15, rel=0.12) for stream in streams)
    matches = np.mean(streams[0].right[:2000, None] == streams[1].left[:2000])
    assert 0.003 < matches < 0.05


def test_recorded_readings_are_taken_if_there_are_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMJOIN_DATA", str(tmp_path))
    assert not readings(1).recorded
    (tmp_path / FILE).parent.mkdir()
    start = datetime(2004, 3, 4)
    rows = {
        "ts": [start + timedelta(seconds=72 * s) for s in (3, 0, 1)],
        "moteid": np.array([54, 1, GROUP + 1], np.int16),
        "temperature": [20.0, 21.0, 22.0],
    }
    pq.write_table(pa.table(rows), tmp_path / FILE)
    found = readings(1)
    assert found.recorded
    a, b, c, d, e = found.streams(day=0, seconds=10)
    assert [len(stream) for stream in (a, b, c, d, e)] == [1, 1, 0, 0, 1]
    assert [int(stream.times[0]) for stream in (a, b, e)] == [0, 1_000_000, 3_000_000]
    assert e.left[0] < a.left[0] < b.left[0]
    assert SPEED == 72
