"""The directory of a table join (everything remembered but rows), and one batch at work on it."""

import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from time import perf_counter_ns
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from streamjoin.core.window import BasicWindow
from streamjoin.joins.base import WindowStore
from streamjoin.joins.table.rows import Answers, Columns, Parts, stored
from streamjoin.joins.table.settings import FRONT_SHARE, LOOK_UP_SHARE, Room, TableJoin
from streamjoin.planning.table import TableCosts

if TYPE_CHECKING:
    from streamjoin.joins.table.front_stage import FrontStage
    from streamjoin.joins.table.waiting import Spill, Waiting

WAITING: Final = 0
CACHED: Final = 1
SPILLED: Final = 2
"""Numbers of the three kinds of pieces in the store."""
ALIVE: Final = (3, 0, 0)
PARTS: Final = (3, 1, 0)
"""Keys of small blobs: which cached rows still count, what waits for each partition."""
FIRST_SPAN: Final = 1_000_000
LONGEST_SPAN: Final = 60_000_000
"""Microseconds that the first batch counts for, and a batch after a long silence."""
Clock = Callable[[], int]
"""Nanoseconds."""


@dataclass(frozen=True)
class Run(BasicWindow):
    """Rows that wait: `slice` is its number, `left` how many of its rows are not answered yet.

    `mark` says when it was written: its number, or of a cyclic scan how many loads there had been.
    """

    left: int = 0
    mark: int = 0


@dataclass
class TableJoinState:
    """What one shard knows.

    Parameters
    ----------
    sequence
        Batches so far.
    next_piece
        Number of the next piece.
    version
        Of the table, as it was last seen.
    waiting, cached, spilled
        Pieces of rows that wait, of cached table rows, and of rows for which there was no time.
    loads, circle
        Partitions that have been loaded so far; how many there are, where they pass by.
    clock
        When the last batch was, in microseconds.
    rate
        Rows per second that the front stage has missed lately.
    waits
        Whether rows wait for their partition at present.
    front_share
        Part of the memory that the front stage has; 0 if that was not chosen yet.
    costs
        What things cost lately; None if nothing was measured.
    """

    sequence: int = 0
    next_piece: int = 0
    version: str = ""
    waiting: list[Run] = field(default_factory=list)
    cached: list[BasicWindow] = field(default_factory=list)
    spilled: list[Run] = field(default_factory=list)
    loads: int = 0
    circle: int = 0
    clock: int = 0
    rate: float = 0.0
    waits: bool = True
    front_share: float = 0.0
    costs: TableCosts | None = None

    @property
    def n_waiting(self) -> int:
        """Rows that wait."""
        return sum(run.left for run in self.waiting)

    @property
    def pieces(self) -> tuple[list[Any], ...]:
        """All that there are, by the number of their kind."""
        return self.waiting, self.cached, self.spilled

    def number(self) -> int:
        """A number for a new piece."""
        self.next_piece += 1
        return self.next_piece - 1

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        values = asdict(self)
        for name in ("waiting", "cached", "spilled"):
            values[name] = [list(one.values()) for one in values[name]]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TableJoinState":
        """Read `to_dict` back.

        Examples
        --------
        >>> state = TableJoinState(waiting=[Run(0, 0, 5, 1, 1, 9, 0, left=5)], costs=TableCosts())
        >>> TableJoinState.from_dict(state.to_dict()) == state
        True
        """
        known = {
            "waiting": [Run.of(one) for one in values["waiting"]],
            "cached": [BasicWindow.of(one) for one in values["cached"]],
            "spilled": [Run.of(one) for one in values["spilled"]],
            "costs": values["costs"] and TableCosts(**values["costs"]),
        }
        return cls(**{**values, **known})

    def answered(self, run: Run, rows: int) -> None:
        """Some rows of a run no longer wait."""
        place = self.waiting.index(run)
        self.waiting[place] = replace(run, left=run.left - rows)


@dataclass
class Spent:
    """Time and work of one kind in a batch."""

    us: float = 0.0
    n: int = 0


@dataclass
class Work:
    """One batch at work.

    Parameters
    ----------
    join, state, store
        Settings, directory and the place of the bytes.
    parts, answers
        The table, and what forms results.
    now_us
        The time of the batch.
    end
        Whether the stream pauses: all that waits is answered.
    clock
        Tells what things cost.
    is_patient
        Whether rows are left for later if the table cannot be reached; otherwise that is an error.
    """

    join: TableJoin
    state: TableJoinState
    store: WindowStore
    parts: Parts
    answers: Answers
    now_us: int
    end: bool
    clock: Clock = perf_counter_ns
    is_patient: bool = False
    front: "FrontStage | None" = None
    waiting: "Waiting | None" = None
    spill: "Spill" = field(init=False)
    scans: Spent = field(default_factory=Spent)
    look_ups: Spent = field(default_factory=Spent)

    def __post_init__(self) -> None:
        self._started = self.clock()
        known = self.state.clock
        self.span_us = FIRST_SPAN if not known else min(LONGEST_SPAN, self.now_us - known)
        if self.join.front_share is not None:
            self.state.front_share = self.join.front_share
        elif not self.state.front_share:
            self.state.front_share = FRONT_SHARE if self.join.longest_wait else LOOK_UP_SHARE

    @property
    def costs(self) -> TableCosts:
        """Prices as they are believed to be."""
        return self.state.costs or self.join.costs

    @property
    def room(self) -> Room:
        """How the memory is divided."""
        return self.join.room(self.state.front_share)

    @property
    def allowed_us(self) -> float | None:
        """Time for the whole batch; None for any."""
        us, share = self.join.work_us, self.join.work_share
        if self.end or (us is None and share is None):
            return None
        return float(us) if us is not None else (share or 0.0) * max(0, self.span_us)

    @property
    def spent_us(self) -> float:
        """Time since the batch began; what takes the results is part of it."""
        return (self.clock() - self._started) / 1000

    @property
    def left_us(self) -> float | None:
        """What is left of the time; None for any."""
        allowed = self.allowed_us
        return None if allowed is None else max(0.0, allowed - self.spent_us)

    def write(self, kind: int, rows: pa.RecordBatch, at_us: int = 0, mark: int = 0) -> None:
        """Keep rows as a new piece of a kind."""
        blob, n = rows.serialize(), len(rows)
        name = self.state.number(), self.state.sequence
        values = *name, n, at_us, at_us, blob.size, zlib.crc32(blob)
        piece = BasicWindow(*values) if kind == CACHED else Run(*values, left=n, mark=mark)
        self.store.put(kind, piece, blob)
        self.state.pieces[kind].append(piece)

    def read(self, kind: int, piece: BasicWindow, *more: pa.Field) -> pa.RecordBatch:
        """The rows of a piece, which may have more columns than usual."""
        schema = self.join.table if kind == CACHED else self.join.stream
        return pa.ipc.read_record_batch(self.store.get(kind, piece), stored(schema, *more))

    def remove(self, kind: int, piece: BasicWindow) -> None:
        """Let go of a piece."""
        self.store.remove(kind, piece)
        self.state.pieces[kind].remove(piece)

    def timed(self, spent: Spent, n: int, results: Iterator[Columns]) -> Iterator[Columns]:
        """Results, noting what it takes to make them."""
        us = 0.0
        while True:
            began = self.clock()
            columns = next(results, None)
            us += (self.clock() - began) / 1000
            if columns is None:
                break
            yield columns
        spent.us += us
        spent.n += n
