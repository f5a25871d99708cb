"""The join kernel alone against DuckDB on one thread: same rows, same pairs, no Spark.

Both are timed twice: keeping the positions of all pairs (arrays; a temporary table over native
in-memory tables) and adding them up piece by piece, as a join that hands its output on does. The
ratios set ours with all pairs kept, index and all, against whichever is quicker for DuckDB; those
named ``-streamed`` set adding up against adding up. The systems take turns, so that a noisy machine
is noisy for all, and each is given its best time.
"""

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa

from streamjoin._typing import Keys, Positions, Times
from streamjoin.core.index import HashIndex
from streamjoin.errors import DataError

ALWAYS: Final = 2**62  # a bound on time that every pair keeps
MAX_PAIRS: Final = 2**18
KEPT: Final = "pairs kept"
ADDED_UP: Final = "pairs added up"

Runner = Callable[[], object]


@dataclass(frozen=True)
class _Data:
    """Two sides with uniform keys; rows in order of time, one time unit apart on average."""

    keys: tuple[Keys, Keys]
    times: tuple[Times, Times]

    @classmethod
    def draw(cls, rows: int, n_keys: int, seed: int = 2003) -> "_Data":
        random = np.random.default_rng(seed)
        left, right = (random.integers(0, n_keys, rows) for _ in range(2))
        first, second = (np.sort(random.integers(0, rows, rows)) for _ in range(2))
        return cls((left, right), (first, second))

    def connect(self) -> duckdb.DuckDBPyConnection:
        connection = duckdb.connect()
        connection.execute("SET threads = 1")
        for name, keys, times in zip("ab", self.keys, self.times, strict=True):
            rows = pa.table({"k": keys, "t": times, "pos": np.arange(len(keys), dtype=np.int32)})
            connection.register("arrow_rows", rows)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_rows")
            connection.unregister("arrow_rows")
        return connection

    def pairs(self, width: int) -> tuple[Positions, Positions]:
        index = HashIndex.build(self.keys[0], self.times[0])
        return index.probe(self.keys[1], self.times[1], -width, width)

    def add_up(self, width: int) -> int:
        index = HashIndex.build(self.keys[0], self.times[0])
        pieces = index.probe_chunks(self.keys[1], self.times[1], -width, width, MAX_PAIRS)
        return sum(_sum(mine) + _sum(theirs) for mine, theirs in pieces)


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Time the equality join of 1M x 1M rows over 200k keys, and the same within a time bound.

    `quick` takes a tenth of the rows. Fails if the systems do not find the same pairs.
    """
    rows, n_keys, repeats = (100_000, 20_000, 5) if quick else (1_000_000, 200_000, 9)
    data = _Data.draw(rows, n_keys)
    results: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    with data.connect() as connection:
        for case, ratio, width in (
            ("equality", "streamjoin/duckdb", ALWAYS),
            ("window", "streamjoin/duckdb-window", rows // 10),
        ):
            n_pairs = _check(data, connection, width)
            report(f"{case}: {rows:,} x {rows:,} rows, {n_keys:,} keys, {n_pairs:,} pairs")
            seconds = _best(_runners(data, connection, width), repeats)
            for (system, way), taken in seconds.items():
                report(f"  {system}, {way}: {taken * 1e3:.1f} ms")
            results.extend(
                _row(system, f"{case}, {way}", 2 * rows, n_pairs, taken)
                for (system, way), taken in seconds.items()
            )
            theirs = min(seconds["duckdb", KEPT], seconds["duckdb", ADDED_UP])
            ratios[ratio] = theirs / seconds["streamjoin", KEPT]
            ratios[f"{ratio}-streamed"] = (
                seconds["duckdb", ADDED_UP] / seconds["streamjoin", ADDED_UP]
            )
    return {"bench": "kernel", "rows": results, "ratios": ratios}


def _row(system: str, case: str, rows: int, n_pairs: int, seconds: float) -> dict[str, Any]:
    return {
        "system": system,
        "case": case,
        "batch_rows": rows,
        "pairs": n_pairs,
        "rows_per_s": rows / seconds,
        "seconds": seconds,
    }


def _from(width: int) -> str:
    within = "" if width == ALWAYS else f" AND a.t - b.t BETWEEN {-width} AND {width}"
    return f"FROM a JOIN b ON a.k = b.k{within}"


def _sum(positions: Positions) -> int:
    return int(positions.sum(dtype=np.int64))


def _runners(
    data: _Data, connection: duckdb.DuckDBPyConnection, width: int
) -> dict[tuple[str, str], Runner]:
    joined = _from(width)
    create = f"CREATE OR REPLACE TEMP TABLE pairs AS SELECT a.pos AS i, b.pos AS j {joined}"
    add_up = f"SELECT sum(a.pos + b.pos) {joined}"
    return {
        ("streamjoin", KEPT): lambda: data.pairs(width),
        ("duckdb", KEPT): lambda: connection.execute(create).fetchall(),
        ("streamjoin", ADDED_UP): lambda: data.add_up(width),
        ("duckdb", ADDED_UP): lambda: connection.execute(add_up).fetchall(),
    }


def _best(runners: dict[tuple[str, str], Runner], repeats: int) -> dict[tuple[str, str], float]:
    """The best time of each after one run to warm up, taking turns."""
    best = dict.fromkeys(runners, float("inf"))
    for repeat in range(repeats + 1):
        for name, runner in runners.items():
            start = perf_counter()
            runner()
            taken = perf_counter() - start
            if repeat:
                best[name] = min(best[name], taken)
    return best


def _check(data: _Data, connection: duckdb.DuckDBPyConnection, width: int) -> int:
    """The number of pairs, if both find as many and the same sums of positions."""
    mine, theirs = data.pairs(width)
    ours = (len(mine), _sum(mine), _sum(theirs))
    query = f"SELECT count(*), sum(a.pos), sum(b.pos) {_from(width)}"
    found = connection.execute(query).fetchall()[0]
    if ours != found or data.add_up(width) != sum(ours[1:]):
        raise DataError(
            f"pairs: streamjoin found {ours} and DuckDB {found} (number, sums of positions)"
        )
    return ours[0]
