"""Ways to answer the rows that the front stage has missed.

*inlj* (NAE-A15): each row is looked up at once (here). *hybridjoin* (NAE-A6): rows wait for the
partition that has their key (`hybrid.py`). *meshjoin* (NAE-A4): partitions pass by in a circle, and
each row waits until it has met them all; no index is needed (`mesh.py`).
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import TableError
from streamjoin.joins.table.answers import Columns
from streamjoin.joins.table.arrivals import row_keys
from streamjoin.joins.table.settings import STREAM
from streamjoin.joins.table.spill import Spill
from streamjoin.joins.table.work import Work

logger = logging.getLogger(__name__)
Places = NDArray[np.int32] | None
"""Partitions of rows, if they are known."""


class Unreached(TableError):
    """The table could not be read; nothing has come of the rows that needed it."""

    def __init__(self, error: TableError) -> None:
        super().__init__(str(error))
        self.error = error

    def spill(self, work: Work, spill: Spill, rows: pa.RecordBatch) -> None:
        """Leave the rows for later, if that is allowed."""
        if not work.is_patient:
            raise self.error
        logger.warning("%s; %d rows wait for it", self, len(rows))
        spill.add(rows)


@contextmanager
def reaching() -> Iterator[None]:
    """Tell errors of reading the table from all others."""
    try:
        yield
    except TableError as error:
        raise Unreached(error) from error


class BackEnd(Protocol):
    """What answers rows in the end."""

    def answer(self, rows: pa.RecordBatch, places: Places) -> Iterator[Columns]:
        """Take rows of a batch; results of these and of such that waited."""


class LookUps:
    """Looks up each row at once (INLJ)."""

    def __init__(self, work: Work, spill: Spill) -> None:
        self._work, self._spill = work, spill

    def answer(self, rows: pa.RecordBatch, places: Places = None) -> Iterator[Columns]:
        """Results of all rows for which there is time; first of keys that have many."""
        left = self._work.left_us
        if left is not None and left < len(rows) * self._work.costs.look_up:
            _, at, often = np.unique(row_keys(rows), return_inverse=True, return_counts=True)
            n = max(1, int(left / self._work.costs.look_up))
            if n < len(often):
                now = np.zeros(len(often), np.bool_)
                now[np.argsort(-often, kind="stable")[:n]] = True
                self._spill.add(rows.filter(pa.array(~now[at])))
                rows = rows.filter(pa.array(now[at]))
        yield from self.all(rows)

    def all(self, rows: pa.RecordBatch) -> Iterator[Columns]:
        """Results of all rows, as many at a time as memory holds."""
        width = 1 + rows.nbytes // max(1, len(rows)) + int(self._work.parts.row_bytes)
        step = max(1, self._work.room.buffer // width)
        for start in range(0, len(rows), step):
            some = rows.slice(start, step)
            try:
                yield from self._work.timed(self._work.look_ups, len(some), self._found(some))
            except Unreached as error:
                error.spill(self._work, self._spill, rows.slice(start))
                return

    def _found(self, rows: pa.RecordBatch) -> Iterator[Columns]:
        columns = [rows.column(i) for i in self._work.join.keys[STREAM]]
        with reaching():
            part = self._work.parts.look_up(columns)
        yield from answered(self._work, rows, part)


def answered(
    work: Work,
    rows: pa.RecordBatch,
    part: pa.RecordBatch,
    missed: list[pa.RecordBatch] | None = None,
) -> Iterator[Columns]:
    """Results of rows that a part of the table answers: for good, if `missed` gets no others."""
    found, matched = np.zeros(len(rows), np.bool_), np.zeros(len(part), np.int64)
    yield from work.answers.match(rows, part, found, matched)
    if missed is None:
        yield from work.answers.without(rows.filter(pa.array(~found)))
    elif not found.all():
        missed.append(rows.filter(pa.array(~found)))
    if work.front is not None:
        work.front.offer(part, matched)
