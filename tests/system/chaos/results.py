"""What a run has written."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.system.chaos.checkpoint import read_sink, read_written
from tests.system.chaos.rows import plain_rows
from tests.system.chaos.scenarios import Scenario
from tests.system.chaos.stage import Stage

Written = Mapping[int, Sequence[Mapping[str, Any]]]


def read(scenario: Scenario, base: Path, stage: Stage) -> Written:
    """Rows in the sink by batch; all of them under -1 where it does not tell batches apart."""
    if scenario.sink == "parquet":
        return read_written(base / "out")
    return {-1: _from_database(stage)}


def count(scenario: Scenario, base: Path, stage: Stage) -> int:
    """How many rows are in the sink."""
    if scenario.sink == "parquet":
        files = [file for files in read_sink(base / "out").values() for file in files]
        return sum(pq.read_metadata(file).num_rows for file in files)
    return len(_from_database(stage))


def _from_database(stage: Stage) -> list[dict[str, Any]]:
    import adbc_driver_postgresql.dbapi as postgresql

    assert stage.database is not None
    with postgresql.connect(stage.database.uri) as connection, connection.cursor() as cursor:
        cursor.execute("SELECT * FROM results")
        table = cursor.fetch_arrow_table()
    return plain_rows(table.drop_columns(["pair_id"]))
