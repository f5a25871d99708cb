"""A table in Parquet files: its partitions are their row groups."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa

from streamjoin.errors import ConfigError
from streamjoin.tables.base import check_columns, check_key
from streamjoin.tables.open_parquet import OpenParquet
from streamjoin.tables.parquet_files import Folder, Reader

_SIGNED: Final = {
    pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
}  # fmt: skip


@dataclass(frozen=True)
class ParquetTable:
    """A folder of Parquet files; made by `parquet_table`."""

    path: str
    key: tuple[str, ...]
    schema: pa.Schema = field(repr=False)
    is_unique: bool = False
    copy: bool = False

    def open(self, folder: Path | None, memory: int) -> OpenParquet:
        """Read the keys and index them, if no index of an earlier time is in the folder."""
        return OpenParquet(self, folder, memory)


def parquet_table(
    path: str | Path,
    key: str | Sequence[str],
    columns: Sequence[str] | None = None,
    unique: bool = False,
    copy: bool = False,
) -> ParquetTable:
    """A table in Parquet files, for joins with a stream.

    Partitions are row groups, and a look-up reads whole ones: with small row groups (about 10,000
    rows) both memory and time stay small; or let it have a copy. Files may be added, removed and
    replaced at any time.

    Parameters
    ----------
    path
        A folder, with the folders in it, or a file: a path, or an address such as ``s3://...``.
    key
        The column that a stream is joined on, or several.
    columns
        The columns that are wanted, besides the key; all if None.
    unique
        Promise that no key is there twice; it is an error if one is.
    copy
        Keep a copy of the rows beside the index, on this machine's disk and not compressed: then
        a look-up reads single rows, and partitions are small whatever the row groups are.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.parquet as pq
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"]}), f"{folder}/1.parquet")
    ...     table = parquet_table(folder, key="id").open(None, memory=1_000_000)
    ...     table.look_up([pa.array([2, 3])]).to_pylist()
    [{'id': 2, 'name': 'b'}]
    """
    if "://" not in str(path):
        path = Path(path).absolute()  # processes that read it may be in another folder
    folder = Folder(str(path))
    files = folder.files()
    if not files:
        msg = f"path: got {str(path)!r}, which has no Parquet file; allowed: a folder of such files"
        raise ConfigError(msg)
    reader = Reader(folder)
    schema = _plain(reader.file(*next(iter(files.items()))).schema_arrow)
    reader.keep({})
    names = check_key(schema, key)
    if columns is not None:
        wanted = {*names, *check_columns(schema, columns, "columns")}
        schema = pa.schema([f for f in schema if f.name in wanted])
    return ParquetTable(str(path), names, schema, unique, copy)


def _plain(schema: pa.Schema) -> pa.Schema:
    """Schema without what is a matter of how values are stored, as Spark has its columns.

    Examples
    --------
    >>> _plain(pa.schema({"a": pa.dictionary(pa.int8(), pa.large_string())})).types
    [DataType(string)]
    >>> _plain(pa.schema({"a": pa.timestamp("ms"), "b": pa.list_(pa.timestamp("ns"))})).types
    [TimestampType(timestamp[us]), ListType(list<item: timestamp[us]>)]
    """
    return pa.schema([(field.name, _plain_type(field.type)) for field in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_plain_type(kind.key_type), _plain_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _plain_type(field.type)) for field in kind])
    return _SIGNED.get(kind, kind)
