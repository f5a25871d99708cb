"""Start a Spark session that suits streaming joins, or say in one sentence why it cannot start."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamjoin.errors import EngineError, MissingExtraError
from streamjoin.spark.failures import root_cause
from streamjoin.spark.masters import executor_cores, is_here, require_answer
from streamjoin.spark.startup import hasten

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLDEST_JAVA = 17

_PYTHON = "spark.pyspark.python"

STATE_STORE = "spark.sql.streaming.stateStore."

STATE_SETTINGS = {
    f"{STATE_STORE}providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    f"{STATE_STORE}rocksdb.changelogCheckpointing.enabled": "true",
}
"""What a join needs of the state store; `requirements` refuses other values."""

DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # How long a new Python worker waits for each answer of a Java that has just as much to do.
    "spark.python.authenticate.socketTimeout": "120s",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
    # With any limit on bytes Spark adds up the size of its Arrow batch after every row, which takes
    # longer than writing the row. Rows of more than 100 kB want the limit back.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    **STATE_SETTINGS,
}


def start_session(
    app: str = "streamjoin",
    *,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    log: Path | None = None,
) -> "SparkSession":
    """Start, or get, a Spark session with the settings that a streaming join wants.

    Parameters
    ----------
    app
        Name of the application.
    master
        Where Spark runs; ``local[*]`` unless the environment names one.
    conf
        Any Spark settings; they win over the defaults of this module.
    log
        Where the error output of a newly started Java goes; by default to that of this process.

    Returns
    -------
    SparkSession
        A session with the RocksDB state store, changelog checkpointing and quiet logs.

    Raises
    ------
    ConfigError
        If the address of a standalone master is not ``spark://HOST:PORT``.
    EngineError
        If Java is missing or too old, Spark does not start, or a standalone master does not answer
        or gives no executors.

    Examples
    --------
    >>> _ = getfixture("spark")  # the session of this doctest; a new one takes some seconds
    >>> spark = start_session("demo", master="local[2]")
    >>> spark.conf.get("spark.sql.shuffle.partitions")
    '2'
    """
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MissingExtraError.of(extra="spark", module="pyspark") from error
    require_java()
    master = master or os.environ.get("MASTER") or "local[*]"
    require_answer(master)
    _prepare_environment(master, (conf or {}).get(_PYTHON))
    settings = {**DEFAULTS, **_parallelism(master), **_workers(master), **(conf or {})}
    is_new = SparkContext._active_spark_context is None
    builder = SparkSession.builder.appName(app).master(master)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _error_output_to(log):
            spark = builder.getOrCreate()
    except Exception as error:
        raise EngineError(
            f"Spark did not start with master {master!r}: {root_cause(error)}"
        ) from error
    if master.startswith("spark://"):
        _require_executors(spark, is_new)
    hasten(spark.sparkContext)
    return spark


def require_java() -> None:
    """Refuse a machine without Java 17 or later, the way Spark would look for it.

    Examples
    --------
    >>> require_java()
    """
    found = _java_version()
    if found is None or found < OLDEST_JAVA:
        came = "none was found" if found is None else f"Java {found} was found"
        raise EngineError(
            f"Spark needs Java {OLDEST_JAVA} or later and {came}; install it (Debian: apt install "
            "openjdk-17-jre-headless, macOS: brew install openjdk@17) or point JAVA_HOME at it"
        )


@contextmanager
def _error_output_to(log: Path | None) -> Iterator[None]:
    """Redirect file descriptor 2, the one that a child process inherits, for a while."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _java_version() -> int | None:
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java")
    if java is None:
        return None
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    except OSError:
        return None
    version = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(version[1]) if version else None


def _require_executors(spark: "SparkSession", is_new: bool) -> None:
    """Say at once that a cluster has no room: a query would wait for it without a word.

    A session that was there before may be local, whatever the master that was asked for; and it is
    not ours to stop.
    """
    if not str(spark.sparkContext.master).startswith("spark://"):
        return
    try:
        executor_cores(spark.sparkContext)
    except EngineError:
        if is_new:
            spark.stop()
        raise


def _prepare_environment(master: str, python: str | None) -> None:
    """Let workers run this very Python or the one that is named, and keep Spark on this machine.

    PYSPARK_PYTHON is what counts here: spark.pyspark.python is a setting of spark-submit.
    """
    if python is not None:
        os.environ["PYSPARK_PYTHON"] = python
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    scripts = str(Path(sys.executable).parent)
    paths = os.environ.get("PATH", "").split(os.pathsep)
    if paths[0] != scripts:
        os.environ["PATH"] = os.pathsep.join([scripts, *paths])
    if is_here(master):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")


def _workers(master: str) -> dict[str, str]:
    """Workers that are forked from our own process, where it is certain that they can import it.

    Examples
    --------
    >>> _workers("spark://head:7077")
    {}
    """
    is_ours = is_here(master) and os.environ["PYSPARK_PYTHON"] == sys.executable
    return {"spark.python.daemon.module": "streamjoin.spark.daemon"} if is_ours else {}


def _parallelism(master: str) -> dict[str, str]:
    """One shuffle partition per local core; a cluster's are counted when a join is made.

    Examples
    --------
    >>> _parallelism("local[3]")
    {'spark.sql.shuffle.partitions': '3'}
    >>> _parallelism("spark://host:7077")
    {}
    """
    local = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if local is None:
        return {}
    cores = {None: "1", "*": str(os.cpu_count() or 1)}.get(local[1], local[1])
    return {"spark.sql.shuffle.partitions": cores}
