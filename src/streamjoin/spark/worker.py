"""Python workers: how they start, for what they run, and what a join does to them.

They must start soon, for Spark does not wait long for all of them. A streaming join has a worker on
the driver, which tells Spark what state there is. Spark gives up on it if it has not connected
after ten seconds; no setting changes that. The worker connects once it has imported PySpark, which
Spark puts on its path as a zip file without compiled modules: so it compiles a hundred of them
first. On a busy machine that takes longer than Spark waits. Where PySpark is installed, the same
modules are there compiled, and a worker connects in a quarter of the time. `without_archives` runs
before that, so nothing of PySpark is imported here at once.
"""

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark import SparkContext

    from streamjoin.joins.channel import Run


def running() -> "Run":
    """What this task works for."""
    from pyspark import TaskContext

    from streamjoin.joins.channel import NO_RUN, Run

    context = TaskContext.get()
    if context is None:
        return NO_RUN
    batch = context.getLocalProperty("streaming.sql.batchId")
    query = context.getLocalProperty("sql.streaming.queryId")
    return Run(str(query), None if batch is None else int(batch), context.taskAttemptId())


@lru_cache(maxsize=1)
def settle() -> None:
    """Exempt what is loaded by now from garbage collection, once per process.

    PySpark collects garbage after every task. Numba, pandas and Arrow bring so many objects that
    looking through them takes longer than most of what a join does in a micro-batch; none of them
    is garbage before the worker ends.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def redirected(descriptor: int, target: int) -> Iterator[None]:
    """Let a file descriptor, which child processes inherit, be another one for a while."""
    kept = os.dup(descriptor)
    os.dup2(target, descriptor)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, descriptor)
        os.close(kept)


FOLDER: Final = str(Path(__file__).with_name("worker_path"))
"""On the path of Python it makes Python start with `without_archives`."""

_PACKED: Final = os.path.join("python", "lib", "pyspark.zip")


def hasten(context: "SparkContext") -> None:
    """Have the workers of all functions that are made from now on start with `without_archives`.

    On executors that do not have this folder workers start as ever; Spark gives those a minute.
    """
    paths = context.environment.get("PYTHONPATH", "").split(os.pathsep)
    if FOLDER not in paths:
        context.environment["PYTHONPATH"] = os.pathsep.join(filter(None, [FOLDER, *paths]))


def without_archives(path: Sequence[str]) -> list[str]:
    """Leave Spark's zip and jar files out of Python's path, if it then finds the same PySpark.

    Examples
    --------
    >>> import sys, pyspark
    >>> home = Path(pyspark.__file__).parent
    >>> without_archives([f"{home}/python/lib/pyspark.zip", *sys.path]) == sys.path
    True
    >>> without_archives(["/opt/spark/python/lib/pyspark.zip", "mine"])
    ['/opt/spark/python/lib/pyspark.zip', 'mine']
    """
    for home in (Path(entry).resolve().parents[2] for entry in path if entry.endswith(_PACKED)):
        rest = [entry for entry in path if home not in Path(entry).resolve().parents]
        unpacked, py4j = (PathFinder.find_spec(name, rest) for name in ("pyspark", "py4j"))
        if unpacked and unpacked.origin and py4j and Path(unpacked.origin).resolve().parent == home:
            return rest
    return list(path)
