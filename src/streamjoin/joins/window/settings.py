"""Settings of a window join, and the directory of what it remembers.

Tuples a of the left and b of the right *match* iff their keys are equal, the predicate holds and
``-w_left <= t_a - t_b <= w_right``: a stored left tuple meets right tuples up to its window later,
and the other way round. Expiry is strict, ``age > window`` (X-6). Where a window counts tuples, the
tuple that is earlier in the total order must be among the last n of its stream before the other.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from streamjoin._typing import LEFT, RIGHT, Side
from streamjoin.core.predicate import Band, Expression, SetCondition
from streamjoin.core.stream import Stream
from streamjoin.core.window import JoinedWindow
from streamjoin.durations import format_duration
from streamjoin.joins.base import BlobKey, OutputColumn
from streamjoin.joins.progress import Progress
from streamjoin.metrics import JoinCounts
from streamjoin.planning.two.algorithm_choice import Method, OperationCosts
from streamjoin.shedding.limits import Shedding
from streamjoin.shedding.rows import SheddingState

if TYPE_CHECKING:
    from streamjoin.joins.routing import Routing

STATE_VERSION: Final = 2
END: Final = 2**62
"""A watermark after all times: the streams have ended."""

How = Literal["inner", "left", "right", "full", "semi", "anti", "asof"]
Direction = Literal["backward", "nearest"]
Algorithm = Literal["auto", "hash", "nested", "batch"]
Invalidation = Literal["active", "lazy"]
Windows = tuple[list[JoinedWindow], list[JoinedWindow]]
"""The basic windows of the left and of the right."""


@dataclass(frozen=True)
class WindowJoin:
    """Settings of a window join: values only.

    Parameters
    ----------
    left, right
        The inputs.
    output
        Columns of the result.
    how
        Which rows come out.
    direction
        Of an as-of join: the nearest earlier right tuple, or the nearest.
    predicate
        What a pair must fulfil besides equal keys; None for nothing.
    band, sets
        The part of the predicate that is indexed; at most one of them.
    idle_us
        After so long without a row a side no longer holds the watermark; None for never.
    algorithm
        How the left window and the right window are probed; "auto" to decide while running.
    invalidation
        Whether what is too old goes at every batch or when a window is probed (KAN-A5).
    operations
        What operations cost, to decide by.
    shedding
        Limits that the join must keep; None for an exact one.
    freshness_us
        How old a tuple of the left and of the right may be in a result, by the newest time of
        either; None for any age (JAQ-A9).
    utility
        Columns of the left and the right whose product says what a result is worth.
    """

    left: Stream
    right: Stream
    output: tuple[OutputColumn, ...]
    how: How = "inner"
    direction: Direction = "backward"
    predicate: Expression | None = None
    band: Band | None = None
    sets: SetCondition | None = None
    idle_us: int | None = None
    algorithm: tuple[Algorithm, Algorithm] = ("auto", "auto")
    invalidation: Invalidation = "active"
    operations: OperationCosts = OperationCosts()  # noqa: RUF009  # frozen
    shedding: Shedding | None = None
    freshness_us: tuple[int | None, int | None] = (None, None)
    utility: tuple[int | None, int | None] = (None, None)

    @property
    def streams(self) -> tuple[Stream, Stream]:
        """Left and right."""
        return self.left, self.right

    @property
    def has_exact_keys(self) -> bool:
        """Whether equal keys need not be compared again."""
        return self.left.has_exact_key and self.right.has_exact_key

    @property
    def windows_us(self) -> tuple[int, int]:
        """The windows of time."""
        return self.left.window_us, self.right.window_us

    @property
    def is_ordered(self) -> bool:
        """Whether tuples are joined in the total order, as windows that count them need it."""
        return any(stream.window_rows is not None for stream in self.streams)

    def marks_of(self, side: int) -> tuple[int, int] | None:
        """Columns that say how far an input has come: streams have none."""
        return None

    def keeps(self, side: int) -> bool:
        """Whether rows of a side come out even if they match nothing."""
        kept = ("left", "full", "anti", "asof") if side == LEFT else ("right", "full")
        return self.how in kept

    def marks(self, side: Side) -> bool:
        """Whether it must be known which rows of a side have matched."""
        return self.how != "asof" and (self.keeps(side) or (self.how == "semi" and side == LEFT))

    def kept_us(self, side: Side) -> int:
        """How long a row of a side may be needed, by the watermark."""
        wait = self.left.window_us if self.how == "asof" and side == RIGHT else 0
        return self.streams[side].window_us + wait

    def over_shards(self, routing: "Routing", n_cores: int) -> "WindowJoin":
        """Settings of one of several shards, among which limits are divided."""
        if self.shedding is None:
            return self
        copies = routing.copies(LEFT), routing.copies(RIGHT)
        limits = self.shedding.over_shards(routing.n_shards, n_cores, copies)
        return replace(self, shedding=limits)

    def describe(self) -> dict[str, str]:
        """What a checkpoint of this join must agree on, in the user's words."""
        said = {"version": str(STATE_VERSION), "how": self.how}
        if self.how == "asof":
            said["direction"] = self.direction
        if self.predicate is not None:
            said["where"] = self.predicate.describe()
        for name, stream in zip(("left", "right"), self.streams, strict=True):
            names = stream.schema.names
            said[f"{name} key"] = ", ".join(names[i] for i in stream.key)
            said[f"{name} time"] = names[stream.time]
            said[f"{name} window"] = format_window(stream)
            said[f"{name} schema"] = ", ".join(f"{f.name} {f.type}" for f in stream.schema)
        return said


