"""Rows in stored form (the user's columns, and the key as 64 bits), and results made of them."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions
from streamjoin.core.batch import all_valid, relabelled
from streamjoin.core.index import HashIndex
from streamjoin.core.keys import column_keys, equal_keys, hash_keys
from streamjoin.joins.base import MAX_PAIRS
from streamjoin.joins.table.settings import KEY, STREAM, TABLE, TableJoin
from streamjoin.tables.base import OpenTable

NOWHERE: Final = -1
SEVERAL: Final = -2
Columns = list[pa.Array]
FEW: Final = 4
"""Where so many times the stream rows are fewer than those of a part of the table, they are what
is put into the index."""


class TableArrival(NamedTuple):
    """What the stream brings in a batch.

    Parameters
    ----------
    rows
        Those that have a key, in stored form.
    loose
        Those that have none, as the user knows them; columns are named by position.
    places
        The partition of the table that has each row's key, -1 where none has it and -2 where
        several may; None if somebody has yet to look.
    """

    rows: pa.RecordBatch
    loose: pa.RecordBatch
    places: NDArray[np.int32] | None = None


def keyed(rows: pa.RecordBatch, schema: pa.Schema, key: tuple[int, ...]) -> TableArrival:
    """Bring rows into stored form; columns are named by position.

    Examples
    --------
    >>> rows = pa.record_batch({"id": [7, None], "x": ["p", "q"]})
    >>> found = keyed(rows, rows.schema, (0,))
    >>> found.rows.to_pydict(), found.loose.num_rows
    ({'c0': [7], 'c1': ['p'], '_key': [7]}, 1)
    """
    columns = relabelled(rows, schema.types)
    plain = pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))])
    valid, loose = all_valid([columns[i] for i in key]), plain.slice(0, 0)
    if valid is not None:
        plain, loose = plain.filter(valid), plain.filter(pc.invert(valid))
    keys = [plain.column(i) for i in key]
    hashes = column_keys(keys[0]) if len(keys) == 1 else hash_keys(keys)
    return TableArrival(plain.append_column(KEY, pa.array(hashes, pa.int64())), loose)


def row_keys(rows: pa.RecordBatch) -> Keys:
    """The 64-bit keys of rows in stored form."""
    return np.asarray(rows.column(rows.schema.get_field_index(KEY)))


def stored(schema: pa.Schema, *more: pa.Field) -> pa.Schema:
    """Schema of rows in stored form."""
    fields = [pa.field(f"c{i}", kind) for i, kind in enumerate(schema.types)]
    return pa.schema([*fields, pa.field(KEY, pa.int64()), *more])


class Parts:
    """Reads parts of the table in stored form.

    Parameters
    ----------
    join, table
        Settings, and the table.
    """

    def __init__(self, join: TableJoin, table: OpenTable) -> None:
        self._join, self.table = join, table
        self._names = list(join.table.names)

    @property
    def n(self) -> int:
        """Number of partitions."""
        return len(self.table.partition_rows)

    def scan(self, partitions: Iterable[int]) -> pa.RecordBatch:
        """The rows of partitions that have a key."""
        found = [self.table.scan(partition, self._names) for partition in partitions]
        return self._stored(found[0] if len(found) == 1 else pa.concat_tables(found))

    def look_up(self, columns: list[pa.Array]) -> pa.RecordBatch:
        """Rows with these keys."""
        return self._stored(self.table.look_up(columns, self._names))

    def locate(self, rows: pa.RecordBatch) -> NDArray[np.int32]:
        """The partition of each stream row's key."""
        found, parts = self.table.locate([rows.column(i) for i in self._join.keys[STREAM]])
        places = np.full(len(rows), NOWHERE, np.int32)
        places[found] = parts
        places[np.bincount(found, minlength=len(rows)) > 1] = SEVERAL
        return places

    def _stored(self, rows: pa.Table) -> pa.RecordBatch:
        batches = rows.combine_chunks().to_batches()
        schema = self._join.table
        whole = batches[0] if batches else pa.RecordBatch.from_pylist([], schema)
        return keyed(whole, schema, self._join.keys[TABLE]).rows


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
