"""What every join shares: what comes in, what goes out, where basic windows are; the contract.

Settings of a join (`WindowJoin`, `MultiJoin`, `TableJoin`) are values. An `Operator` is what an
engine runs: settings, and what else it takes to shape rows for shards and to build logic. A *shard*
is one of the independent parts into which the work is divided. Its `JoinLogic` (`WindowShard`,
`PlanShard`, `TableShard`) is built anew for each batch. What it must be given (stores, what other
shards decided, the clock) comes through `Env`. On Spark a `ShardRunner` calls it.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Positions, Side
from streamjoin.core.batch import Batch
from streamjoin.core.index import HashIndex
from streamjoin.core.stream import Order, Stream
from streamjoin.core.window import BasicWindow
from streamjoin.metrics import Details
from streamjoin.shedding.costs import MEASURED, Cpu

if TYPE_CHECKING:
    from streamjoin.joins.channel import Channel
    from streamjoin.joins.packed import PackedRow
    from streamjoin.joins.packing import Shaper
    from streamjoin.joins.progress import LateRows
    from streamjoin.joins.routing import Routing

WEIGHT: Final = -1
MARK: Final = -4
"""Positions that mean no column of an input: how many pairs a result stands for; how far the join
has come, which is in the row with the counters and null in all others."""
LATE_BY: Final = "late_by"
Tasks = tuple[tuple[int, ...], ...]
"""Numbers of the shards of each Spark task."""
MAX_PAIRS: Final = 1 << 18
MAX_BYTES: Final = 64 << 20
"""Results handed out at once, by number and by average width, where one batch yields very many."""


@dataclass(frozen=True)
class OutputColumn:
    """One column of the result: where it comes from and what it is called.

    `other` is the position on the other side of a key column that both have: where a row has no
    partner on `side`, the value comes from there. The position `WEIGHT` means no column of a side:
    how many pairs this one stands for.
    """

    side: int
    position: int
    name: str
    type: pa.DataType
    other: int | None = None

    def position_on(self, side: Side) -> int | None:
        """Where a row of a side has this column, if it does."""
        if self.position == WEIGHT:
            return None
        return self.position if side == self.side else self.other


@dataclass(frozen=True)
class Arrival:
    """What one side brings in one batch.

    Parameters
    ----------
    batch
        Rows in the total order.
    loose
        Rows without a key or a time, where they are answered nevertheless.
    latest
        The largest event time of the side in the whole batch, in all shards.
    nulls
        How many rows had no key or no time.
    ahead
        How many rows had a time too far ahead of the clock, which counts as none.
    order
        Place of the rows among those of all shards, where the window counts tuples.
    total
        Rows that the side brings to all shards; None if this is the only one.
    share
        Which part of the rows that came these are, where some were turned away before.
    newest
        The newest time that a join before has seen, where these are its results; None for `latest`.
    """

    batch: Batch
    loose: pa.RecordBatch | None = None
    latest: int | None = None
    nulls: int = 0
    ahead: int = 0
    order: Order | None = None
    total: int | None = None
    share: float = 1.0
    newest: int | None = None


@dataclass(frozen=True)
class Pairs:
    """Results as positions: row ``positions[0][i]`` of the left with ``positions[1][i]``.

    `weights` say how many pairs each stands for, where some are left out.
    """

    batches: tuple[Batch, Batch]
    positions: tuple[Positions, Positions]
    weights: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.positions[0])

    def fetch(self, side: Side, position: int) -> pa.Array:
        """One column of the rows of one side."""
        return self.batches[side].rows.column(position).take(pa.array(self.positions[side]))

    def where(self, holds: NDArray[np.bool_]) -> "Pairs":
        """The pairs for which something holds."""
        if holds.all():
            return self
        left, right = self.positions
        weights = None if self.weights is None else self.weights[holds]
        return Pairs(self.batches, (left[holds], right[holds]), weights)

    def take(self, columns: Sequence[OutputColumn]) -> list[pa.Array]:
        """Build the rows, a column at a time."""
        at = [pa.array(positions) for positions in self.positions]
        taken = [
            self._weights()
            if c.position == WEIGHT
            else self.batches[c.side].rows.column(c.position).take(at[c.side])
            for c in columns
        ]
        return [typed(array, c.type) for array, c in zip(taken, columns, strict=True)]

    def _weights(self) -> pa.Array:
        return pa.array(np.ones(len(self)) if self.weights is None else self.weights)


@dataclass(frozen=True)
class Alone:
    """Rows of one side that come out without a partner."""

    side: Side
    rows: pa.RecordBatch

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def take(self, columns: Sequence[OutputColumn]) -> list[pa.Array]:
        """Build the rows, null where the other side would be."""
        taken = []
        for column in columns:
            position = column.position_on(self.side)
            missing = position is None
            array = pa.nulls(len(self), column.type) if missing else self.rows.column(position)
            taken.append(typed(array, column.type))
        return taken


Emitted = Pairs | Alone


def typed(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same values as another type, where it is another."""
    return array if array.type == kind else array.cast(kind)


