"""Late rows kept apart: Parquet files in a folder, each written once whatever is run again.

A file's name says which query, shard and batch wrote it. A batch that is run again writes the same
rows to the same name, and a file appears only when it is whole.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from streamjoin._typing import SIDES, Side
from streamjoin.core.stream import Stream
from streamjoin.errors import ConfigError
from streamjoin.joins.logic import LateRows

LATE_BY: Final = "late_by"
_NAMES: Final = ("left", "right")


@dataclass(frozen=True)
class LateSink:
    """Writes late rows below a folder, one sub-folder for each side."""

    folder: str

    @classmethod
    def at(cls, folder: object, streams: tuple[Stream, Stream]) -> "LateSink":
        """Check the user's folder; a path without a scheme is one on this machine."""
        if not isinstance(folder, str | Path) or not str(folder):
            msg = f"late_rows: got {folder!r}; allowed: a folder, or its address (s3://, hdfs://)"
            raise ConfigError(msg)
        for side in SIDES:
            if LATE_BY in (name.lower() for name in streams[side].schema.names):
                msg = f"late_rows: the {_NAMES[side]} stream has a column {LATE_BY!r}; rename it"
                raise ConfigError(msg)
        text = str(folder)
        try:
            pafs.FileSystem.from_uri(text if "://" in text else str(Path(text).resolve()))
        except (pa.ArrowInvalid, OSError) as error:
            msg = f"late_rows: got {text!r}, which cannot be reached ({error}); allowed: a folder"
            raise ConfigError(msg) from None
        return cls(text if "://" in text else str(Path(text).resolve()))

    def write(self, side: Side, late: LateRows, stream: Stream, name: str) -> None:
        """Write one side's late rows of one batch."""
        if not len(late):
            return
        columns = [*late.rows.columns[: len(stream.schema)], pa.array(late.late_by)]
        table = pa.table(columns, names=[*stream.schema.names, LATE_BY])
        system, root = pafs.FileSystem.from_uri(self.folder)
        folder = f"{root}/{_NAMES[side]}"
        system.create_dir(folder, recursive=True)
        draft = f"{folder}/.{name}.draft"  # readers skip names that begin with a dot
        pq.write_table(table, draft, filesystem=system)
        system.move(draft, f"{folder}/{name}.parquet")
