"""What the benchmark of n-ary joins makes of its turns; the runs need minutes of Spark."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks import mjoin
from benchmarks.driver_orders import compare
from benchmarks.mjoin_runs import Runner, Turn
from benchmarks.mjoin_workloads import WINDOW_SECONDS, orders_streams, workloads
from benchmarks.recorded import GroupedKeys
from benchmarks.systems import Task, Timing, agree
from streamjoin.cli.app import app
from streamjoin.errors import EngineError
from streamjoin.planning.many.nary import ORDERS

STATE = {"streamjoin-tree": 4_000_000, "spark-chain": 40_000_000}
CPU_US = {"streamjoin-mjoin": 2000, "streamjoin-tree": 4000, "streamjoin-plan": 3000}
SECONDS = {
    "streamjoin-mjoin": [0.5, 0.5, 0.5],
    "streamjoin-tree": [1.0, 1.0, 1.0],
    "streamjoin-plan": [0.5, 0.625, 0.8],
    "spark-chain": [5.0, 4.0],
    "spark-chain-memory": [2.5, 2.0],
}


class Fake:
    """A process that runs nothing and counts the files that it may see."""

    asked: list[tuple[str, int]]

    def __init__(self) -> None:
        self._seen: dict[str, list[int]] = {}

    def __enter__(self) -> "Fake":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, turn: Turn) -> Timing:
        task = turn.task
        counts = {len(list((Path(task.folder) / name).iterdir())) for name in task.streams}
        (n_files,) = counts
        seen = self._seen.setdefault(task.folder, [])
        n = n_files - sum(seen)
        seconds = SECONDS[task.system][len(seen)]
        seen.append(n)
        Fake.asked.append((task.system, n))
        return Timing(
            rows=[1000] * n, seconds=[9.0] * (n - 1) + [seconds], results=[3] * n, alone=[0] * n,
            cpu_us=[CPU_US.get(task.system, 0)] * n,
            state_rows=0 if task.system == "spark-chain" else 700,
            state_bytes=STATE.get(task.system, 2_000_000),
        )  # fmt: skip


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> None:
    Fake.asked = []
    monkeypatch.setattr(mjoin, "Runner", Fake)
    size = mjoin.Size(rows=0.002, cold=1, warm=1, turns=3, orders=(0, 1))
    monkeypatch.setattr(mjoin, "SMALL", size)


@pytest.mark.usefixtures("bench")
def test_rows_and_ratios() -> None:
    result = CliRunner().invoke(app, ["bench", "mjoin", "--quick", "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    names = [workload.name for workload in workloads()]
    systems = [*mjoin.OURS, *mjoin.CHAINS]
    rows = {(row["workload"], row["system"]): row for row in found["rows"]}
    assert list(rows) == [
        *((name, system) for name in names for system in systems),
        *(("orders", order) for order in ORDERS),
    ]
    auto = rows["3 small", "auto"]
    assert (auto["rows_per_s"], auto["lowest"], auto["highest"]) == (1600, 1250, 2000)
    assert auto["cpu_us_per_row"] == 3
    assert auto["state_mb"] == 2
    assert auto["state_rows"] == 700
    assert rows["3 small", "spark-chain"]["state_rows"] is None
    assert rows["3 small", "spark-chain"]["cpu_us_per_row"] is None
    ratios = found["ratios"]
    for name in names:
        assert ratios[f"{name} auto/better"] == pytest.approx(0.8)
        assert ratios[f"{name} auto/better lowest"] == pytest.approx(0.625)
        assert ratios[f"{name} auto/better highest"] == pytest.approx(1)
        assert ratios[f"{name} mjoin/tree"] == pytest.approx(2)
        assert ratios[f"{name} cpu auto/better"] == pytest.approx(1.5)
        assert ratios[f"{name} state mjoin/tree"] == pytest.approx(0.5)
        assert ratios[f"{name} auto/spark-chain"] == pytest.approx(7.5)
        assert ratios[f"{name} auto/spark-chain-memory lowest"] == pytest.approx(2.5)
        said = re.sub(r"\s+", " ", result.stderr)
        assert f"{name} auto/better: 0.80, wanted at least 0.9: NOT reached" in said
    assert "orders adaptive/timestamp" in ratios


@pytest.mark.usefixtures("bench")
def test_systems_take_turns() -> None:
    mjoin.run(lambda _: None, quick=True)
    turns = Fake.asked[5:18]  # of the first workload, after those that warm up
    ours = ["streamjoin-mjoin", "streamjoin-tree", "streamjoin-plan"]
    assert [system for system, _ in turns] == [
        *ours, *mjoin.CHAINS, *ours[1:], ours[0], ours[2], *mjoin.CHAINS, *ours[:2],
    ]  # fmt: skip
    full = workloads()[0].full
    assert [n for system, n in turns if system == "spark-chain"] == [full + 1, 2]
    assert [n for system, n in turns if system == ours[0]] == [full + 1, 2, 2]


def test_a_process_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    turn = Turn(Task("spark-chain", "nowhere", 1, 1), "nowhere")
    with Runner() as runner, pytest.raises(EngineError, match="spark-chain failed: no message"):
        runner.run(turn)


def test_streams_share_the_keys_of_their_groups(tmp_path: Path) -> None:
    streams = GroupedKeys({"a": 5000, "b": 4000, "c": 3000}, 2, {"ab": 20, "bc": 30, "abc": 40})
    tables = streams.tables(3)
    keys = {name: set(np.asarray(table["k"]).tolist()) for name, table in tables.items()}
    assert len(keys["a"] - keys["c"]) == 20
    assert len(keys["c"] - keys["a"]) == 30
    assert len(keys["a"] & keys["b"] & keys["c"]) == 40
    times = np.asarray(tables["a"]["ts"].cast("int64")) - 1_700_000_000_000_000
    assert (np.diff(times) >= 0).all()
    assert 6_000_000 <= times[0] <= times[-1] < 8_000_000
    streams.record(tmp_path, 2)
    assert sorted(file.name for file in (tmp_path / "b").iterdir()) == [
        "00000.parquet", "00001.parquet",
    ]  # fmt: skip
    assert tables == streams.tables(3)


def test_orders_find_the_same() -> None:
    found = compare(orders_streams(0.02), WINDOW_SECONDS, cold=1, warm=2)
    assert list(found) == list(ORDERS)
    assert len({tuple(one.results) for one in found.values()}) == 1
    for one in found.values():
        assert all(0 < half <= whole for half, whole in zip(one.half, one.seconds, strict=True))
        assert one.results[-1] > 0


def test_systems_must_agree_on_the_batches_that_all_had() -> None:
    agree({"tree": [1, 2, 9], "mjoin": [2, 1]})
    with pytest.raises(EngineError, match="disagree on the number of results"):
        agree({"tree": [1, 2, 9], "mjoin": [2, 2]})
