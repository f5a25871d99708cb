"""How a server is spoken to: transactions that are tried again, and names as SQL has them."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from streamjoin.errors import StreamJoinError
from streamjoin.tables.database import Address, Database, quoted
from streamjoin.tables.postgresql import Postgresql

PATIENCE: Final = 30.0
"""Seconds for which a server that does not answer is waited for."""

T = TypeVar("T")


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
