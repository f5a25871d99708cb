"""Joins of live streams, with each other and with tables, on Spark: exact, or within a budget.

>>> import streamjoin as sj
>>> sj.__version__
'0.3.0.dev0'

Reading order: `joins.window.arguments` (what a user may say), `joins.window.logic` (what happens to
a batch), `core` (how), `spark.frames` (where), `oracle` (what is right).
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from streamjoin.budget import Budget
from streamjoin.errors import (
    ConfigError,
    DataError,
    EngineError,
    MissingExtraError,
    StateError,
    StreamJoinError,
    TableError,
)
from streamjoin.windows import rows

if TYPE_CHECKING:
    from streamjoin import local, oracle
    from streamjoin._explain import explain
    from streamjoin.spark.checkpoint import rescale
    from streamjoin.spark.columns import with_pair_id
    from streamjoin.spark.frames import join
    from streamjoin.spark.multi_frames import multi_join
    from streamjoin.spark.recording import record
    from streamjoin.spark.sinks.postgres import postgres_sink
    from streamjoin.spark.sql import sql
    from streamjoin.spark.status import status
    from streamjoin.spark.table_frames import table_join
    from streamjoin.tables.parquet import parquet_table
    from streamjoin.tables.sql import sql_table

__version__ = "0.3.0.dev0"
__all__ = [
    "Budget",
    "ConfigError",
    "DataError",
    "EngineError",
    "MissingExtraError",
    "StateError",
    "StreamJoinError",
    "TableError",
    "__version__",
    "explain",
    "join",
    "local",
    "multi_join",
    "oracle",
    "parquet_table",
    "postgres_sink",
    "record",
    "rescale",
    "rows",
    "sql",
    "sql_table",
    "status",
    "table_join",
    "with_pair_id",
]

_MODULES = ("local", "oracle")
_TABLES = {"parquet_table": "streamjoin.tables.parquet", "sql_table": "streamjoin.tables.sql"}
_SPARK = {
    "explain": "streamjoin._explain",
    "join": "streamjoin.spark.frames",
    "multi_join": "streamjoin.spark.multi_frames",
    "postgres_sink": "streamjoin.spark.sinks.postgres",
    "record": "streamjoin.spark.recording",
    "rescale": "streamjoin.spark.checkpoint",
    "sql": "streamjoin.spark.sql",
    "status": "streamjoin.spark.status",
    "table_join": "streamjoin.spark.table_frames",
    "with_pair_id": "streamjoin.spark.columns",
}
_SPARK_NEEDS = ("pyspark", "pandas", "pyarrow", "google.protobuf")


def __getattr__(name: str) -> Any:
    """Load Spark, Arrow and Numba when they are first used: the import itself stays light."""
    if name in _MODULES:
        return importlib.import_module(f"streamjoin.{name}")
    if name in _TABLES:
        return getattr(importlib.import_module(_TABLES[name]), name)
    if name in _SPARK:
        for module in _SPARK_NEEDS:
            if not _is_installed(module):
                raise MissingExtraError.of(extra="spark", module=module)
        return getattr(importlib.import_module(_SPARK[name]), name)
    raise AttributeError(f"module 'streamjoin' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All public names, also those that are not loaded yet, for completion."""
    return sorted({*globals(), *__all__})


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:  # a parent package is missing
        return False
