"""The table that results end up in, and beside it one that remembers which batches are in it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from streamjoin.errors import DataError, StateError
from streamjoin.spark.sinks.staging import Parts, Staging, ask, beside, declared, literal
from streamjoin.tables.database import Database, quoted
from streamjoin.tables.postgresql import Postgresql

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
        server = Postgresql()
        there = {column.name: column.sql_type for column in server.columns(database)}
        for name, kind in self.types.items():
            found = there.get(name)
            if found is None:
                what = f"has no column {name!r}; allowed: a table that has it as {kind}"
                raise self._refused(what)
            if not takes(found, kind):
                what = f"has {name!r} as {found}; allowed: {kind}"
                raise self._refused(what)
        unique = [names for names, is_unique in server.indexes(database) if is_unique]
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
