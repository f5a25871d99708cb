"""Window joins that only count, for comparison; and those that say how long they look at results.

``spark.python.daemon.module`` set to this module gives Spark's workers joins that only count.
"""

import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from time import thread_time
from typing import Any
from unittest.mock import patch

from streamjoin.joins.ages import PairsSeen
from streamjoin.joins.base import Pairs
from streamjoin.joins.window import logic
from streamjoin.joins.window.settings import WindowJoin
from streamjoin.metrics import BasicWindows, Details


class NothingSeen:
    """Stands in for `PairsSeen`."""

    ages = None

    def __init__(self, join: WindowJoin) -> None:
        self.windows: dict[str, BasicWindows] = {}

    def see(self, *_: Any) -> None:
        """Look away."""


class Clock:
    """CPU time that was spent looking."""

    seconds = 0.0


@contextmanager
def clocked() -> Iterator[Clock]:
    """Within it, the time that joins of this process look at results is added up."""
    clock, see = Clock(), PairsSeen.see

    def timed(seen: PairsSeen, pairs: Pairs, newest: int) -> None:
        started = thread_time()
        see(seen, pairs, newest)
        clock.seconds += thread_time() - started

    with patch.object(PairsSeen, "see", timed):
        yield clock


@contextmanager
def measuring_off() -> Iterator[None]:
    """Within it, joins of this process measure nothing but their counts."""
    with (
        patch.object(logic, "PairsSeen", NothingSeen),
        patch.object(logic.WindowJoinLogic, "details", Details()),
    ):
        yield


if __name__ == "__main__":
    with measuring_off():
        runpy.run_module("pyspark.daemon", run_name="__main__")
