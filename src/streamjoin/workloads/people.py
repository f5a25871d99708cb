"""A made-up table: the people who are called and trade in the generated streams."""

from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streamjoin.workloads.payloads import SYMBOLS

ROW_GROUP: Final = 10_000
FIRST: Final = pa.array(["Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gina", "Hugo", "Ida", "Jan"])
LAST: Final = pa.array(["Adler", "Berg", "Cruz", "Dorn", "Eck", "Falk", "Gold", "Horn", "Iven"])
CITIES: Final = pa.array(["Aachen", "Bergen", "Cork", "Delft", "Essen", "Faro", "Ghent", "Hull"])


def people(rows: int, seed: int = 0) -> pa.Table:
    """People with the numbers 1 to `rows`, in any order.

    Examples
    --------
    >>> table = people(1000, seed=1)
    >>> table.column_names
    ['person', 'name', 'city', 'employer', 'born']
    >>> len(table["person"].unique())
    1000
    """
    rng = np.random.default_rng(seed)
    first, last, city, employer = (
        values.take(pa.array(rng.integers(0, len(values), rows)))
        for values in (FIRST, LAST, CITIES, SYMBOLS)
    )
    person = pa.array(rng.permutation(rows).astype(np.int64) + 1)
    names = pc.binary_join_element_wise(first, last, " ")
    born = pa.array(rng.integers(1940, 2008, rows).astype(np.int16))
    return pa.table(
        {"person": person, "name": names, "city": city, "employer": employer, "born": born}
    )


def write_people(folder: Path, rows: int, seed: int = 0) -> None:
    """Write people into a folder, if there is none; it appears when it is whole."""
    if folder.exists():
        return
    unfinished = folder.with_name(f".{folder.name}.new")
    unfinished.mkdir(parents=True, exist_ok=True)
    pq.write_table(people(rows, seed), unfinished / "people.parquet", row_group_size=ROW_GROUP)
    unfinished.rename(folder)
