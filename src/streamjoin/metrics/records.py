"""What is written of a query while it runs: JSON, a line each, beside its checkpoint.

A file is appended to when the query is started again, so it tells the whole story:

started   the query, its plan (text and drawing), trigger and budget
batch     one join in one batch: `JoinMetrics.to_dict`
decision  a change of what the join does, in words
ended     the query has stopped, with the reason if it failed

When a file has grown large it becomes ``metrics.1.jsonl``, replacing the one before, and a new one
begins with the last start.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from streamjoin._private import make_folders, open_private
from streamjoin.metrics.model import JoinMetrics, known_fields

VERSION: Final = 1
FILE: Final = "metrics.jsonl"
BEFORE: Final = "metrics.1.jsonl"
MOST_BYTES: Final = 128 << 20
"""From which size on a new file is begun."""


@dataclass(frozen=True)
class Started:
    """A query was started: `plan` and `drawing` are `explain`'s text and its SVG."""

    query: str
    run: str = ""  # id of this run
    at: float = 0.0  # seconds since 1970
    plan: str = ""
    drawing: str = ""
    trigger: float | None = None  # seconds between batches; None where each follows the one before
    budget: str = ""  # in words


@dataclass(frozen=True)
class BatchDone:
    """A join has done a batch."""

    metrics: JoinMetrics = field(default_factory=JoinMetrics)

    @property
    def at(self) -> float:
        """When the batch ended."""
        return self.metrics.at + self.metrics.seconds


@dataclass(frozen=True)
class Decision:
    """A join does something else from now on: `text` says what, and why."""

    at: float
    join: str
    batch: int
    text: str


@dataclass(frozen=True)
class Ended:
    """The query has stopped; `error` is empty if it was asked to or there was no more to do."""

    at: float
    error: str = ""


Record = Started | BatchDone | Decision | Ended
_KINDS: Final[dict[str, type[Started | Decision | Ended]]] = {
    "started": Started,
    "decision": Decision,
    "ended": Ended,
}


def to_line(record: Record) -> str:
    """One line, without its end.

    Examples
    --------
    >>> to_line(Ended(at=3.5))
    '{"record":"ended","version":1,"at":3.5,"error":""}'
    >>> from_line(to_line(Decision(1.0, "streamjoin", 7, "exact again"))).text
    'exact again'
    """
    if isinstance(record, BatchDone):
        kind, values = "batch", record.metrics.to_dict()
    else:
        kind = next(name for name, one in _KINDS.items() if isinstance(record, one))
        values = dict(vars(record))
    head = {"record": kind, "version": VERSION}
    return json.dumps({**head, **values}, separators=(",", ":"), allow_nan=False)


def from_line(line: str) -> Record | None:
    """Read a line back; None for one that is cut off, damaged, or of a kind not known here.

    Examples
    --------
    >>> lines = '{"record":"batch","na', '{"record":"other"}', '{"record":"ended","at":NaN}'
    >>> [from_line(line) for line in lines]
    [None, None, None]
    >>> from_line('{"record":"started","query":3}') is None
    True
    """
    try:
        values = json.loads(line, parse_constant=_refuse)
        if values["record"] == "batch":
            return BatchDone(JoinMetrics.from_dict(values))
        kind = _KINDS[values["record"]]
        known = known_fields(kind, values)
        return kind(**known) if all(map(_is_sound, known.items())) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number to draw")


def _is_sound(field: tuple[str, Any]) -> bool:
    name, value = field
    if name in ("at", "trigger", "batch"):
        return isinstance(value, int | float) or (name == "trigger" and value is None)
    return isinstance(value, str)


class RecordFile:
    """Appends records to the file of a query.

    Examples
    --------
    >>> folder = getfixture("tmp_path")
    >>> file = RecordFile(folder)
    >>> file.write(Started("calls"))
    >>> file.write(Ended(at=2.0))
    >>> [type(record).__name__ for record in read_records(folder)]
    ['Started', 'Ended']
    """

    def __init__(self, folder: Path, most_bytes: int = MOST_BYTES) -> None:
        self.path = folder / FILE
        self._most_bytes = most_bytes
        self._started: Started | None = None

    def write(self, record: Record) -> None:
        """Append a record; readers see it at once."""
        if isinstance(record, Started):
            self._started = record
        make_folders(self.path.parent)
        if self.path.exists() and self.path.stat().st_size >= self._most_bytes:
            self.path.replace(self.path.parent / BEFORE)
            if self._started is not None and self._started is not record:
                self._append(self._started)
        self._append(record)

    def _append(self, record: Record) -> None:
        with open_private(self.path, "a") as file:
            torn = "" if self._is_whole() else "\n"  # who wrote before was killed
            file.write(torn + to_line(record) + "\n")

    def _is_whole(self) -> bool:
        with self.path.open("rb") as file:
            if not file.seek(0, 2):
                return True
            file.seek(-1, 2)
            return file.read() == b"\n"


def read_records(folder: Path) -> Iterator[Record]:
    """All records of a query that can still be read, oldest first."""
    for name in (BEFORE, FILE):
        path = folder / name
        if path.exists():
            with path.open(encoding="utf-8", errors="replace") as file:
                yield from (record for record in map(from_line, file) if record is not None)
