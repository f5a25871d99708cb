"""Late rows kept apart: Parquet files in a folder, each written once whatever is run again.

A file's name says which query, shard and batch wrote it. A batch that is run again writes the same
rows to the same name, and a file appears only when it is whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from streamjoin._names import ANY_CASE, Naming
from streamjoin.core.stream import Stream
from streamjoin.errors import ConfigError
from streamjoin.joins.base import Late
from streamjoin.spark.folders import reachable, system_of, write_whole
from streamjoin.spark.worker import Run

LATE_BY: Final = "late_by"


@dataclass(frozen=True)
class LateSink:
    """Writes late rows below a folder, one sub-folder for each input.

    `name` is the join's: several joins of a query may share a folder.
    """

    folder: str
    name: str

    @classmethod
    def at(
        cls, folder: object, name: str, streams: Mapping[str, Stream], naming: Naming = ANY_CASE
    ) -> "LateSink":
        """Check the user's folder; a path without a scheme is one on this machine."""
        found = reachable(folder, "late_rows", "a folder, or its address (s3://, hdfs://)")
        for stream, of in streams.items():
            if naming.find(of.schema.names, LATE_BY) is not None:
                raise ConfigError(
                    f"late_rows: the {stream} stream has a column {LATE_BY!r}; "
                    "allowed: other names (rename it)"
                )
        return cls(found, name)

    def write(self, late: Late, run: Run, shard: int, sequence: int) -> None:
        """Write one input's late rows of one batch."""
        if not len(late.rows):
            return
        names = late.stream.schema.names
        columns = [*late.rows.rows.columns[: len(names)], pa.array(late.rows.late_by)]
        table = pa.table(columns, names=[*names, LATE_BY])
        system, root = system_of(self.folder)
        join = quote(self.name, safe="")
        path = f"{root}/{late.name}/{run.query}-{join}-{shard:04d}-{sequence:08d}.parquet"
        write_whole(
            system, path, run.attempt, lambda draft: pq.write_table(table, draft, filesystem=system)
        )