BlobKey = tuple[int, int, int]


class WindowStore(Protocol):
    """Keeps the bytes of basic windows under their directory entries, and small blobs by name."""

    def put(self, side: int, window: BasicWindow, blob: pa.Buffer) -> None:
        """Keep a new basic window."""

    def get(self, side: int, window: BasicWindow) -> pa.Buffer:
        """Bytes of a basic window that was put."""

    def remove(self, side: int, window: BasicWindow) -> None:
        """Forget a basic window."""

    def put_index(
        self, side: int, window: BasicWindow, index: HashIndex, attribute: int = 0
    ) -> None:
        """Keep the index of a basic window, as long as that is easy: it can be made again."""

    def get_index(self, side: int, window: BasicWindow, attribute: int = 0) -> HashIndex | None:
        """The index of a basic window by an attribute if it was kept."""

    def put_blob(self, key: BlobKey, blob: bytes) -> None:
        """Keep or replace a small blob."""

    def get_blob(self, key: BlobKey) -> bytes | None:
        """A small blob, or None."""

    def remove_blob(self, key: BlobKey) -> None:
        """Forget a small blob; there may be none."""

    def put_hint(self, name: str, blob: bytes) -> None:
        """Keep or replace something on this machine that may as well be lost."""

    def get_hint(self, name: str) -> bytes | None:
        """A hint if there is one; it may be of a batch that failed."""


class MemoryStore:
    """A store in this process.

    Examples
    --------
    >>> store, window = MemoryStore(), BasicWindow(0, 0, 1, 5, 5, 3, 0)
    >>> store.put(0, window, pa.py_buffer(b"abc"))
    >>> store.get(0, window).to_pybytes()
    b'abc'
    """

    def __init__(self) -> None:
        self._windows: dict[BlobKey, pa.Buffer] = {}
        self._blobs: dict[BlobKey, bytes] = {}
        self._indexes: dict[BlobKey, dict[int, HashIndex]] = {}
        self._hints: dict[str, bytes] = {}

    def put(self, side: int, window: BasicWindow, blob: pa.Buffer) -> None:
        """Keep a new basic window."""
        self._windows[side, window.slice, window.sequence] = blob

    def get(self, side: int, window: BasicWindow) -> pa.Buffer:
        """Bytes of a basic window that was put."""
        return self._windows[side, window.slice, window.sequence]

    def remove(self, side: int, window: BasicWindow) -> None:
        """Forget a basic window."""
        del self._windows[side, window.slice, window.sequence]
        self._indexes.pop((side, window.slice, window.sequence), None)

    def put_index(
        self, side: int, window: BasicWindow, index: HashIndex, attribute: int = 0
    ) -> None:
        """Keep the index of a basic window."""
        key = side, window.slice, window.sequence
        self._indexes.setdefault(key, {})[attribute] = index

    def get_index(self, side: int, window: BasicWindow, attribute: int = 0) -> HashIndex | None:
        """The index of a basic window by an attribute if it was kept."""
        return self._indexes.get((side, window.slice, window.sequence), {}).get(attribute)

    def put_blob(self, key: BlobKey, blob: bytes) -> None:
        """Keep or replace a small blob."""
        self._blobs[key] = blob

    def get_blob(self, key: BlobKey) -> bytes | None:
        """A small blob, or None."""
        return self._blobs.get(key)

    def remove_blob(self, key: BlobKey) -> None:
        """Forget a small blob; there may be none."""
        self._blobs.pop(key, None)

    def put_hint(self, name: str, blob: bytes) -> None:
        """Keep or replace a hint."""
        self._hints[name] = blob

    def get_hint(self, name: str) -> bytes | None:
        """A hint if there is one."""
        return self._hints.get(name)

    def __len__(self) -> int:
        return len(self._windows) + len(self._blobs)


