"""Settings of a join of a stream with a table."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import pyarrow as pa

from streamjoin.core.keys import is_exact
from streamjoin.joins.base import OutputColumn
from streamjoin.planning.table import TableCosts
from streamjoin.shedding.limits import shard_cpu

if TYPE_CHECKING:
    from streamjoin.joins.routing import Routing

Algorithm = Literal["auto", "inlj", "meshjoin", "hybridjoin"]
How = Literal["inner", "left"]
Shed = Literal["considering", "upfront"]
STREAM: Final = 0
TABLE: Final = 1
STATE_VERSION: Final = 1
KEY: Final = "_key"
PART: Final = "_part"
"""Columns that waiting rows have besides the user's."""
USUAL_WAIT: Final = 10_000_000
MOST_BUFFER: Final = 16 << 20
LEAST_PIECE: Final = 1 << 20
FRONT_SHARE: Final = 0.15
"""Part of the memory that the front stage has where rows wait (NAE-A20)."""
LOOK_UP_SHARE: Final = 0.75
"""The same where none waits: what is looked up at once needs little room."""


class Room(NamedTuple):
    """Bytes for the cache (H_R), for rows that wait (H_S, queue), and for the disk buffer."""

    cache: int
    waiting: int
    buffer: int


@dataclass(frozen=True)
class TableJoin:
    """Settings: values only.

    Parameters
    ----------
    stream, table
        Columns of the two inputs; of the table only those that are needed.
    keys
        Positions of the key columns in each.
    output
        Columns of the result.
    how
        Whether stream rows without a table row come out.
    algorithm
        The back end (NAE-A4, A6, A15), or that the cheapest is chosen in each batch.
    memory
        Bytes that this may take.
    is_cached
        Whether there is a front stage (NAE-A2).
    front_share
        Its part of the memory; None if that is chosen by the cost model.
    wait_us
        How long a row may wait; None if that is chosen with the algorithm.
    unique
        Whether no key is twice in the table.
    shed
        What becomes of rows for which there is no time (NAE-A10, A13).
    work_share, work_us
        Time that may be spent for each microsecond that passes, or in each batch; None: any.
    costs
        What things cost as long as nothing was measured.
    knows_places
        Whether it is quickly found in which partition a key is.
    """

    stream: pa.Schema
    table: pa.Schema
    keys: tuple[tuple[int, ...], tuple[int, ...]]
    output: tuple[OutputColumn, ...]
    how: How
    algorithm: Algorithm
    memory: int
    is_cached: bool = True
    front_share: float | None = None
    wait_us: int | None = 0
    unique: bool = True
    shed: Shed = "considering"
    work_share: float | None = None
    work_us: int | None = None
    costs: TableCosts = field(default_factory=TableCosts)
    knows_places: bool = True

    @property
    def has_exact_key(self) -> bool:
        """Whether 64 bits hold the key itself, so that equal keys need not be compared again."""
        positions = self.keys[STREAM]
        return len(positions) == 1 and is_exact(self.stream.types[positions[0]])

    @property
    def has_places(self) -> bool:
        """Whether it matters in which partition a key is."""
        return self.algorithm in ("auto", "hybridjoin")

    @property
    def is_routed(self) -> bool:
        """Whether rows go to the shard of the partition that has their key."""
        return self.has_places and self.knows_places

    @property
    def longest_wait(self) -> int:
        """How long a row may wait: where that is free, only algorithms that live of it do so.

        Examples
        --------
        >>> TableJoin(None, None, ((0,), (0,)), (), "inner", "auto", 1, wait_us=None).longest_wait
        0
        """
        if self.algorithm == "inlj":
            return 0
        if self.wait_us is None:
            return 0 if self.algorithm == "auto" else USUAL_WAIT
        return self.wait_us

    @property
    def may_wait(self) -> bool:
        """Whether rows may be left for a later batch."""
        return self.longest_wait > 0 or self.has_work_limit

    @property
    def has_work_limit(self) -> bool:
        """Whether time is limited."""
        return self.work_share is not None or self.work_us is not None

    @property
    def piece_bytes(self) -> int:
        """Results that are held before they leave: they are copied on the way."""
        return max(LEAST_PIECE, min(MOST_BUFFER, self.memory // 8))

    def room(self, front_share: float) -> Room:
        """How the memory is divided.

        Examples
        --------
        >>> join = TableJoin(None, None, ((0,), (0,)), (), "inner", "hybridjoin", 100_000_000)
        >>> join.room(0.15)
        Room(cache=15000000, waiting=72500000, buffer=12500000)
        """
        cache = int(self.memory * front_share) if self.is_cached else 0
        buffer = max(1, min(MOST_BUFFER, self.memory // 8))
        return Room(cache, max(1, self.memory - cache - buffer), buffer)

    def over_shards(self, routing: "Routing", n_cores: int) -> "TableJoin":
        """The part of one shard.

        Examples
        --------
        >>> from streamjoin.joins.routing import ByKey
        >>> join = TableJoin(None, None, ((0,), (0,)), (), "inner", "auto", 100, work_share=0.25)
        >>> shard = join.over_shards(ByKey(4), n_cores=2)
        >>> shard.memory, shard.work_share
        (25, 0.125)
        """
        n_shards = routing.n_shards
        share, us = shard_cpu(self.work_share, self.work_us, n_shards, n_cores)
        memory, work_us = max(1, self.memory // n_shards), None if us is None else max(1, int(us))
        return replace(self, memory=memory, work_share=share, work_us=work_us)

    def describe(self) -> dict[str, str]:
        """What a checkpoint of this join must agree on, in the user's words.

        Joins that use an index can go on with what another of them has left.
        """
        is_mesh = self.algorithm == "meshjoin"
        said = {
            "version": f"table {STATE_VERSION}",
            "algorithm": "meshjoin" if is_mesh else "one with an index",
            "how": self.how,
        }
        for side, (name, schema) in enumerate((("stream", self.stream), ("table", self.table))):
            said[f"{name} key"] = ", ".join(schema.names[i] for i in self.keys[side])
            pairs = zip(schema.names, schema.types, strict=True)
            said[f"{name} schema"] = ", ".join(f"{column} {kind}" for column, kind in pairs)
        return said
