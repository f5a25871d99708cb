"""Tables with their streams: made up, in files and in a database; TPC-H's; and recorded flights."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.table_data import KEY, ON, ROW_BYTES, Orders, customers, record_customers
from benchmarks.table_server import Server
from papers.naeem.foreign_keys import ForeignKeys
from streamjoin.errors import EngineError
from streamjoin.tables.base import Table
from streamjoin.tables.parquet import parquet_table
from streamjoin.tables.sql import sql_table

GROUP_ROWS: Final = 10_000
FLIGHTS: Final = Path("flights_3m")
_GENERATOR: Final = "tpchgen-cli"


class Rows(Protocol):
    """A stream without an end."""

    def take(self, n: int) -> pa.Table:
        """The next rows."""


@dataclass(frozen=True)
class Source:
    """A table and the streams that it is joined with.

    Parameters
    ----------
    name
        What it is called.
    table, on
        The table, and the columns of the stream with those of its key.
    n_bytes
        Of the table in memory.
    stream
        Makes the stream of a given skew.
    """

    name: str
    table: Table
    on: dict[str, str]
    n_bytes: int
    stream: Callable[[float], Rows]


def parquet_source(work: Path, n_rows: int, copied: bool = False) -> Source:
    """Customers in Parquet files with small row groups; `copied`, with a copy of single rows."""
    folder = work / f"customers-{n_rows}"
    if not folder.exists():
        record_customers(folder, n_rows, GROUP_ROWS)
    table = parquet_table(folder, key=KEY, unique=True, copy=copied)
    name = f"parquet {n_rows:,}{' copied' if copied else ''}"
    return Source(name, table, {ON: KEY}, ROW_BYTES * n_rows, lambda skew: Orders(n_rows, skew))


def postgresql_source(server: Server, n_rows: int) -> Source:
    """The same customers in PostgreSQL."""
    server.load("customers", customers(n_rows))
    table = sql_table(server.uri, "customers", key=KEY, unique=True)
    name = f"postgresql {n_rows:,}"
    return Source(name, table, {ON: KEY}, ROW_BYTES * n_rows, lambda skew: Orders(n_rows, skew))


def tpch_missing() -> str | None:
    """Why there is no TPC-H data, if so."""
    return None if _generator() else f"{_GENERATOR} is not installed (on PyPI)"


def _generator() -> str | None:
    beside = Path(sys.executable).parent / _GENERATOR
    return str(beside) if beside.exists() else shutil.which(_GENERATOR)


def tpch_source(work: Path, scale: float) -> Source:
    """TPC-H's customers and orders (NAE-D2): as generated, or of customers by Zipf's law (NAE-I4).

    The orders are generated for skew 0; otherwise they get other customers.
    """
    folder = work / "tpch"
    command = [str(_generator()), "parquet", "-s", str(scale), "--output-dir", str(folder)]
    done = subprocess.run(
        [*command, "--tables", "customer,orders"], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise EngineError(
            f"bench: {_GENERATOR} failed: {(done.stderr.splitlines() or ['no message'])[-1]}"
        )
    rows = pq.read_table(folder / "customer.parquet")
    _write(rows, work / "tpch-customer", GROUP_ROWS)
    table = parquet_table(work / "tpch-customer", key="c_custkey", unique=True)
    n_keys = rows.num_rows

    def stream(skew: float) -> Rows:
        keys = ForeignKeys(n_keys, skew, seed=3) if skew else None
        return Recorded(folder / "orders.parquet", _ORDERS, keys)

    on = {"o_custkey": "c_custkey"}
    return Source(f"tpch {scale:g}", table, on, int(rows.nbytes), stream)


_ORDERS: Final = ("o_custkey", "o_orderkey", "o_totalprice", "o_orderdate")
_LEGS: Final = ("origin", "ts", "destination", "delay")


def flights_missing() -> str | None:
    """Why there are no flights, if so."""
    if _flights() is None:
        return f"STREAMJOIN_DATA names no folder with {FLIGHTS}"
    return None


def _flights() -> Path | None:
    folder = os.environ.get("STREAMJOIN_DATA")
    found = Path(folder or "") / FLIGHTS
    return found if folder and (found / "flights.parquet").exists() else None


def flights_source(work: Path) -> Source:
    """Flights with the airports that they leave from; their skew is what it is."""
    recorded = _flights()
    assert recorded is not None
    airports = pq.read_table(recorded / "airports.parquet")
    _write(airports, work / "airports", 100)
    table = parquet_table(work / "airports", key="iata", unique=True)
    n_bytes = int(airports.nbytes)
    flights = recorded / "flights.parquet"
    return Source("flights", table, {"origin": "iata"}, n_bytes, lambda _: Recorded(flights, _LEGS))


def _write(rows: pa.Table, folder: Path, group_rows: int) -> None:
    """Write a table anew with small row groups, texts as plain ones."""
    folder.mkdir()
    target = folder / "0.parquet"
    pq.write_table(rows, target, row_group_size=group_rows, store_schema=False)


class Recorded:
    """A recorded stream that begins again where it ends; the first column is its key.

    Parameters
    ----------
    file, columns
        Where it is, and the columns that are wanted.
    keys
        Other keys, from 1 on, instead of those that were recorded.
    """

    def __init__(
        self, file: Path, columns: tuple[str, ...], keys: ForeignKeys | None = None
    ) -> None:
        self._columns, self._keys = columns, keys
        self._rows = self._read(file)
        self._left: pa.Table | None = None

    def _read(self, file: Path) -> Iterator[pa.Table]:
        part = 0
        while True:
            opened = pq.ParquetFile(file)
            for group in range(opened.num_row_groups):
                rows = opened.read_row_group(group, list(self._columns)).select(self._columns)
                if self._keys is not None:
                    drawn = self._keys.draw(rows.num_rows, part).astype(np.int64) + 1
                    rows = rows.set_column(0, self._columns[0], pa.array(drawn))
                part += 1
                yield rows

    def take(self, n: int) -> pa.Table:
        """The next rows."""
        parts = [] if self._left is None else [self._left]
        while not parts or sum(part.num_rows for part in parts) < n:
            parts.append(next(self._rows))
        rows = pa.concat_tables(parts)
        self._left = rows.slice(n)
        return rows.slice(0, n)
