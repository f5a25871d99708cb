"""The tables of a sink: one for results, one that remembers its batches, one for each new batch.

Tasks fill the last one, a *staging* table, side by side before its rows count. And how a server is
spoken to: transactions that are tried again, and names as SQL has them.
"""

import hashlib
import logging
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from streamjoin.errors import DataError, StateError, StreamJoinError, TableError
from streamjoin.spark.columns import hashed, numbered
from streamjoin.tables.database import Address, Database, quoted
from streamjoin.tables.postgresql import Postgresql

PART: Final = "streamjoin_part"
_WRITTEN: Final = "part bigint, n bigint, hash bigint"
_BITS: Final = 2**63 - 1
_LOCK_SECONDS: Final = 2
"""For how long a table that is of no use any more is waited for."""

PATIENCE: Final = 30.0
"""Seconds for which a server that does not answer is waited for."""

T = TypeVar("T")
BATCHES: Final = "streamjoin_batches"
_WIDER: Final = {
    "smallint": ("integer", "bigint", "numeric"),
    "integer": ("bigint", "numeric"),
    "bigint": ("numeric",),
    "real": ("double precision",),
    "text": ("character varying",),
}
"""Types of an existing table that take every value of a type."""
_DECIMAL: Final = re.compile(r"numeric\((\d+),(\d+)\)")

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Parts:
    """The parts of a staging table that count: a part of a task that failed is not among them.

    Parameters
    ----------
    numbers
        Numbers of the parts.
    n_rows
        Their rows.
    hash
        A number that depends on these rows, but not on their order.
    """

    numbers: tuple[int, ...]
    n_rows: int
    hash: int


@dataclass(frozen=True)
class Staging:
    """A staging table; each try of a batch has its own.

    Parameters
    ----------
    address, table
        The database, and the table that the rows end up in.
    schema
        The schema that both are in.
    name
        Its name.
    """

    address: Address
    table: str
    schema: str
    name: str

    @classmethod
    def of(cls, database: Database, query: str, batch: int) -> "Staging":
        """A name that no other try has, and that tells to which query it belongs."""
        schema, _, _ = database.table.rpartition(".")
        name = f"{_mark(query, database.table)}{batch}_{secrets.token_hex(4)}"
        return cls(database.address, database.table, schema, name)

    @property
    def place(self) -> str:
        """The table as SQL has it."""
        return beside(self.table, self.name)

    def create(self, cursor: Any, types: Mapping[str, str]) -> None:
        """Make the table; nothing if an earlier try did whose answer was lost."""
        # JSON comes as text. What a crash of the server empties is noticed, as rows are counted.
        kinds = {name: "text" if kind == "jsonb" else kind for name, kind in types.items()}
        columns = declared({**kinds, PART: "bigint"})
        cursor.execute(f"CREATE UNLOGGED TABLE IF NOT EXISTS {self.place} ({columns})")

    def remove(self, database: Database) -> None:
        """Remove the table; the next try does it if that is not possible now.

        A task that hangs may hold a lock on it, which must not stop the query.
        """

        def drop(cursor: Any) -> None:
            cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
            cursor.execute(f"DROP TABLE IF EXISTS {self.place}")

        try:
            whole(database, drop)
        except (DataError, TableError) as error:
            _log.warning("%s is left for the next batch to remove: %s", self.place, error)

    def remove_all(self, database: Database, query: str) -> None:
        """Remove those that earlier tries have left."""
        sql = (
            "SELECT tablename::text AS name FROM pg_tables "
            f"WHERE schemaname = {literal(self.schema)} "
            f"AND starts_with(tablename, {literal(_mark(query, self.table))})"
        )
        for row in database.query(sql).to_pylist():
            replace(self, name=row["name"]).remove(database)

    def fill(self, frame: DataFrame) -> Parts:
        """Let tasks write all rows of a frame; this is where Spark runs the batch."""

        def copy_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return self._copy(batches, names)

        names = frame.columns
        rows = numbered(frame.select("*", hashed(frame, 1)))
        written = rows.mapInArrow(copy_rows, _WRITTEN).collect()
        return Parts(
            tuple(row.part for row in written),
            sum(row.n for row in written),
            sum(row.hash for row in written) & _BITS,
        )

    def _copy(
        self, batches: Iterable[pa.RecordBatch], names: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        """Write rows, whose last column is their hash; for each batch, what was written."""
        database = connected(self.address, self.table)
        try:
            for batch in batches:
                if batch.num_rows:
                    *columns, hashes = batch.columns
                    rows = pa.RecordBatch.from_arrays(columns, names=list(names))
                    part = database.attempt(partial(self._ingest, rows))
                    number = _added(hashes)
                    yield pa.record_batch({"part": [part], "n": [batch.num_rows], "hash": [number]})
        finally:
            database.close()

    def _ingest(self, batch: pa.RecordBatch, connection: Any) -> int:
        """Write rows as a part of a new number: an earlier try may have come through unnoticed."""
        part = secrets.randbits(63)
        numbers = pa.repeat(pa.scalar(part, pa.int64()), batch.num_rows)
        with connection.cursor() as cursor:
            rows = pa.Table.from_batches([batch.append_column(PART, numbers)])
            cursor.adbc_ingest(self.name, rows, mode="append", db_schema_name=self.schema)
        return part

    def rows(self, parts: Parts) -> str:
        """What follows FROM to get the rows of these parts."""
        numbers = ",".join(map(str, parts.numbers))
        return f"{self.place} WHERE {PART} = ANY('{{{numbers}}}'::bigint[])"


def _added(numbers: pa.Array) -> int:
    """The sum of numbers of 64 bits, without what is too large for 63.

    Examples
    --------
    >>> _added(pa.array([2**63 - 1, 2])), _added(pa.array([-1, 3]))
    (1, 2)
    """
    return int(np.asarray(numbers).view(np.uint64).sum()) & _BITS


def _mark(query: str, table: str) -> str:
    """How the names of a query's staging tables begin."""
    return f"streamjoin_{hashlib.sha256(f'{query} {table}'.encode()).hexdigest()[:16]}_"


def connected(address: Address, table: str) -> Postgresql:
    """The database of a sink."""
    return Postgresql(address, table, PATIENCE, doing="written")


def whole(database: Database, work: Callable[[Any], T]) -> T:
    """Do something in one transaction; all of it again if the server goes away meanwhile.

    If it is this side that has gone away, or the network between, the server gives up too, and with
    the transaction the locks that the next try needs.
    """

    def attempt(connection: Any) -> T:
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"SET LOCAL idle_in_transaction_session_timeout = '{PATIENCE:g}s'")
            try:
                done = work(cursor)
            except StreamJoinError:
                cursor.execute("ROLLBACK")
                raise
            cursor.execute("COMMIT")
            return done

    return database.attempt(attempt)


