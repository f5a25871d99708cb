"""Where Spark runs: what the address of a master says, whether it answers, who works for it."""

import logging
import re
import socket
import time
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from streamjoin.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext

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
