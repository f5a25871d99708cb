"""A database behind ADBC: queries that are tried again, and errors in one sentence."""

import importlib
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TypeVar
from urllib.parse import quote, unquote

import pyarrow as pa

from streamjoin.errors import ConfigError, DataError, MissingExtraError, TableError
from streamjoin.tables.tries import Tries

_HOPEFUL: Final = {
    "connect_timeout": 5,
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}
"""How soon it is noticed that a machine, or the way to it, is gone: half a minute at most."""
_LOGIN: Final = re.compile(r"\A[^/@]*@")  # as PostgreSQL reads it: what a ? is in is no option
_PASSWORDS: Final = (re.compile(r"://[^:@/?]*:(.*)@"), re.compile(r"[?&]\w*password=([^&]+)"))
_GONE: Final = ("08", "40", "53", "57P")  # SQLSTATE: no connection, conflict, too busy, shut down
_REFUSED: Final = re.compile(  # what a server says that will not say anything else the next time
    r"authentication failed|no password supplied|(role|database) .* does not exist|pg_hba\.conf"
)
_HIDDEN: Final = "***"
_NAMES: Final = {"sqlite": "sqlite", "postgresql": "postgresql", "postgres": "postgresql"}

_log = logging.getLogger(__name__)

T = TypeVar("T")


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
        """The address without password and options; no more of it than is surely neither."""
        scheme, mark, rest = str(self.uri).partition("://")
        if not mark:
            return _HIDDEN
        said, _, options = rest.partition("?")
        if self.kind == "sqlite":
            return f"{scheme}://{said}"
        login, at, where = said.rpartition("@")
        if "@" in options:  # perhaps a password, whose end nobody knows
            login, at, where = said, "@", _HIDDEN
        user = re.split("[:/@]", login, maxsplit=1)[0]
        return f"{scheme}://{user}{at if user else ''}{where}"

    def hide(self, text: str) -> str:
        """A driver's message in one line and without the password."""
        found = [secret for kind in _PASSWORDS for secret in kind.findall(self.uri)]
        found += [password.partition("@")[0] for password in found]  # where PostgreSQL ends it
        for secret in filter(None, (self.uri, *found, *map(unquote, found))):
            text = text.replace(secret, _HIDDEN)
        text = re.sub(r"(password=)[^&\s]+", rf"\1{_HIDDEN}", text)
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
    doing
        What cannot be done with the table if there is no answer, for messages.
    """

    def __init__(
        self, address: Address, table: str, patience: float | None = None, doing: str = "read"
    ) -> None:
        self.address, self.table, self._patience, self._doing = address, table, patience, doing
        self._driver = _driver(address.kind or "")
        self._connection: Any = None

    def query(self, sql: str, parameters: pa.RecordBatch | None = None) -> pa.Table:
        """The rows of a query; tried again if the database has gone away meanwhile."""
        return self.attempt(lambda connection: self._fetch(connection, sql, parameters))

    def attempt(self, work: Callable[[Any], T]) -> T:
        """What a function makes of a connection, which commits each statement by itself.

        It is called again, with a new connection, if the database has gone away meanwhile.
        """
        tries = Tries(self._patience)
        while True:
            try:
                if self._connection is None:
                    self._connection = self._connect()
                return work(self._connection)
            except self._driver.Error as error:
                self.close()
                said = self.address.hide(str(error))
                if not _is_gone(error):
                    msg = f"{self._cannot}: {said}"
                    raise DataError(msg) from None
            if _REFUSED.search(said):
                raise self._refused(said)
            _log.warning("%s: no answer (%s)", self.table, said)
            if not tries.again():
                raise self._unreachable(said)

    def _fetch(self, connection: Any, sql: str, parameters: pa.RecordBatch | None) -> pa.Table:
        # A new cursor each time: one that has failed may skip rows of its next query.
        with connection.cursor() as cursor:
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
                    f"the table {self.table!r} cannot be {self._doing}: there is no file {path}; "
                    "name the file of an SQLite database"
                )
                raise TableError(msg)
            uri = f"file:{quote(path)}?mode=ro"
        else:
            rest = _LOGIN.sub("", uri.partition("://")[2], count=1)
            added = [f"{name}={n}" for name, n in _HOPEFUL.items() if f"{name}=" not in rest]
            uri += ("&" if "?" in rest else "?") + "&".join(added)
        return self._driver.connect(uri, autocommit=True)

    @property
    def _cannot(self) -> str:
        return f"the table {self.table!r} in {self.address.safe} cannot be {self._doing}"

    def _refused(self, said: str) -> TableError:
        return TableError(
            f"{self._cannot}: the database does not let us in ({said}); correct user, password or "
            "database in the uri"
        )

    def _unreachable(self, said: str) -> TableError:
        return TableError(
            f"{self._cannot}: the database does not answer ({said}); see that it runs, then start "
            "the query again"
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
