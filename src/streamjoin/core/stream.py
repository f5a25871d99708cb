"""What a join knows of one input before its first row: schema, key, time, window."""

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from streamjoin.core.keys import is_exact

KEY_COLUMN = "_key"


@dataclass(frozen=True)
class Stream:
    """One input of a join.

    Parameters
    ----------
    schema
        The columns as the user knows them.
    key
        Positions of the key columns.
    time
        Position of the event-time column, a timestamp in microseconds.
    window_us
        How long a tuple of this stream is remembered.
    lateness_us
        How far a tuple may be behind the newest one of its stream.
    """

    schema: pa.Schema
    key: tuple[int, ...]
    time: int
    window_us: int
    lateness_us: int = 0

    @cached_property
    def has_exact_key(self) -> bool:
        """Whether 64 bits hold the key itself, so that no hash and no check is needed."""
        return len(self.key) == 1 and is_exact(self.schema.types[self.key[0]])

    @cached_property
    def stored(self) -> pa.Schema:
        """Schema of stored and shipped rows: the user's columns, then the hash where one is needed.

        Columns are named by position, so no name of the user's can be in the way.
        """
        fields = [pa.field(f"c{i}", t) for i, t in enumerate(self.schema.types)]
        if not self.has_exact_key:
            fields.append(pa.field(KEY_COLUMN, pa.int64()))
        return pa.schema(fields)

    def __getstate__(self) -> dict[str, object]:
        """Leave derived values behind when pickled."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
