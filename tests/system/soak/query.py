"""One query of the soak, in a process of its own.

``python -m tests.system.soak.query`` reads a JSON `Load` and runs it until its standard input ends.
"""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.spark.generator import register_generator
from streamjoin.spark.session import start_session

CORES: Final = 2
TRIGGER_SECONDS: Final = 5
WINDOW_SECONDS: Final = 10
HEAP_MB: Final = 640
CLEANED: Final = "1min"
"""How often Java looks for what is not needed: Spark removes shuffled files only then."""
RETAINED: Final = 20
"""Batches whose files Spark keeps: few, so that their number levels off early."""
PEOPLE: Final = 2000
# An OR has no key to look up: twice the rows are four times the comparisons.
WHERE: Final = "right.person = left.person OR right.person = left.caller"


@dataclass(frozen=True)
class Load:
    """What to run.

    Parameters
    ----------
    folder
        Everything the run writes is below it.
    rate
        Rows a second of each stream.
    cpu
        Share of the cores that the join may use; None for an exact join.
    kind
        ``"window"``: two streams; ``"table"``: a stream and a table that memory does not hold.
    """

    folder: str
    rate: float
    cpu: float | None = None
    kind: str = "window"

    @property
    def records(self) -> Path:
        """Where the folder with the query's own records is."""
        return Path(self.folder) / "records"


def start(load: Load) -> SparkSession:
    """Spark with a heap that is wholly in memory from the start, so that growth is not the heap."""
    folder = Path(load.folder)
    conf = {
        "spark.driver.memory": f"{HEAP_MB}m",
        "spark.driver.extraJavaOptions": f"-Xms{HEAP_MB}m -XX:+AlwaysPreTouch "
        f"-Djava.io.tmpdir={folder / 'temp'}",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.streaming.minBatchesToRetain": str(RETAINED),
        "spark.cleaner.periodicGC.interval": CLEANED,
    }
    return start_session("soak", master=f"local[{CORES}]", conf=conf, log=folder / "log")


def joined(spark: SparkSession, load: Load) -> DataFrame:
    """The join that a load is put on."""
    register_generator(spark)
    calls = _stream(spark, "calls", load.rate, seed=1)
    if load.kind == "table":
        budget = sj.Budget(memory="4 MB", cpu=load.cpu)
        table = sj.parquet_table(_people(Path(load.folder) / "people"), key="person")
        index = Path(load.folder) / "index"
        return sj.table_join(calls, table, on="person", budget=budget, index_folder=index)
    trades = _stream(spark, "trades", load.rate, seed=2, lag_s=4)
    return sj.join(
        calls,
        trades,
        where=WHERE,
        time=("called_at", "traded_at"),
        window=f"{WINDOW_SECONDS} seconds",
        lateness="1 second",
        budget=None if load.cpu is None else sj.Budget(cpu=load.cpu),
        shards=CORES,
    )


def _stream(spark: SparkSession, workload: str, rate: float, **options: Any) -> DataFrame:
    """Some people are called much more often than others, and who that is changes."""
    settings = {"keys": PEOPLE, "skew": 1.0, "cycle_s": 60, "disorder_ms": 500, **options}
    reader = spark.readStream.format("streamjoin-generator").options(**settings)
    return reader.option("workload", workload).option("rate", rate).load()


def _people(folder: Path) -> Path:
    rng = np.random.default_rng(1)
    folder.mkdir()
    notes = pa.array([rng.bytes(2000).hex() for _ in range(PEOPLE)])
    people = pa.table({"person": pa.array(range(PEOPLE), pa.int64()), "note": notes})
    pq.write_table(people, folder / "people.parquet", row_group_size=100)
    return folder


def main() -> None:
    load = Load(**json.loads(sys.stdin.readline()))
    spark = start(load)
    with sj.record(spark, files=load.records, log=False):
        query = (
            joined(spark, load)
            .writeStream.format("noop")
            .option("checkpointLocation", str(Path(load.folder) / "checkpoint"))
            .trigger(processingTime=f"{TRIGGER_SECONDS} seconds")
            .start()
        )
        sys.stdin.read()  # until who started this has had enough
        query.stop()
    spark.stop()


if __name__ == "__main__":
    main()
