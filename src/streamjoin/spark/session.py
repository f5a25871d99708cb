"""Start a Spark session that suits streaming joins, or say in one sentence why it cannot start.

And where Spark runs: what the address of a master says, whether it answers, who works for it.
"""

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack
from functools import lru_cache
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Final

from streamjoin.errors import ConfigError, EngineError, MissingExtraError
from streamjoin.spark.failures import root_cause
from streamjoin.spark.worker import hasten, redirected

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext
    from pyspark.sql import SparkSession

logger = logging.getLogger(__name__)

_STANDALONE: Final = "spark://"
_ADDRESS: Final = re.compile(r"([^\s:/?#@\[\]]+|\[[0-9a-fA-F:.]+\]):(\d{1,5})", re.ASCII)
_CONNECT_SECONDS: Final = 5.0
_EXECUTOR_SECONDS: Final = 60.0
_SETTLED_SECONDS: Final = 2.0
"""Executors that come together come within this time; Spark does not say how many will."""
_DYNAMIC: Final = "spark.dynamicAllocation."
_NO_LIMIT: Final = 2**31 - 1
"""Spark's default for how many executors there may be."""
_UNKNOWN: Final = 200
"""Spark's own number of partitions, where nobody says how many cores there will be."""

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
        with ExitStack() as stack:
            if log is not None:
                sys.stderr.flush()
                file = stack.enter_context(log.open("ab"))
                stack.enter_context(redirected(2, file.fileno()))
            spark = builder.getOrCreate()
    except Exception as error:
        raise EngineError(
            f"Spark did not start with master {master!r}: {root_cause(error)}"
        ) from error
    if master.startswith(_STANDALONE):
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
    if not str(spark.sparkContext.master).startswith(_STANDALONE):
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


def is_here(master: str) -> bool:
    """Whether Spark runs on this machine alone, so that nothing of it need be seen outside.

    Examples
    --------
    >>> [is_here(each) for each in ("local[2]", "spark://127.0.0.1:7077", "spark://[::1]:7077")]
    [True, True, True]
    >>> [is_here(each) for each in ("yarn", "spark://head:7077", "spark://127.example:7077")]
    [False, False, False]
    """
    hosts = [host for host, _ in _addresses(master)]
    if not hosts:
        return master.startswith("local")
    return all(host == "localhost" or _is_loopback(host) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False


def require_answer(master: str) -> None:
    """Refuse a standalone master that cannot be reached; Spark would try for a minute, or longer.

    Raises
    ------
    ConfigError
        If the address of a standalone master is none.
    EngineError
        If nothing answers there.

    Examples
    --------
    >>> require_answer("local[2]")
    >>> require_answer("spark://127.0.0.1:1")
    Traceback (most recent call last):
    streamjoin.errors.EngineError: master: nothing answers at 'spark://127.0.0.1:1' ...
    """
    reasons = [_no_answer(*address) for address in _addresses(master)]
    if reasons and all(reasons):
        raise EngineError(
            f"master: nothing answers at {master!r} ({reasons[0]}); start Spark's master there, or"
            " name the one that runs"
        )


def _no_answer(host: str, port: int) -> str | None:
    """Why nobody can be reached there; None if somebody can."""
    try:
        socket.create_connection((host, port), _CONNECT_SECONDS).close()
    except OSError as error:
        return error.strerror or str(error)
    return None


def executor_cores(context: "SparkContext") -> int:
    """Cores of all executors; the first time, wait until they are there.

    Where executors come and go with the work it is what the settings say, not who is there now.

    Raises
    ------
    EngineError
        If none comes.
    """
    conf = context.getConf()
    if str(conf.get(f"{_DYNAMIC}enabled", "false")).lower() == "true":
        return _planned_cores(conf, str(context.master))
    _wait_for_executors(context)
    return max(1, sum(_cores(context)))


def _planned_cores(conf: "SparkConf", master: str) -> int:
    """Cores that dynamic allocation may come to; else those that it begins with.

    An executor of a standalone cluster has all cores of its machine, unless it is said how many.

    Examples
    --------
    >>> _planned_cores({f"{_DYNAMIC}maxExecutors": "10", "spark.executor.cores": "4"}, "yarn")
    40
    >>> _planned_cores({f"{_DYNAMIC}minExecutors": "3"}, "yarn"), _planned_cores({}, "yarn")
    (3, 200)
    """
    most = int(conf.get(f"{_DYNAMIC}maxExecutors") or _NO_LIMIT)
    names = (f"{_DYNAMIC}initialExecutors", f"{_DYNAMIC}minExecutors", "spark.executor.instances")
    first = max(int(conf.get(name) or 0) for name in names)
    executors = most if most < _NO_LIMIT else first
    each = int(conf.get("spark.executor.cores") or (0 if master.startswith(_STANDALONE) else 1))
    return executors * each or int(conf.get("spark.default.parallelism") or _UNKNOWN)


@lru_cache(maxsize=1)
def _wait_for_executors(context: "SparkContext") -> None:
    begin = since = time.monotonic()
    seen: list[int] = []
    while not seen or time.monotonic() - since < _SETTLED_SECONDS:
        if not seen and time.monotonic() - begin > _EXECUTOR_SECONDS:
            conf = context.getConf()
            raise EngineError(
                f"master: no executor has started for {context.master!r} within"
                f" {_EXECUTOR_SECONDS:.0f} seconds; see that a worker has as much free as"
                f" spark.executor.memory ({conf.get('spark.executor.memory', '1g')}) and"
                " spark.executor.cores ask for, and that it reaches this machine"
            )
        time.sleep(0.1)
        now = _cores(context)
        if now != seen:
            seen, since = now, time.monotonic()
    logger.info("executors have %s cores", seen)


def _cores(context: "SparkContext") -> list[int]:
    """Cores of each executor that is there."""
    spark = context._jsc.sc()
    if spark.isStopped():
        raise EngineError(
            f"master: {context.master!r} has ended the application; see the master's log"
        )
    listed = spark.statusStore().executorList(True)
    found = [listed.apply(i) for i in range(listed.size())]
    return [each.totalCores() for each in found if each.id() != "driver"]


def _addresses(master: str) -> list[tuple[str, int]]:
    """Hosts and ports of a standalone master and those that stand by; none of any other.

    Examples
    --------
    >>> _addresses("spark://one:7077,two:7078"), _addresses("yarn")
    ([('one', 7077), ('two', 7078)], [])
    >>> _addresses("spark://one")
    Traceback (most recent call last):
    streamjoin.errors.ConfigError: master: got 'spark://one'; allowed: spark://HOST:PORT
    """
    if not master.startswith(_STANDALONE):
        return []
    found = [_ADDRESS.fullmatch(each) for each in master.removeprefix(_STANDALONE).split(",")]
    addresses = [(each[1].strip("[]"), int(each[2])) for each in found if each]
    if len(addresses) < len(found) or not all(_can_be(*each) for each in addresses):
        raise ConfigError.at("master", repr(master), f"{_STANDALONE}HOST:PORT")
    return addresses


def _can_be(host: str, port: int) -> bool:
    """Whether an address can be looked up at all."""
    try:
        host.encode("idna")
    except UnicodeError:  # a part of the name is empty, or longer than names may be
        return False
    return 0 < port < 1 << 16