def format_window(stream: Stream) -> str:
    """A stream's window in words.

    Examples
    --------
    >>> import pyarrow as pa
    >>> format_window(Stream(pa.schema([]), key=(), time=0, window_us=0, window_rows=5))
    'the last 5 rows'
    """
    if stream.window_rows is not None:
        return f"the last {stream.window_rows} rows"
    return format_duration(stream.window_us)


def by_side(**counts: Sequence[int]) -> JoinCounts:
    """Counts of the left and of the right.

    Examples
    --------
    >>> counts = by_side(late=(3, 4))
    >>> counts.late_left, counts.late_right
    (3, 4)
    """
    sides = {f"{name}_left": n[LEFT] for name, n in counts.items()}
    return JoinCounts(**sides, **{f"{name}_right": n[RIGHT] for name, n in counts.items()})


@dataclass
class WindowJoinState(Progress):
    """The directory: everything remembered but the rows themselves.

    Parameters
    ----------
    sequence
        Batches so far.
    watermark
        No tuple that counts will be older.
    strict_watermark
        What it would be had no idle side been given up on.
    latest
        The largest event time of each side.
    released
        Tuples of each side that have their place in the total order, in all shards.
    held
        Rows of each side that wait for theirs, in this shard.
    clock, seen
        The time of the last batch, and of the last one in which each side brought rows.
    windows
        The basic windows of each side.
    methods
        How arrivals of each side last met what is stored of the other.
    selectivity
        Which share of the pairs that they formed with it matched, as an average that forgets.
    shedding
        What is known for keeping limits; None where there are none.
    sampled
        Bytes of the samples of rows that were cut off.
    marked
        Keys of the bitmaps that say which rows have matched.
    """

    sequence: int = 0
    latest: list[int | None] = field(default_factory=lambda: [None, None])
    released: list[int] = field(default_factory=lambda: [0, 0])
    held: list[int] = field(default_factory=lambda: [0, 0])
    seen: list[int | None] = field(default_factory=lambda: [None, None])
    windows: Windows = field(default_factory=lambda: ([], []))
    methods: list[Method | None] = field(default_factory=lambda: [None, None])
    selectivity: list[float | None] = field(default_factory=lambda: [None, None])
    shedding: SheddingState | None = None
    sampled: list[int] = field(default_factory=lambda: [0, 0])
    marked: set[BlobKey] = field(default_factory=set)

    @property
    def newest(self) -> int | None:
        """The largest event time of both sides."""
        return max((time for time in self.latest if time is not None), default=None)

    @property
    def sample_bytes(self) -> int:
        """Bytes of all samples."""
        selective = None if self.shedding is None else self.shedding.selective
        return sum(self.sampled) + (0 if selective is None else sum(selective.sample_sizes))

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        values["windows"] = [[list(asdict(w).values()) for w in side] for side in self.windows]
        values["marked"] = sorted(self.marked)
        if self.shedding is not None:
            values["shedding"] = asdict(self.shedding)
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "WindowJoinState":
        """Read `to_dict` back; 0.1.0 did not say what is marked."""
        left, right = ([JoinedWindow.of(w) for w in side] for side in values["windows"])
        shed = values.get("shedding")
        shedding = None if shed is None else SheddingState.from_dict(shed)
        marked = {(kind, slice_, number) for kind, slice_, number in values.get("marked", ())}
        read = {"windows": (left, right), "shedding": shedding, "marked": marked}
        return cls(**{**values, **read})

    def with_windows(self, windows: Windows) -> "WindowJoinState":
        """A state of the same times that remembers other rows."""
        values = vars(self).items()
        own: dict[str, Any] = {name: list(v) for name, v in values if isinstance(v, list)}
        own["sampled"] = [0, 0]
        return replace(
            self,
            **own,
            shedding=None,  # what a budget left is counted once, with the rows it was kept for
            marked=set(),  # only inner joins spread keys: nothing is marked
            windows=windows,
        )
