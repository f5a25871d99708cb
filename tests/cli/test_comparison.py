"""What others would have found: by hand, and of random drops in the mean."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import oracle
from streamjoin.cli.comparison import Comparison, Outcome, RandomDrop
from streamjoin.cli.run import Job
from streamjoin.cli.totals import compared_rows
from streamjoin.errors import ConfigError
from streamjoin.metrics import InputMetrics, JoinMetrics
from streamjoin.workloads import Burst, GeneratedStream
from tests.cli.test_pipeline_file import COMPARED, load, write

WINDOW = 2_000_000
STREAMS = (
    GeneratedStream("calls", 100, keys=20, skew=0.5, seed=1, burst=Burst(3, 2, 4)),
    GeneratedStream("trades", 80, keys=20, skew=0.5, seed=2, disorder_ms=300),
)
JOIN: dict[str, Any] = {
    "on": "person",
    "time": ("called_at", "traded_at"),
    "window": ("2 seconds", "1 second"),
    "lateness": "1 second",
    "where": None,
    "shards": 2,
}


def compared(part: float) -> Outcome:
    """A run of eight seconds, of which a part of the comparisons was made."""
    comparison = Comparison(STREAMS, JOIN)
    for second in range(8):
        left, right = (
            stream.pace.rows(second + 1) - stream.pace.rows(second) for stream in STREAMS
        )
        every = left * 80 * 2 + right * 100  # about as many as there are
        one = InputMetrics("left", left, compared=round(part * every), skipped=int(part < 1))
        comparison.add(JoinMetrics(inputs=(one, InputMetrics("right", right))))
    seen: list[tuple[int, int]] = []
    found = comparison.measure(lambda batch, batches: seen.append((batch, batches)))
    assert seen == [(batch, 8) for batch in range(1, 9)]
    return found


def rows(stream: GeneratedStream) -> list[dict[str, int]]:
    """People and times of eight seconds."""
    made = stream.rows(0, stream.pace.rows(8))
    people, times = made["person"].to_pylist(), made[stream.settings.time].cast(pa.int64())
    return [{"k": k, "t": t} for k, t in zip(people, times.to_pylist(), strict=True)]


def test_the_exact_join_is_exact() -> None:
    left, right = map(rows, STREAMS)
    window = (WINDOW, WINDOW // 2)
    pairs = oracle.window_join(left, right, on=[("k", "k")], time=("t", "t"), window=window)
    found = compared(1.0)
    assert found.exact == len(pairs) > 1000
    assert found.dropping == found.exact


def test_half_of_the_comparisons_find_about_half_by_random_drop() -> None:
    whole, half, tenth = compared(1.0).exact, compared(0.5).dropping, compared(0.1).dropping
    assert 0.4 < half / whole < 0.75
    assert 0.05 < tenth / whole < 0.2


def test_a_drop_join_keeps_to_its_comparisons() -> None:
    drop = RandomDrop((WINDOW, WINDOW))
    rng, kept = np.random.default_rng(3), [np.empty(0, np.int64)] * 2
    for second in range(6):
        times = [np.sort(rng.integers(0, 1_000_000, 500)) + second * 1_000_000 for _ in range(2)]
        drop.choose(times[0], times[1], compared=200_000)
        before = kept
        kept = [side.copy() for side in drop.kept]
        new = [side[side >= second * 1_000_000] for side in kept]
        made = sum(
            int((np.abs(a[:, None] - b[None, :]) <= WINDOW).sum())
            for a, b in ((new[0], before[1]), (before[0], new[1]), (new[0], new[1]))
        )
        if drop.share < 1:
            assert made == pytest.approx(200_000, rel=0.15)
    assert drop.share < 0.5


def test_a_condition_that_needs_spark_cannot_be_compared(tmp_path: Path) -> None:
    text = COMPARED.replace("[sink]", "where = \"right.symbol LIKE 'A%'\"\n[sink]")
    settings = load(write(tmp_path, text))
    with pytest.raises(ConfigError, match=r"key `run.compare`: got true, but where: .*needs Spark"):
        Job.make(settings, tmp_path)


def test_nothing_found_of_nothing() -> None:
    assert [row[1] for row in compared_rows(Outcome(0, 0), 0)] == [
        "0 pairs", "0 pairs (100.0 %)", "0 pairs (100.0 %)",
    ]  # fmt: skip
