"""The directory of a table join: everything remembered but rows."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from streamjoin.core.window import BasicWindow
from streamjoin.planning.table import TableCosts

WAITING: Final = 0
CACHED: Final = 1
SPILLED: Final = 2
"""Numbers of the three kinds of pieces in the store."""
ALIVE: Final = (3, 0, 0)
PARTS: Final = (3, 1, 0)
"""Keys of small blobs: which cached rows still count, what waits for each partition."""


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
