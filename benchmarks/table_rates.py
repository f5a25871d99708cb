"""Service rate of a join with a table in this process: rows answered in a second (NAE-A17)."""

import time
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from benchmarks.table_sources import Rows, Source
from streamjoin.budget import Budget
from streamjoin.local import LocalTableJoin

MAX_WAIT: Final = timedelta(hours=1)
"""So long that only memory says when rows that wait are answered, as in the paper."""
_FULL: Final = 0.9
"""As many of a batch's rows, or of others, must be answered in it: then the memory is full."""


@dataclass(frozen=True)
class Pace:
    """How long is measured.

    Parameters
    ----------
    batch_rows
        Rows that are fed at once.
    fill, most
        Seconds of warming up: at least, for the cache; and at most, until the memory for rows that
        wait is full and they are answered as fast as they come.
    seconds
        Of measuring.
    """

    batch_rows: int
    fill: float
    most: float
    seconds: float


@dataclass(frozen=True)
class Rate:
    """What was measured.

    Parameters
    ----------
    rows_per_s
        Rows that were answered in a second.
    hits
        Part of the rows that the front stage answered.
    waiting
        Rows that waited at the end.
    batches
        That were measured.
    filled
        Whether rows were answered as fast as they came when measuring began.
    """

    rows_per_s: float
    hits: float
    waiting: int
    batches: int
    filled: bool


@dataclass
class _Totals:
    """What has been fed so far."""

    rows: int = 0
    answered: int = 0
    hits: int = 0
    waiting: int = 0
    spilled: int = 0
    seconds: float = 0.0
    batches: int = 0
    is_full: bool = False


def service_rate(
    source: Source,
    algorithm: str,
    memory: int,
    skew: float,
    pace: Pace,
    folder: Path,
    *,
    cpu: timedelta | None = None,
    shed: str = "considering",
) -> Rate:
    """Feed a join as fast as it takes rows.

    Parameters
    ----------
    source, skew
        The table, and the skew of its stream.
    algorithm, memory
        Of the join.
    pace
        How long.
    folder
        Where the index of the table is kept.
    cpu, shed
        CPU time that the join may use for a batch, and what it does with rows that are too many.
    """
    stream = source.stream(skew)
    budget = Budget(memory=f"{memory} B", cpu=cpu)
    with LocalTableJoin(
        stream.take(0).schema, source.table, folder=folder, on=source.on, budget=budget,
        algorithm=algorithm, shed=shed, max_wait=MAX_WAIT,
    ) as join:  # fmt: skip
        warm = _Totals()
        while warm.seconds < pace.fill or not warm.is_full:
            _feed(join, stream, pace, warm)
            if warm.seconds > pace.most:
                break
        found = _Totals(waiting=warm.waiting, spilled=warm.spilled)
        while found.seconds < pace.seconds:
            _feed(join, stream, pace, found)
    return Rate(
        found.answered / found.seconds, found.hits / found.rows, found.waiting, found.batches,
        warm.is_full,
    )  # fmt: skip


def _feed(join: LocalTableJoin, stream: Rows, pace: Pace, totals: _Totals) -> None:
    rows = stream.take(pace.batch_rows)
    began = time.perf_counter()
    join.push(rows)
    totals.seconds += time.perf_counter() - began
    waiting, spilled = (join.metrics[name] for name in ("waiting_rows", "spilled_rows"))
    left = rows.num_rows + totals.waiting - waiting
    totals.is_full = left >= _FULL * rows.num_rows
    totals.answered += left + totals.spilled - spilled
    totals.waiting, totals.spilled = waiting, spilled
    totals.rows += rows.num_rows
    totals.hits += join.metrics["hits"]
    totals.batches += 1
