"""Joins on a real cluster give the rows of local mode, though executors and a machine are lost."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.streams import in_order, read_back
from tests.system.cluster.queries import N_BATCHES, QUERIES, run, write_streams
from tests.system.servers.cluster import Cluster

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("ps") is None, reason="ps (Debian: procps) is missing"),
]

PATIENCE = 300  # seconds; other programs may keep the machine busy

COMMAND = [sys.executable, "-c", "from streamjoin.cli import main; main()"]

PIPELINE = """
[sources.a]
type = "parquet"
path = "{folder}/in/a"
[sources.b]
type = "parquet"
path = "{folder}/in/b"
[join]
on = "k"
time = "t"
window = "1 ms"
lateness = "1 ms"
[sink]
type = "parquet"
path = "{folder}/cluster/file/rows"
[run]
trigger = "available-now"
checkpoint = "{folder}/cluster/file/checkpoint"
[spark]
master = "local[2]"
driver_memory = "1g"
spark.executor.memory = "800m"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cluster")
    write_streams(folder / "in")
    return folder


@pytest.fixture(scope="module")
def cluster(folder: Path) -> Iterator[Cluster]:
    with Cluster.start(folder / "spark") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ran(folder: Path, cluster: Cluster) -> dict[str, list[Path]]:
    """Run all queries on the cluster; in the last one lose an executor, then a machine.

    Returns the local copies that each worker's executor had before.
    """
    commits = folder / "cluster" / "inner" / "checkpoint" / "commits"
    command = [sys.executable, "-m", "tests.system.cluster.queries", cluster.master, str(folder)]
    with (folder / "driver.log").open("w") as log:
        driver = subprocess.Popen([*command, *QUERIES], stdout=log, stderr=log)
        try:
            _wait_for(commits / "2", driver)
            executors = cluster.executors()
            assert len(executors) == 2
            copies = {
                name: list((folder / "spark" / f"{name}-local").glob("**/streamjoin-*/*"))
                for name in ("worker-0", "worker-1")
            }
            os.kill(executors[1], signal.SIGKILL)
            _wait_for(commits / "5", driver)
            assert not (commits / str(N_BATCHES - 1)).exists(), "too late: the query has finished"
            cluster.kill_worker(0)
            assert driver.wait(PATIENCE) == 0, (folder / "driver.log").read_text()[-2000:]
        finally:
            driver.kill()
            driver.wait()
    return copies


def _wait_for(path: Path, driver: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + PATIENCE
    while not path.exists():
        assert driver.poll() is None, (path.parents[4] / "driver.log").read_text()[-2000:]
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_those_of_local_mode(spark: SparkSession, folder: Path, name: str) -> None:
    here = run(spark, folder, name, "local")
    there = folder / "cluster" / name / "rows"
    one, other = (in_order(read_back(spark, path)) for path in (here, there))
    assert len(one) > 1000
    assert one == other


def test_executors_of_a_machine_keep_their_copies_apart(ran: dict[str, list[Path]]) -> None:
    blocks = {
        name: {part for path in paths for part in path.parts if part.startswith("blockmgr-")}
        for name, paths in ran.items()
    }
    assert [len(each) for each in blocks.values()] == [1, 1]
    assert not set.intersection(*blocks.values())


@pytest.mark.usefixtures("ran")
def test_shuffle_partitions_are_the_cores_of_the_executors(folder: Path) -> None:
    assert "partitions: 2\n" in (folder / "driver.log").read_text()


@pytest.mark.usefixtures("ran")
def test_a_file_runs_where_the_command_says(
    spark: SparkSession, cluster: Cluster, folder: Path
) -> None:
    file = folder / "file.toml"
    file.write_text(PIPELINE.format(folder=folder), encoding="utf-8")
    before = set((folder / "spark").glob("worker-1/app-*"))
    done = subprocess.run(
        [*COMMAND, "run", str(file), "--master", cluster.master],
        env={**os.environ, "MASTER": "local[1]"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert len(set((folder / "spark").glob("worker-1/app-*")) - before) == 1
    one, other = (folder / "cluster" / name / "rows" for name in ("inner", "file"))
    assert in_order(read_back(spark, one)) == in_order(read_back(spark, other))
