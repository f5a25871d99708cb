"""What a run feeds: streams with disorder, ties, nulls, repeated rows and late ones."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SECOND: Final = 1_000_000
SCHEMA: Final = pa.schema(
    {
        "x": pa.int64(),
        "y": pa.string(),
        "t": pa.timestamp("us", "UTC"),
        "id": pa.int64(),
    }
)
LATENESS: Final = SECOND
"""What a row may be behind the newest of its stream, unless it is meant to be late."""
_TIE: Final = 20_000
_CLOSING: Final = 3600 * SECOND


def stream(
    seed: int, side: int, *, files: int, rows: int, keys: int, late: bool = False, same: bool = True
) -> list[pa.Table]:
    """Tables of one stream in the order in which they are fed, each a second of its time.

    The last one has a single row, so much later that all others are final, and with a key of
    its own.

    Parameters
    ----------
    seed, side
        Decide what is drawn.
    files, rows
        How many tables there are before the last, and rows in each.
    keys
        How many values `x` and `y` have.
    late
        Whether some rows are further behind than `LATENESS`.
    same
        Whether some rows are there twice, equal in every column.
    """
    rng = np.random.default_rng([seed, side])
    tables = []
    for number in range(files):
        x = np.where(rng.random(rows) < 0.1, 0, rng.integers(0, keys, rows))
        y = rng.integers(0, keys, rows)
        t = number * SECOND + rng.integers(0, SECOND // _TIE, rows) * _TIE
        t -= np.where(rng.random(rows) < 0.3, rng.integers(0, LATENESS, rows), 0)
        if late:
            t -= np.where(rng.random(rows) < 0.02, 3 * LATENESS, 0)
        t = np.maximum(t, 0)
        table = pa.table(
            {
                "x": pa.array(x, pa.int64(), mask=rng.random(rows) < 0.03),
                "y": pa.array([f"y{one}" for one in y]),
                "t": pa.array(t, pa.timestamp("us", "UTC"), mask=rng.random(rows) < 0.01),
                "id": pa.array(1000 * number + np.arange(rows), pa.int64()),
            },
            schema=SCHEMA,
        )
        again = np.flatnonzero(rng.random(rows) < 0.01) if same else np.array([], int)
        tables.append(pa.concat_tables([table, table.take(pa.array(again, pa.int64()))]))
    end = {"x": -1 - side, "y": f"end {side}", "t": _CLOSING, "id": -1 - side}
    tables.append(pa.table({name: [value] for name, value in end.items()}).cast(SCHEMA))
    return tables


def plain_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Rows as dictionaries, times as microseconds."""
    for kind in (pa.timestamp("us", "UTC"), pa.int64()):
        fields = [f.with_type(kind) if pa.types.is_timestamp(f.type) else f for f in table.schema]
        table = table.cast(pa.schema(fields))
    return list(table.to_pylist())


def put(table: pa.Table, folder: Path, number: int) -> None:
    """Let a file of a stream appear at once, and whole."""
    hidden = folder / f".{number:05d}.parquet"
    pq.write_table(table, hidden)
    hidden.rename(folder / f"{number:05d}.parquet")
