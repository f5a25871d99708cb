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
drain(sj.join(left, right, on="k", time="t", window="3 ms", lateness="1 ms"),
      base / "ck", base / "out")
"""


@pytest.mark.slow
def test_kill_9_at_random_points(spark: SparkSession, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)

    def batch(i: int) -> pa.Table:
        t = np.sort(rng.integers(i * 1000, (i + 1) * 1000, 300))
        columns = {"k": rng.integers(0, 15, 300), "id": rng.integers(0, 10**9, 300)}
        return pa.table({**columns, "t": pa.array(t, pa.timestamp("us", "UTC"))})

    for name in ("l", "r"):
        write_batches(tmp_path / name, [batch(i) for i in range(6)])
    left, right = (read_stream(spark, tmp_path / name, per_trigger=6) for name in ("l", "r"))
    whole = sj.join(left, right, on="k", time="t", window="3 ms", lateness="1 ms")
    drain(whole, tmp_path / "ck-whole", tmp_path / "out-whole")

    chance = random.Random(11)
    for mark, longest in (("offsets/0", 3.0), ("commits/3", 0.5)):
        _kill_after(tmp_path / "ck" / mark, chance.uniform(0.0, longest), tmp_path)
    with _start(tmp_path) as process:
        assert process.wait(timeout=180) == 0
    one, two = (in_order(read_back(spark, tmp_path / o)) for o in ("out-whole", "out"))
    assert len(one) > 1000
    assert one == two


def _start(base: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", QUERY, str(base)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)


def _kill_after(mark: Path, seconds: float, base: Path) -> None:
    """Run the query; so long after it has written this file, kill its whole process group."""
    with _start(base) as process:
        try:
            end = time.monotonic() + 180
            while not mark.exists() and time.monotonic() < end:
                time.sleep(0.02)
            time.sleep(seconds)
            assert mark.exists()
            assert process.poll() is None, "too late: the query has finished"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
