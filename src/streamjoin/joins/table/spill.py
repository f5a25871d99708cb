"""Rows for which there was no time: kept with the state, answered when the load falls (NAE-A12)."""

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from streamjoin.joins.table.arrivals import stored
from streamjoin.joins.table.state import SPILLED, Run
from streamjoin.joins.table.work import Work

MOST_ROWS: Final = 1 << 16
"""Of one piece."""


class Spill:
    """Spilled rows during one batch.

    They are pieces of the state, so they are under the checkpoint, survive a restart, and none of
    them is lost or answered twice. The first rows of a piece may have left.

    Attributes
    ----------
    shed, reloaded
        Rows that went and came in this batch.
    """

    def __init__(self, work: Work) -> None:
        self._work, self._state, self._store = work, work.state, work.store
        self.shed = self.reloaded = 0

    @property
    def rows(self) -> int:
        """How many are kept."""
        return sum(piece.left for piece in self._state.spilled)

    @property
    def bytes(self) -> int:
        """What they take."""
        return sum(piece.size * piece.left // piece.rows for piece in self._state.spilled)

    def add(self, rows: pa.RecordBatch) -> None:
        """Keep rows for later."""
        self.shed += len(rows)
        for start in range(0, len(rows), MOST_ROWS):
            some = rows.slice(start, MOST_ROWS)
            blob = some.serialize()
            piece = Run(
                self._state.number(), self._state.sequence, len(some), self._work.now_us,
                self._work.now_us, blob.size, zlib.crc32(blob), left=len(some),
            )  # fmt: skip
            self._store.put(SPILLED, piece, blob)
            self._state.spilled.append(piece)

    def take(self, rows: int) -> Sequence[pa.RecordBatch]:
        """The oldest rows, not more than so many."""
        found = []
        while self._state.spilled and rows > 0:
            piece = self._state.spilled[0]
            n = min(rows, piece.left)
            blob = self._store.get(SPILLED, piece)
            whole = pa.ipc.read_record_batch(blob, stored(self._work.join.stream))
            found.append(whole.slice(piece.rows - piece.left, n))
            if n < piece.left:
                self._state.spilled[0] = replace(piece, left=piece.left - n)
            else:
                self._state.spilled.pop(0)
                self._store.remove(SPILLED, piece)
            rows -= n
            self.reloaded += n
        return found
