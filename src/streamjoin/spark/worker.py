"""What a join does to the Python worker that it runs in."""

import gc
from functools import lru_cache
from typing import Final, NamedTuple

from pyspark import TaskContext


class Run(NamedTuple):
    """What a task works for.

    Parameters
    ----------
    query
        Id of the query: one DataFrame may be started as several.
    batch
        Number of the micro-batch; None outside of one.
    attempt
        Tells this run of the task from all others.
    """

    query: str
    batch: int | None
    attempt: int


NO_RUN: Final = Run("None", None, 0)


def running() -> Run:
    """What this task works for."""
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
