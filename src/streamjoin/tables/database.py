"""A database behind ADBC: queries that are tried again, and errors in one sentence."""

import importlib
import logging
import re
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

import pyarrow as pa

from streamjoin.errors import ConfigError, DataError, MissingExtraError, TableError
from streamjoin.tables.tries import Tries

_CONNECT_SECONDS: Final = 5
_GONE: Final = ("08", "40", "53", "57P")  # SQLSTATE: no connection, conflict, too busy, shut down
_REFUSED: Final = re.compile(  # what a server says that will not say anything else the next time
    r"authentication failed|no password supplied|(role|database) .* does not exist|pg_hba\.conf"
)
_NAMES: Final = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Address:
    """Where a database is; shown without its password.

    Examples
    --------
    >>> Address("postgresql://reader:secret@db/shop?sslmode=require")
    Address('postgresql://reader@db/shop')
    >>> Address("sqlite:///data/shop.db").kind
    'sqlite'
    """

    uri: str = field(repr=False)

    def __post_init__(self) -> None:
        if self.kind is None or (self.kind == "sqlite" and not self.path):
            msg = (
                f"uri: got {self.safe!r}; allowed: 'sqlite:///path/of/the/file' or "
                "'postgresql://user@host/database'"
            )
            raise ConfigError(msg)

    def __repr__(self) -> str:
        return f"Address({self.safe!r})"

    @property
    def kind(self) -> str | None:
        """``sqlite`` or ``postgresql``."""
        return _NAMES.get(str(self.uri).split("://", 1)[0].lower())

    @property
    def path(self) -> str:
        """The file of an SQLite database."""
        path = unquote(str(self.uri).split("://", 1)[-1])
        return "/" + path.lstrip("/") if path.startswith("/") else ""

    @property
    def safe(self) -> str:
        """The address without password and options."""
        scheme, mark, rest = str(self.uri).partition("://")
        if not mark:
            return scheme
        where, slash, path = rest.partition("?")[0].rpartition("@")[2].partition("/")
        user = rest.rpartition("@")[0].partition(":")[0].partition("/")[0]
        return f"{scheme}://{user}{'@' if user else ''}{where}{slash}{path}"

    def hide(self, text: str) -> str:
        """A driver's message in one line and without the password."""
        try:
            password = urlsplit(self.uri).password
        except ValueError:
            password = None
        for secret in filter(None, (self.uri, password, unquote(password or ""))):
            text = text.replace(secret, "***")
        text = re.sub(r"(password=)[^&\s]+", r"\1***", text)
        return " ".join(text.split())


class Database:
    """A connection that is made when it is needed, and made again when it was lost.

    Parameters
    ----------
    address
        Where the database is.
    table
        Name of the table, for messages.
    patience
        Seconds for which a query is tried again; None for the default, 0 to fail at once.
    """

    def __init__(self, address: Address, table: str, patience: float | None = None) -> None:
        self.address, self.table, self._patience = address, table, patience
        self._driver = _driver(address.kind or "")
        self._connection: Any = None

    def query(self, sql: str, parameters: pa.RecordBatch | None = None) -> pa.Table:
        """The rows of a query; tried again if the database has gone away meanwhile."""
        tries = Tries(self._patience)
        while isinstance(answer := self._ask(sql, parameters), str):
            if _REFUSED.search(answer):
                raise self._refused(answer)
            _log.warning("%s: no answer (%s)", self.table, answer)
            if not tries.again():
                raise self._unreachable(answer)
        return answer

    def _ask(self, sql: str, parameters: pa.RecordBatch | None) -> pa.Table | str:
        """The rows; or why the database did not answer, which may be another time."""
        try:
            return self._try(sql, parameters)
        except self._driver.Error as error:
            self.close()
            said = self.address.hide(str(error))
            if _is_gone(error):
                return said
            msg = f"the table {self.table!r} in {self.address.safe} cannot be read: {said}"
            raise DataError(msg) from None

    def _try(self, sql: str, parameters: pa.RecordBatch | None) -> pa.Table:
        if self._connection is None:
            self._connection = self._connect()
        # A new cursor each time: one that has failed may skip rows of its next query.
        with self._connection.cursor() as cursor:
            if self.address.kind == "sqlite":
                # Types are taken from the first rows: let them be all rows.
                cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": 1 << 20})
            cursor.execute(sql, parameters=parameters)
            return cursor.fetch_arrow_table()

    def _connect(self) -> Any:
        uri = self.address.uri
        if self.address.kind == "sqlite":
            path = self.address.path
            if not Path(path).is_file():
                msg = (
                    f"the table {self.table!r} cannot be read: there is no file {path}; "
                    "name the file of an SQLite database"
                )
                raise TableError(msg)
            uri = f"file:{quote(path)}?mode=ro"
        elif "connect_timeout=" not in uri:
            uri += f"{'&' if '?' in uri else '?'}connect_timeout={_CONNECT_SECONDS}"
        return self._driver.connect(uri, autocommit=True)

    def _refused(self, said: str) -> TableError:
        return TableError(
            f"the table {self.table!r} in {self.address.safe} cannot be read: the database does "
            f"not let us in ({said}); correct user, password or database in the uri"
        )

    def _unreachable(self, said: str) -> TableError:
        return TableError(
            f"the table {self.table!r} in {self.address.safe} cannot be read: the database does "
            f"not answer ({said}); see that it runs, then start the query again"
        )

    def close(self) -> None:
        """Close the connection; the next query makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except self._driver.Error:
                _log.debug("%s: a broken connection could not be closed", self.table)


def _driver(kind: str) -> ModuleType:
    name = f"adbc_driver_{kind}"
    try:
        return importlib.import_module(f"{name}.dbapi")
    except ImportError:
        missing = MissingExtraError.of("sql", name)
        raise missing from None


def _is_gone(error: Any) -> bool:
    """Whether it is the database that fails and not the query."""
    state = getattr(error, "sqlstate", None)
    if state:
        return bool(state.startswith(_GONE))
    return type(error).__name__ == "OperationalError" or "locked" in str(error)
