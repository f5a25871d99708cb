"""What a join needs of Spark: version, settings, workers that can import this library."""

import logging
import os
import shutil
import subprocess
import sys
from functools import lru_cache
from typing import Final

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from streamjoin.budget import Budget, refuse_too_much
from streamjoin.errors import ConfigError, EngineError
from streamjoin.spark.session import STATE_SETTINGS, executor_cores
from streamjoin.spark.worker import hasten

logger = logging.getLogger(__name__)

OLDEST_SPARK: Final = (4, 2)
_PARTITIONS: Final = "spark.sql.shuffle.partitions"


def prepare(spark: SparkSession, *, streaming: bool = True) -> int:
    """Check the session, set what it left open, and return the number of partitions.

    Tables have no state: for them nothing is set.
    """
    _check_version(pyspark.__version__)
    _check_version(spark.version)
    if is_local(spark):
        _check_workers(spark)
    elif streaming and not is_connect(spark):
        _check_driver(spark.sparkContext.pythonExec)
    if not is_connect(spark):
        hasten(spark.sparkContext)
    if not streaming:
        return int(str(spark.conf.get(_PARTITIONS)))
    # What somebody set, without defaults; asked for once: each setting is a call into the JVM.
    made = dict(spark.conf.getAll)
    for key, value in STATE_SETTINGS.items():
        if key not in made:
            _set(spark, key, value)
        elif made[key] != value:
            raise ConfigError.at(
                key, repr(made[key]), f"{value!r} (set it before the query starts)"
            )
    if _PARTITIONS not in made:
        # Spark's default of 200 would run 200 stateful tasks in every micro-batch.
        _set(spark, _PARTITIONS, str(n_cores(spark)))
    return int(str(spark.conf.get(_PARTITIONS)))


def is_connect(of_spark: object) -> bool:
    """Whether a session, or a frame of one, talks to its Spark through Spark Connect."""
    return type(of_spark).__module__.startswith("pyspark.sql.connect")


def is_local(spark: SparkSession) -> bool:
    """Whether Spark runs on this machine alone; of a Connect session that is not known."""
    return not is_connect(spark) and str(spark.sparkContext.master).startswith("local")


def has_fixed_partitions(spark: SparkSession) -> bool:
    """Whether a cluster's partitions were set, so that they outlast the executors of the moment."""
    master = str(spark.conf.get("spark.master", "local"))  # Connect has no context to ask
    return not master.startswith("local") and _PARTITIONS in dict(spark.conf.getAll)


def n_cores(spark: SparkSession) -> int:
    """Cores of all executors, as Spark counts them."""
    if is_local(spark):
        return spark.sparkContext.defaultParallelism
    if not is_connect(spark):
        return executor_cores(spark.sparkContext)
    # Connect has no context to ask; a range has a partition per core.
    parts = spark.range(1 << 16).select(F.spark_partition_id().alias("part"))
    last = parts.agg(F.max("part")).head()
    assert last is not None
    return int(last[0]) + 1


def refuse_too_much_memory(budget: Budget, spark: SparkSession) -> None:
    """Refuse more memory than there is, where it is known: the machines of a cluster are others."""
    if is_local(spark):
        refuse_too_much(budget)


def _check_version(version: str) -> None:
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST_SPARK:
        oldest = ".".join(map(str, OLDEST_SPARK))
        raise EngineError(f"Spark: got version {version}; allowed: {oldest} or newer")


def _set(spark: SparkSession, key: str, value: str) -> None:
    logger.info("setting %s to %s for this session", key, value)
    spark.conf.set(key, value)


def _check_workers(spark: SparkSession) -> None:
    """Find out before the first batch whether local Python workers can run a join.

    Where nobody has said which Python they are, they are this one: Spark takes the first on the
    path, which is another one in an environment that is not activated.
    """
    context = spark.sparkContext
    worker = shutil.which(context.pythonExec)
    is_ours = worker is not None and os.path.abspath(worker) == os.path.abspath(sys.executable)
    if is_ours or (worker is not None and _can_join(worker)):
        return
    if not ({"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"} & os.environ.keys()):
        logger.info("Python workers of joins are started with %s", sys.executable)
        context.pythonExec = sys.executable
        return
    raise EngineError(
        f"PYSPARK_PYTHON: Spark runs its workers with {context.pythonExec!r}, which has no "
        f"streamjoin; set PYSPARK_PYTHON={sys.executable} before the session starts"
    )


def _check_driver(python: str) -> None:
    """Refuse a Python that only executors have: Spark asks one on the driver what state there is.

    Examples
    --------
    >>> _check_driver(sys.executable)
    >>> _check_driver("./no/such/python")
    Traceback (most recent call last):
    streamjoin.errors.EngineError: PYSPARK_PYTHON: Spark starts './no/such/python' on the driver ...
    """
    if shutil.which(python) is None:
        raise EngineError(
            f"PYSPARK_PYTHON: Spark starts {python!r} on the driver too, and it is not there; start"
            " from a folder that has it, or name one that is on all machines"
        )


@lru_cache(maxsize=8)
def _can_join(python: str) -> bool:
    command = [python, "-c", "import streamjoin.spark.processor"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
