"""Queries live on a machine that takes longer to compile PySpark than Spark waits for a worker."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark.streams import write_batches

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SLOW_MACHINE = """
import time, zipimport
compile_source = zipimport._compile_source

def slowly(*arguments):
    time.sleep(0.12)  # a hundred modules
    return compile_source(*arguments)

zipimport._compile_source = slowly
"""

SETTINGS = {"spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.log.level": "OFF"}

JOIN = """
import json, sys
from pathlib import Path
import streamjoin as sj
from pyspark.sql import SparkSession
from tests.spark.streams import drain, read_back, read_stream

folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
spark = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
left, right = (read_stream(spark, folder / name) for name in ("l", "r"))
out = sj.join(left, right, on="k", time="t", window="1 second")
drain(out, folder / "checkpoint", folder / "out")
print(json.dumps(len(read_back(spark, folder / "out"))))
"""

GENERATOR = """
import json, sys
from pathlib import Path
from streamjoin.spark.generator import register_generator
from streamjoin.spark.session import start_session
from tests.spark.streams import drain, read_back

folder, settings = Path(sys.argv[1]), json.loads(sys.argv[2])
settings["spark.python.daemon.module"] = "pyspark.daemon"
spark = start_session(master="local[2]", conf=settings)
register_generator(spark)
calls = spark.readStream.format("streamjoin-generator").options(rate=100, seconds=1, start=0)
drain(calls.load(), folder / "checkpoint", folder / "out")
daemon = spark.sparkContext.getConf().get("spark.python.daemon.module")
print(json.dumps([len(read_back(spark, folder / "out")), daemon]))
"""


def run(program: str, folder: Path) -> object:
    """What a program prints, run on a slow machine."""
    (folder / "slow").mkdir()
    (folder / "slow" / "sitecustomize.py").write_text(SLOW_MACHINE, encoding="utf-8")
    paths = [str(folder / "slow"), *filter(None, [os.environ.get("PYTHONPATH"), os.getcwd()])]
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder), json.dumps(SETTINGS)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYSPARK_PYTHON": sys.executable},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def test_a_join_in_a_session_that_the_user_made(tmp_path: Path) -> None:
    times = pa.array([i * 100_000 for i in range(30)], pa.timestamp("us", "UTC"))
    rows = pa.table({"k": [i % 3 for i in range(30)], "t": times})
    for name in ("l", "r"):
        write_batches(tmp_path / name, [rows])
    near = [(a, b) for a in range(30) for b in range(30) if a % 3 == b % 3 and abs(a - b) <= 10]
    assert run(JOIN, tmp_path) == len(near)


def test_a_source_in_a_session_of_ours_with_a_daemon_of_the_users(tmp_path: Path) -> None:
    assert run(GENERATOR, tmp_path) == [100, "pyspark.daemon"]
