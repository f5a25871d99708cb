"""Joins with a table whose checkpoints are kept: rows that wait, rows that are spilled, a cache.

The folder of a Parquet table is another one when a query goes on, so the table is another one too,
and rows that wait look for their places anew. A database says by itself whether it has changed.
"""

from collections import Counter
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from tests.spark.streams import read_stream
from tests.system.upgrade.checks import Found, at_once, exact, in_parts, is_left
from tests.system.upgrade.inputs import (
    FOREVER,
    PARQUET,
    ROWS_OF_PARTITION,
    SQLITE,
    WORDS,
    read_rows,
)
from tests.system.upgrade.story import Case, Check

STREAM: Final = "a"
LITTLE: Final = sj.Budget(memory="1 kB")
NO_TIME: Final = sj.Budget(memory="1 kB", cpu="1 us")


def words(base: Path) -> Found:
    """Each row of the stream, with its word if there is one."""
    return Counter((row["n"], WORDS.get(row["x"])) for row in read_rows(base, STREAM))


def with_table(
    *stored: str, database: bool, needs: tuple[Check, ...] = (), repeats: bool = True, **said: Any
) -> Case:
    """A case; `said` are arguments of the join."""

    def join(spark: SparkSession, base: Path) -> DataFrame:
        table: Any = sj.parquet_table(base / PARQUET, key="x")
        if database:
            table = sj.sql_table(
                f"sqlite://{base / SQLITE}", "words", key="x", unique=True,
                version="max(x)", rows_per_partition=ROWS_OF_PARTITION,
            )  # fmt: skip
        return sj.table_join(
            read_stream(spark, base / STREAM), table, on="x", how="left", shards=2,
            index_folder=base / "index", **said,
        )  # fmt: skip

    return Case(join, STREAM, ("n", "word"), (exact(words),), stored, needs, repeats=repeats)


TABLE_CASES: Final[dict[str, Case]] = {
    "table": with_table(
        "ow", database=False, algorithm="hybridjoin", max_wait="1 hour", repeats=False
    ),
    "inlj": with_table(database=True, algorithm="cinlj", needs=(at_once("hits"),)),
    "hybridjoin": with_table(
        "ow", database=True, algorithm="hybridjoin", max_wait=FOREVER, budget=LITTLE,
        needs=(is_left("waiting_rows"), in_parts),
    ),
    "meshjoin": with_table(
        "ow", "o-", database=True, algorithm="meshjoin", max_wait=FOREVER,
        needs=(is_left("waiting_rows"), in_parts),
    ),
    "meshjoin_moved": with_table(
        "ow", "o-", database=False, algorithm="meshjoin", max_wait=FOREVER, repeats=False,
        needs=(is_left("waiting_rows"), in_parts),
    ),
    "inlj_spilled": with_table(
        "ow", database=False, algorithm="inlj", budget=NO_TIME, repeats=False,
        needs=(is_left("spilled_rows"),),
    ),
    "hybridjoin_spilled": with_table(
        "ow", database=True, algorithm="hybridjoin", max_wait=FOREVER, budget=NO_TIME,
        repeats=False, needs=(is_left("waiting_rows", "spilled_rows"),),
    ),
    "meshjoin_spilled": with_table(
        "ow", database=True, algorithm="meshjoin", max_wait=FOREVER, budget=NO_TIME,
        repeats=False, needs=(is_left("waiting_rows", "spilled_rows"),),
    ),
}  # fmt: skip
