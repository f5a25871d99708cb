"""Joins of a stream with a table on Spark, ours and the forms of Spark's own: a DataFrame each.

All give the columns of the stream and those of the table but its key.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from benchmarks.table_data import KEY, ON
from streamjoin.budget import Budget
from streamjoin.spark.table_frames import table_join
from streamjoin.tables.parquet import parquet_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CORES: Final = 2
OURS: Final = "streamjoin"


@dataclass(frozen=True)
class Stream:
    """A stream to join with a table, one file a micro-batch.

    Parameters
    ----------
    folder, table
        Of the files of both.
    least, patience
        It ends with the batch in which so many seconds are over, but not before so many batches; or
        when its files end.
    results
        Folder that the results go to; None if they are dropped.
    """

    folder: str
    table: str
    least: int = 1
    patience: float = 600
    results: str | None = None


@dataclass(frozen=True)
class Plan:
    """What a process does.

    Parameters
    ----------
    systems, streams
        Each of these (of `SYSTEMS`) joins each of those, by the order.
    memory, index
        Of ours: bytes that it may have, and where its index and copies go.
    """

    systems: list[str]
    streams: list[Stream]
    memory: int
    index: str


def _ours(rows: "DataFrame", path: str, plan: Plan) -> "DataFrame":
    table = parquet_table(path, key=KEY, unique=True, copy=True)
    memory = Budget(memory=f"{plan.memory} B")
    return table_join(rows, table, on={ON: KEY}, budget=memory, index_folder=plan.index)


def _spark_join(
    rows: "DataFrame", path: str, plan: Plan, *, hint: str, of_stream: bool, persisted: bool
) -> "DataFrame":
    """Spark's own join, with a hint on one of its sides."""
    spark = rows.sparkSession
    table = _persisted(spark, path) if persisted else spark.read.parquet(path)
    rows, table = (rows.hint(hint), table) if of_stream else (rows, table.hint(hint))
    return rows.join(table, rows[ON] == table[KEY]).drop(KEY)


@lru_cache
def _persisted(spark: "SparkSession", path: str) -> "DataFrame":
    """The table in memory, where and in the order that joins by the key want it."""
    table = spark.read.parquet(path).repartition(CORES, KEY).sortWithinPartitions(KEY).persist()
    table.count()
    return table


_JOINS: Final = {
    "broadcast-stream": ("broadcast", True),
    "sort-merge": ("merge", False),
    "shuffled-hash": ("shuffle_hash", False),
    "broadcast": ("broadcast", False),
}
"""Hints, and whether they are on the stream; those that are quick here first."""
PERSISTED: Final = "-persisted"
STATIC: Final = ("spark-sort-merge", "spark-broadcast")
"""What Spark makes of a stream and a table in files, if nobody helps: the table is read in every
batch, and broadcast or sorted."""
RIVALS: Final = {
    f"spark-{name}{suffix}": partial(
        _spark_join, hint=hint, of_stream=of_stream, persisted=bool(suffix)
    )
    for suffix in (PERSISTED, "")
    for name, (hint, of_stream) in _JOINS.items()
}
SYSTEMS: Final[dict[str, Callable[["DataFrame", str, Plan], "DataFrame"]]] = {
    OURS: _ours,
    **RIVALS,
}
