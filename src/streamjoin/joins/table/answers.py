"""From stream rows and table rows that match to results."""

from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions
from streamjoin.core.index import HashIndex
from streamjoin.core.keys import equal_keys
from streamjoin.joins.base import MAX_PAIRS
from streamjoin.joins.table.arrivals import row_keys
from streamjoin.joins.table.settings import STREAM, TABLE, TableJoin

Columns = list[pa.Array]
FEW: Final = 4
"""Where so many times the stream rows are fewer than those of a part of the table, they are what
is put into the index."""


class Answers:
    """Matches stream rows with parts of the table.

    Parameters
    ----------
    join
        Settings.

    Attributes
    ----------
    pairs, alone
        Results so far, with a table row and without.
    """

    def __init__(self, join: TableJoin) -> None:
        self._join = join
        self.pairs = self.alone = 0

    def match(
        self,
        rows: pa.RecordBatch,
        part: pa.RecordBatch,
        answered: NDArray[np.bool_],
        matched: NDArray[np.int64],
        index: HashIndex | None = None,
    ) -> Iterator[Columns]:
        """Results of stream rows with a part of the table, both in stored form.

        Parameters
        ----------
        rows, part
            The two.
        answered
            For each stream row, whether it has got a result; set here.
        matched
            For each row of the part, how many stream rows it answered; added to here.
        index
            Of the stream rows, if there is one.
        """
        for at_rows, at_part in self._found(row_keys(rows), row_keys(part), index):
            mine, theirs = self.verified(rows, at_rows, part, at_part)
            if len(mine):
                answered[mine] = True
                matched += np.bincount(theirs, minlength=len(matched))
                yield from self.paired(rows, mine, part, theirs)

    def paired(
        self, rows: pa.RecordBatch, mine: Positions, part: pa.RecordBatch, theirs: Positions
    ) -> Iterator[Columns]:
        """Results by positions, not too many bytes at a time."""
        self.pairs += len(mine)
        width = 2 + rows.nbytes // max(1, len(rows)) + part.nbytes // max(1, len(part))
        step = max(1, min(MAX_PAIRS, self._join.piece_bytes // width))
        for start in range(0, len(mine), step):
            at = {
                STREAM: pa.array(mine[start : start + step]),
                TABLE: pa.array(theirs[start : start + step]),
            }
            sides = {STREAM: rows, TABLE: part}
            yield [sides[c.side].column(c.position).take(at[c.side]) for c in self._join.output]

    def without(self, rows: pa.RecordBatch) -> Iterator[Columns]:
        """Results of rows that nothing matches, where these come out."""
        if self._join.how == "left" and rows.num_rows:
            self.alone += rows.num_rows
            yield [
                rows.column(c.position) if c.side == STREAM else pa.nulls(rows.num_rows, c.type)
                for c in self._join.output
            ]

    def _found(
        self, mine: Keys, theirs: Keys, index: HashIndex | None
    ) -> Iterator[tuple[Positions, Positions]]:
        if index is not None or FEW * len(mine) < len(theirs):
            index = index or HashIndex.build(mine, np.zeros_like(mine))
            yield from index.probe_chunks(theirs, np.zeros_like(theirs), 0, 0, MAX_PAIRS)
            return
        index = HashIndex.build(theirs, np.zeros_like(theirs))
        for at_theirs, at_mine in index.probe_chunks(mine, np.zeros_like(mine), 0, 0, MAX_PAIRS):
            yield at_mine, at_theirs

    def verified(
        self, rows: pa.RecordBatch, mine: Positions, part: pa.RecordBatch, theirs: Positions
    ) -> tuple[Positions, Positions]:
        """Leave out pairs whose keys only have equal hashes."""
        if self._join.has_exact_key:
            return mine, theirs
        left = [rows.column(i).take(pa.array(mine)) for i in self._join.keys[STREAM]]
        right = [part.column(i).take(pa.array(theirs)) for i in self._join.keys[TABLE]]
        same = equal_keys(left, right)
        return mine[same], theirs[same]
