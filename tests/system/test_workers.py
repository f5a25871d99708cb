"""Queries find their Python workers, and live on a machine that is slow to start them."""

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


def finished(
    program: str, folder: Path, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    paths = [*filter(None, [environment.get("PYTHONPATH"), os.getcwd()])]
    return subprocess.run(
        [sys.executable, "-c", program, str(folder), json.dumps(SETTINGS)],
        env={**environment, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip


def printed(done: subprocess.CompletedProcess[str]) -> object:
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


def run_slowly(program: str, folder: Path) -> object:
    """What a program prints, run on a machine that takes long to compile PySpark."""
    (folder / "slow").mkdir()
    (folder / "slow" / "sitecustomize.py").write_text(SLOW_MACHINE, encoding="utf-8")
    paths = os.pathsep.join(filter(None, [str(folder / "slow"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable}
    return printed(finished(program, folder, environment))


def write_rows(folder: Path) -> int:
    """Two streams for the join; how many results there are."""
    times = pa.array([i * 100_000 for i in range(30)], pa.timestamp("us", "UTC"))
    rows = pa.table({"k": [i % 3 for i in range(30)], "t": times})
    for name in ("l", "r"):
        write_batches(folder / name, [rows])
    near = [(a, b) for a in range(30) for b in range(30) if a % 3 == b % 3 and abs(a - b) <= 10]
    return len(near)


def elsewhere(folder: Path) -> dict[str, str]:
    """An environment that is not activated: another Python is the first on the path."""
    other = folder / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\necho no streamjoin here >&2\nexit 1\n", encoding="utf-8")
    other.chmod(0o755)
    mine = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_")}
    return {**mine, "PATH": os.pathsep.join([str(other.parent), mine["PATH"]])}


def test_a_join_in_an_environment_that_is_not_activated(tmp_path: Path) -> None:
    n_results = write_rows(tmp_path)
    assert printed(finished(JOIN, tmp_path, elsewhere(tmp_path))) == n_results


def test_a_python_of_the_users_that_has_no_streamjoin_is_refused(tmp_path: Path) -> None:
    write_rows(tmp_path)
    environment = elsewhere(tmp_path)
    environment["PYSPARK_PYTHON"] = str(tmp_path / "bin" / "python3")
    done = finished(JOIN, tmp_path, environment)
    assert done.returncode == 1
    assert "which has no streamjoin; set PYSPARK_PYTHON=" in done.stderr


def test_a_join_in_a_session_that_the_user_made(tmp_path: Path) -> None:
    n_results = write_rows(tmp_path)
    assert run_slowly(JOIN, tmp_path) == n_results


def test_a_source_in_a_session_of_ours_with_a_daemon_of_the_users(tmp_path: Path) -> None:
    assert run_slowly(GENERATOR, tmp_path) == [100, "pyspark.daemon"]
