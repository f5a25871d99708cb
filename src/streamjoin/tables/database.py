"""A database behind ADBC: queries that are tried again, and what is asked of a table in it."""

import importlib
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple, TypeVar
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.errors import ConfigError, DataError, MissingExtraError, TableError
from streamjoin.tables.base import KeyColumns
from streamjoin.tables.failures import Tries

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
            raise ConfigError.at(
                "uri",
                repr(self.safe),
                "'sqlite:///path/of/the/file' or 'postgresql://user@host/database'",
            )

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
        secrets = [secret for kind in _PASSWORDS for secret in kind.findall(self.uri)]
        secrets += [secret.partition("@")[0] for secret in secrets]  # where PostgreSQL ends it
        for secret in filter(None, (self.uri, *secrets, *map(unquote, secrets))):
            text = text.replace(secret, _HIDDEN)
        text = re.sub(r"(password=)[^&\s]+", rf"\1{_HIDDEN}", text)
        return " ".join(text.split())


class Column(NamedTuple):
    """A column: its name, its type in SQL and in Arrow, and the expression that selects it."""

    name: str
    sql_type: str
    kind: pa.DataType
    selected: str


@dataclass(frozen=True)
class Layout:
    """Partitions as ranges of places: numbers of pages or rows."""

    starts: NDArray[np.int64]  # the first place of each partition; there is at least one
    n_rows: int  # of the table, about

    def bounds(self, partition: int) -> tuple[int | None, int | None]:
        """First place and the one after the last; None for what is open, so that none is missed."""
        last = partition == len(self.starts) - 1
        low = None if partition == 0 else int(self.starts[partition])
        return low, None if last else int(self.starts[partition + 1])

    def partition_of(self, places: NDArray[np.int64]) -> NDArray[np.int32]:
        """The partition of each place.

        Examples
        --------
        >>> Layout(np.array([0, 10, 20]), n_rows=25).partition_of(np.array([3, 10, 99])).tolist()
        [0, 1, 2]
        """
        partitions = np.searchsorted(self.starts, places, "right") - 1
        return np.maximum(partitions, 0).astype(np.int32)


class Database(ABC):
    """A table in a database, over a connection that is made when needed and again when it was lost.

    Queries are tried again for `patience` seconds (0: never; None: as long as usual). For messages
    there are the name of the table, and what cannot be done with it. There is a class for each kind
    of database, which says how it is asked.
    """

    _PLACE: ClassVar[tuple[str, str]]
    """What says where a row is, and how a number of it is written."""
    _TABLES: ClassVar[str]
    """Query for the names of tables there are."""
    _OPTIONS: ClassVar[dict[str, int]] = {}
    """What the driver is told before a query."""

    def __init__(
        self, address: Address, table: str, patience: float | None = None, doing: str = "read"
    ) -> None:
        self.address, self.table, self._patience, self._doing = address, table, patience, doing
        name = f"adbc_driver_{address.kind}"
        try:
            self._driver = importlib.import_module(f"{name}.dbapi")
        except ImportError:
            missing = MissingExtraError.of("sql", name)
            raise missing from None
        self._connection: Any = None

    @property
    def from_(self) -> str:
        """The table's name as SQL has it."""
        return quoted(self.table)

    @abstractmethod
    def columns(self) -> list[Column]:
        """The table's columns; none if there is no such table."""

    @abstractmethod
    def layout(self, rows_per_partition: int) -> Layout:
        """Cut the table into partitions."""

    @abstractmethod
    def version(self) -> str:
        """Something cheap that is another text when the table has changed."""

    @abstractmethod
    def indexes(self) -> list[tuple[tuple[str, ...], bool]]:
        """The columns of each index, and whether it lets no two rows have the same values."""

    @abstractmethod
    def rows(self, wanted: str, key: Sequence[Column], keys: KeyColumns) -> pa.Table:
        """The `wanted` columns of rows that have one of these keys, which are distinct."""

    @abstractmethod
    def places(self, key: Sequence[Column], keys: KeyColumns) -> pa.Table:
        """Pairs of a key's position and the place of a row that has it."""

    @abstractmethod
    def _uri(self) -> str:
        """What the driver is told to connect to."""

    def tables(self) -> list[str]:
        """The names of tables there are."""
        return [str(name) for name in self.query(self._TABLES).column(0).to_pylist()]

    def within(self, low: int | None, high: int | None) -> str:
        """Condition that a row is at a place from `low` to before `high`."""
        name, number = self._PLACE
        bounds = ((">=", low), ("<", high))
        said = [f"{name} {sign} {number.format(at)}" for sign, at in bounds if at is not None]
        return " AND ".join(said) or "1 = 1"

    def query(self, sql: str, parameters: pa.RecordBatch | None = None) -> pa.Table:
        """The rows of a query; tried again if the database has gone away meanwhile."""
        return self.attempt(lambda connection: self._fetch(connection, sql, parameters))

    def attempt(self, work: Callable[[Any], T]) -> T:
        """What a function makes of a connection, which commits each statement by itself.

        It is called again, with a new connection, if the database has gone away meanwhile.
        """
        tries = Tries(self._patience)
        cannot = f"the table {self.table!r} in {self.address.safe} cannot be {self._doing}"
        while True:
            try:
                if self._connection is None:
                    self._connection = self._driver.connect(self._uri(), autocommit=True)
                return work(self._connection)
            except self._driver.Error as error:
                self.close()
                said = self.address.hide(str(error))
                if not _is_gone(error):
                    raise DataError(f"{cannot}: {said}") from None
            if _REFUSED.search(said):
                why = f"does not let us in ({said}); correct user, password or database in the uri"
                raise TableError(f"{cannot}: the database {why}")
            _log.warning("%s: no answer (%s)", self.table, said)
            if not tries.again():
                why = f"does not answer ({said}); see that it runs, then start the query again"
                raise TableError(f"{cannot}: the database {why}")

    def _fetch(self, connection: Any, sql: str, parameters: pa.RecordBatch | None) -> pa.Table:
        # A new cursor each time: one that has failed may skip rows of its next query.
        with connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**self._OPTIONS)
            cursor.execute(sql, parameters=parameters)
            return cursor.fetch_arrow_table()

    def close(self) -> None:
        """Close the connection; the next query makes a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            try:
                connection.close()
            except self._driver.Error:
                _log.debug("%s: a broken connection could not be closed", self.table)


def _is_gone(error: Any) -> bool:
    """Whether it is the database that fails and not the query."""
    state = getattr(error, "sqlstate", None)
    if state:
        return bool(state.startswith(_GONE))
    return type(error).__name__ == "OperationalError" or "locked" in str(error)


def quoted(name: str) -> str:
    """A name as SQL has it.

    Examples
    --------
    >>> quoted("the table")
    '"the table"'
    """
    return '"' + name.replace('"', '""') + '"'