def ask(cursor: Any, sql: str) -> list[tuple[Any, ...]]:
    """The rows of a query, all of them: what is left unread would block the connection."""
    cursor.execute(sql)
    return list(cursor.fetchall())


def declared(types: Mapping[str, str]) -> str:
    """Columns as CREATE TABLE has them.

    Examples
    --------
    >>> declared({"k": "bigint", "pair_id": "text"})
    '"k" bigint, "pair_id" text'
    """
    return ", ".join(f"{quoted(name)} {kind}" for name, kind in types.items())


def beside(table: str, name: str) -> str:
    """A name in the schema of a table, as SQL has it.

    Examples
    --------
    >>> beside("public.pairs", "batches")
    '"public"."batches"'
    """
    schema, _, _ = table.rpartition(".")
    return f"{quoted(schema)}.{quoted(name)}"


def literal(text: str) -> str:
    """A text as SQL has it.

    Examples
    --------
    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


@dataclass(frozen=True)
class Target:
    """A table for results.

    Parameters
    ----------
    table
        Its name, behind that of its schema.
    types
        The types of its columns, by name, as SQL has them.
    pair_id
        The column that names a result; None if there is none.
    query
        Id of the query whose batches are written.
    """

    table: str
    types: Mapping[str, str]
    pair_id: str | None
    query: str

    @property
    def place(self) -> str:
        """The table as SQL has it."""
        return beside(self.table, self.table.rpartition(".")[2])

    @property
    def batches(self) -> str:
        """The table that remembers batches, as SQL has it."""
        return beside(self.table, BATCHES)

    def create(self, cursor: Any) -> None:
        """Make both tables, unless they are there."""
        columns = declared(self.types)
        if self.pair_id is not None:
            columns += f", PRIMARY KEY ({quoted(self.pair_id)})"
        cursor.execute(f"CREATE TABLE IF NOT EXISTS {self.place} ({columns})")
        _lock(
            cursor, self.batches
        )  # queries that write into other tables of the schema make it too
        cursor.execute(
            f"CREATE TABLE IF NOT EXISTS {self.batches} (query text, target text, "
            "batch bigint NOT NULL, n_rows bigint NOT NULL, hash bigint NOT NULL, "
            "written_at timestamptz NOT NULL, PRIMARY KEY (query, target))"
        )

    def check(self, database: Database) -> None:
        """Refuse a table that cannot take the results."""
        there = {column.name: column.sql_type for column in database.columns()}
        for name, kind in self.types.items():
            found = there.get(name)
            if found is None:
                what = f"has no column {name!r}; allowed: a table that has it as {kind}"
                raise self._refused(what)
            if not takes(found, kind):
                what = f"has {name!r} as {found}; allowed: {kind}"
                raise self._refused(what)
        unique = [names for names, is_unique in database.indexes() if is_unique]
        if self.pair_id is not None and (self.pair_id,) not in unique:
            what = (
                f"may have a value of {self.pair_id!r} twice; allowed: a table with PRIMARY KEY "
                f"({self.pair_id})"
            )
            raise self._refused(what)

    def _refused(self, what: str) -> DataError:
        return DataError(f"table: {self.table!r} {what}, or another name: it is made if absent")

    def lock(self, cursor: Any) -> None:
        """Let nobody else make the table, or write into it from here, meanwhile."""
        _lock(cursor, self.place)

    def check_order(self, cursor: Any, batch: int) -> None:
        """Refuse a batch if later ones are there, and nothing would tell its results from theirs.

        Raises
        ------
        StateError
            If so.
        """
        found = self._last(cursor)
        if self.pair_id is None and found is not None and found[0] > batch:
            raise StateError(
                f"batch {batch} of query {self.query} comes again, but {self.table!r} has batch "
                f"{found[0]}: the checkpoint was put back to an earlier one; with a pair_id "
                "results are told apart, without one begin with a new table and a new checkpoint"
            )

    def has(self, cursor: Any, batch: int, parts: Parts) -> bool:
        """Whether these rows of a batch are in the table, and would be there twice.

        With a pair id they would not be, so they are always written: a batch of the same number may
        have other rows, if it was planned again.

        Raises
        ------
        StateError
            If other rows of the same batch are there.
        """
        found = self._last(cursor)
        if self.pair_id is not None or found is None or found[0] != batch:
            return False
        if found != (batch, parts.n_rows, parts.hash):
            raise StateError(
                f"batch {batch} of query {self.query} comes again with other rows than "
                f"{self.table!r} has of it: the checkpoint was put back, or a column is not "
                "computed the same way twice, or the sink was called twice for one batch; with a "
                "pair_id results are told apart, without one begin with a new table and a new "
                "checkpoint"
            )
        return True

    def take(self, cursor: Any, staging: Staging, parts: Parts, batch: int) -> None:
        """Take the rows of a staging table, and remember the batch."""
        cursor.execute(self._insert(staging.rows(parts)))
        cursor.execute(
            f"INSERT INTO {self.batches} VALUES ({literal(self.query)}, {literal(self.table)}, "
            f"{batch}, {parts.n_rows}, {parts.hash}, now()) ON CONFLICT (query, target) DO UPDATE "
            "SET batch = EXCLUDED.batch, n_rows = EXCLUDED.n_rows, hash = EXCLUDED.hash, "
            "written_at = EXCLUDED.written_at"
        )

    def _last(self, cursor: Any) -> tuple[int, int, int] | None:
        """Number, rows and hash of the batch that was written last."""
        found = ask(
            cursor,
            f"SELECT batch, n_rows, hash FROM {self.batches} WHERE query = {literal(self.query)} "
            f"AND target = {literal(self.table)}",
        )
        return (int(found[0][0]), int(found[0][1]), int(found[0][2])) if found else None

    def _insert(self, source: str) -> str:
        names = [quoted(name) for name in self.types]
        values = [
            f"{name}::jsonb" if kind == "jsonb" else name
            for name, kind in zip(names, self.types.values(), strict=True)
        ]
        into = f"INSERT INTO {self.place} ({', '.join(names)})"
        if self.pair_id is None:
            return f"{into} SELECT {', '.join(values)} FROM {source}"
        key = quoted(self.pair_id)
        changed = ", ".join(f"{name} = EXCLUDED.{name}" for name in names)
        # One statement may not change a row twice, and equal results have one id.
        return (
            f"{into} SELECT DISTINCT ON ({key}) {', '.join(values)} FROM {source} "
            f"ON CONFLICT ({key}) DO UPDATE SET {changed}"
        )


def takes(found: str, kind: str) -> bool:
    """Whether a column of one type takes every value of another.

    Examples
    --------
    >>> takes("numeric(12,2)", "numeric(9,2)"), takes("numeric(9,3)", "numeric(9,2)")
    (True, False)
    """
    have, want = (_DECIMAL.fullmatch(one) for one in (found, kind))
    if want is None:
        return found in (kind, *_WIDER.get(kind, ()))
    if have is None:
        return found == "numeric"
    fraction = int(have[2]) - int(want[2])
    return fraction >= 0 and int(have[1]) - int(want[1]) >= fraction


def _lock(cursor: Any, place: str) -> None:
    """Wait for a lock, which goes with the transaction."""
    ask(cursor, f"SELECT pg_advisory_xact_lock(hashtextextended({literal(place)}, 0))")