@dataclass(frozen=True)
class Env:
    """What a join's logic is given, so that it takes nothing by itself."""

    number: int  # of the shard
    n_shards: int
    batch: int | None  # number of the micro-batch; None outside of one
    store: Callable[[int], WindowStore]  # by the first number of its keys
    now_us: Callable[[], float]
    channel: "Channel | None" = None
    cpu: Cpu = MEASURED

    @property
    def is_live(self) -> bool:
        """Whether there are batches after this one; else all is joined at once."""
        return self.batch is not None


class Late(NamedTuple):
    """Rows of an input that came too late."""

    side: int
    name: str
    stream: Stream
    rows: "LateRows"
    sequence: int  # how many batches there were

    def table(self) -> pa.Table:
        """The user's columns, and by how many microseconds each row was late."""
        names = self.stream.schema.names
        columns = [*self.rows.rows.columns[: len(names)], pa.array(self.rows.late_by)]
        return pa.table(columns, names=[*names, LATE_BY])


class Outcome(NamedTuple):
    """What there is to tell of a batch that is over."""

    counts: Mapping[str, float]  # by the names that the join counts
    details: Details
    # The basic windows that the directory names, by store and side.
    remembered: Iterable[tuple[WindowStore, Sequence[Sequence[BasicWindow]]]]
    # How far the join has come, for one that follows in the same plan.
    marks: tuple[int | None, ...] = ()
    # Whether something is left that must be answered when the stream pauses.
    waits: bool = False


class JoinLogic(Protocol):
    """What one shard does with its part of a batch."""

    def on_batch(
        self, packed: "Sequence[PackedRow]", now_us: int | None, end: bool = False
    ) -> Iterator[list[pa.Array]]:
        """Join a batch and hand out its results, column by column, until all are taken."""

    @property
    def late(self) -> Sequence[Late]:
        """Rows of the batch that came too late."""

    def conclude(self, cpu_us: float) -> Outcome:
        """Take in what the batch cost; decide and tell what later batches need to know."""

    def to_dict(self) -> dict[str, Any]:
        """The directory of all that is remembered: values that JSON can hold."""


@dataclass(frozen=True)
class Operator(ABC):
    """A join that an engine can run, or one of several that a plan consists of."""

    join: Any  # its settings

    @property
    def output(self) -> tuple[OutputColumn, ...]:
        """Columns of the result."""
        columns: tuple[OutputColumn, ...] = self.join.output
        return columns

    @property
    def piece_bytes(self) -> int:
        """How much of the results is held before it leaves."""
        return MAX_BYTES

    @property
    @abstractmethod
    def counted_inputs(self) -> tuple[str, ...]:
        """Names of the inputs of which rows are counted one by one."""

    @property
    @abstractmethod
    def counter_names(self) -> tuple[str, ...]:
        """What is counted, in order."""

    @abstractmethod
    def shaper(
        self, side: int, labels: tuple[int, ...], routing: "Routing", tasks: Tasks, has_ahead: bool
    ) -> "Shaper":
        """What shapes the rows of an input for the shards, which have these labels."""

    @abstractmethod
    def build(self, values: dict[str, Any] | None, env: Env) -> JoinLogic:
        """The logic of one shard for one batch; `values` is the directory that was kept."""
