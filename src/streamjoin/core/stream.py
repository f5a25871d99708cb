"""What a join knows of one input before its first row: schema, key, time, window."""

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from streamjoin.core.keys import is_exact

KEY_COLUMN = "_key"
RANK_COLUMN = "_rank"


@dataclass(frozen=True)
class Stream:
    """One input of a join.

    Parameters
    ----------
    schema
        The columns as the user knows them.
    key
        Positions of the key columns; none where all rows may meet.
    time
        Position of the event-time column, a timestamp in microseconds.
    window_us
        How long a tuple of this stream is remembered; 0 if it only probes.
    lateness_us
        How far a tuple may be behind the newest one of its stream.
    window_rows
        How many tuples are remembered, where the window is a number of them and not a time.
    """

    schema: pa.Schema
    key: tuple[int, ...]
    time: int
    window_us: int
    lateness_us: int = 0
    window_rows: int | None = None

    @cached_property
    def has_exact_key(self) -> bool:
        """Whether 64 bits hold the key itself, so that no hash and no check is needed."""
        if not self.key:
            return True
        return len(self.key) == 1 and is_exact(self.schema.types[self.key[0]])

    @property
    def has_instants(self) -> bool:
        """Whether its times are instants; without a zone they cannot be compared with a clock."""
        return getattr(self.schema.types[self.time], "tz", None) is not None

    @cached_property
    def stored(self) -> pa.Schema:
        """Schema of shipped rows: the user's columns, then the hash where one is needed.

        Columns are named by position, so no name of the user's can be in the way.
        """
        fields = [pa.field(f"c{i}", t) for i, t in enumerate(self.schema.types)]
        if not self.has_exact_key:
            fields.append(pa.field(KEY_COLUMN, pa.int64()))
        return pa.schema(fields)

    @cached_property
    def kept(self) -> pa.Schema:
        """Schema of the rows of a basic window: with their ranks where the window is a number."""
        if self.window_rows is None:
            return self.stored
        return self.stored.append(pa.field(RANK_COLUMN, pa.int64()))

    def __getstate__(self) -> dict[str, object]:
        """Leave derived values behind when pickled."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}
