"""A query whose process is killed, again and again, gives the rows of an uninterrupted one."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from tests.spark.streams import drain, in_order, read_back, read_stream, write_batches

QUERY = """
import sys
import streamjoin as sj
from pathlib import Path
from streamjoin.spark.session import start_session
from tests.spark.streams import drain, read_stream
base = Path(sys.argv[1])
spark = start_session("killed", master="local[2]", conf={"spark.driver.memory": "1g"})
left, right = (read_stream(spark, base / name) for name in ("l", "r"))
print("started", flush=True)
drain(sj.join(left, right, on="k", time="t", window="3 ms", lateness="1 ms"),
      base / "ck", base / "out")
print("finished", flush=True)
"""


@pytest.mark.slow
def test_kill_9_at_random_points(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def batch(i: int) -> pa.Table:
        t = np.sort(rng.integers(i * 1000, (i + 1) * 1000, 300))
        columns = {"k": rng.integers(0, 15, 300), "id": rng.integers(0, 10**9, 300)}
        return pa.table({**columns, "t": pa.array(t, pa.timestamp("us", "UTC"))})

    for name in ("l", "r"):
        write_batches(tmp_path / name, [batch(i) for i in range(12)])
    left, right = (read_stream(spark, tmp_path / name) for name in ("l", "r"))
    whole = sj.join(left, right, on="k", time="t", window="3 ms", lateness="1 ms")
    drain(whole, tmp_path / "ck-whole", tmp_path / "out-whole")

    chance = random.Random(11)
    kills = 0
    while not _run_until(tmp_path, chance.uniform(1.0, 6.0) if kills < 2 else None):
        kills += 1
    assert kills >= 1
    one, two = (in_order(read_back(spark, tmp_path / o)) for o in ("out-whole", "out"))
    assert len(one) > 1000
    assert one == two


def _run_until(base: Path, seconds: float | None) -> bool:
    """Run the query; kill its whole process group so long after its start. True if it finished."""
    with subprocess.Popen(
        [sys.executable, "-c", QUERY, str(base)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        if seconds is None:
            assert process.wait(timeout=120) == 0
            return True
        time.sleep(seconds)
        if process.poll() is not None:
            assert process.returncode == 0
            return True
        os.killpg(process.pid, signal.SIGKILL)
    return False
