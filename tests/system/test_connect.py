"""The join through Spark Connect: a server in one process, a client in another."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pytest

from tests.spark.streams import write_batches

NEEDED = ("grpc", "grpc_status", "google.rpc", "zstandard")

SERVER = """
import sys
from pyspark.sql import SparkSession
SparkSession.builder.master("local[2]").config(map={
    "spark.driver.memory": "1g", "spark.ui.enabled": "false", "spark.log.level": "ERROR",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": sys.argv[1], "spark.local.dir": sys.argv[2],
}).getOrCreate()
print("ready", flush=True)
sys.stdin.read()
"""

CLIENT = """
import json, sys
from pathlib import Path
import streamjoin as sj
from pyspark.sql import SparkSession, functions as F
from streamjoin.metrics.progress import read_progress

def refusal(action):
    try:
        action()
    except sj.StreamJoinError as error:
        return str(error)

spark = SparkSession.builder.remote(f"sc://localhost:{sys.argv[1]}").getOrCreate()
base = Path(sys.argv[2])
schema = spark.read.parquet(f"{base}/l").schema
left, right = (
    spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{base}/{name}")
    for name in ("l", "r")
)
WINDOW = {"on": "k", "time": "t", "window": "1 second"}
joined = sj.join(left.withColumn("nested", F.array("id")), right, **WINDOW)
query = (
    joined.writeStream.format("parquet").option("checkpointLocation", f"{base}/ck")
    .trigger(availableNow=True).start(f"{base}/out")
)
query.awaitTermination()
found = [read_progress(json.loads(progress.json)) for progress in query.recentProgress]
rows = spark.read.parquet(f"{base}/out").collect()
tables = [spark.read.parquet(f"{base}/{name}") for name in ("l", "r")]
print(json.dumps({
    "rows": sorted([row.id_left, row.nested[0], row.id_right] for row in rows),
    "pairs": [batch.rows_out for batch in found],
    "state_rows": [batch.whole.state_rows for batch in found],
    "status": sj.status(query).totals[0].pairs,
    "record": refusal(lambda: sj.record(spark)),
    "tables": sj.join(*tables, how="left", where="left.id < right.id", **WINDOW).count(),
    "explained": sj.explain(joined).to_dict()["joins"][0]["name"],
    "partitions": spark.conf.get("spark.sql.shuffle.partitions"),
    "window": refusal(lambda: sj.join(left, right, **{**WINDOW, "window": "-1 second"})),
    "rescale": refusal(lambda: sj.rescale(spark, f"{base}/ck", 4, output=f"{base}/out")),
}))
"""


def rows(*ids: int) -> pa.Table:
    times = pa.array([i * 100_000 for i in ids], pa.timestamp("us", "UTC"))
    return pa.table({"k": [i % 3 for i in ids], "id": list(ids), "t": times})


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Port of a Spark Connect server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        number: int = probe.getsockname()[1]
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, str(number), str(tmp_path / "local")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
    ) as server:  # fmt: skip
        assert server.stdout is not None
        assert server.stdout.readline() == "ready\n"
        yield number
        server.communicate("")


@pytest.mark.slow
@pytest.mark.skipif(
    not all(find_spec(name.partition(".")[0]) and find_spec(name) for name in NEEDED),
    reason="Spark Connect needs grpcio, grpcio-status, googleapis-common-protos and zstandard",
)
def test_a_client_joins_on_a_server(port: int, tmp_path: Path) -> None:
    batches = [rows(*range(10)), rows(*range(10, 30))]
    for name in ("l", "r"):
        write_batches(tmp_path / name, batches)
    client = subprocess.run(
        [sys.executable, "-c", CLIENT, str(port), str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert client.returncode == 0, client.stderr
    said = json.loads(client.stdout.splitlines()[-1])
    near = [(a, b) for a in range(30) for b in range(30) if a % 3 == b % 3 and abs(a - b) <= 10]
    assert said["rows"] == [[a, a, b] for a, b in near]
    first = sum(max(pair) < 10 for pair in near)
    assert said["pairs"] == [first, len(near) - first]
    assert said["state_rows"][0] == 20
    alone = [a for a in range(30) if not any(x == a < b for x, b in near)]
    assert said["tables"] == sum(a < b for a, b in near) + len(alone)
    assert said["status"] == len(near)
    assert said["record"].startswith("files: got 'checkpoint' with Spark Connect; allowed: a fol")
    assert said["explained"] == "streamjoin"
    assert said["partitions"] == "2"
    assert said["window"].startswith("window: got '-1 second'")
    assert said["rescale"] == "spark: got a Spark Connect session; allowed: a classic one"
