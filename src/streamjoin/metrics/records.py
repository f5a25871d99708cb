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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from streamjoin._private import make_folders, open_private
from streamjoin.metrics.model import JoinMetrics

VERSION: Final = 1
FILE: Final = "metrics.jsonl"
BEFORE: Final = "metrics.1.jsonl"
MOST_BYTES: Final = 128 << 20


@dataclass(frozen=True)
class Started:
    """A query was started.

    Parameters
    ----------
    query, run
        Its name, and the id of this run.
    at
        When, in seconds since 1970.
    plan, drawing
        What it will do: `explain`'s text and its SVG.
    trigger
        Seconds between batches; None where each follows the one before.
    budget
        What it may use, in words.
    """

    query: str
    run: str = ""
    at: float = 0.0
    plan: str = ""
    drawing: str = ""
    trigger: float | None = None
    budget: str = ""


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
        known = _known(kind, values)
        return kind(**known) if all(map(_is_sound, known.items())) else None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _refuse(constant: str) -> float:
    msg = f"{constant} is no number to draw"
    raise ValueError(msg)


_NUMBERS: Final = ("at", "trigger", "batch")


def _is_sound(field: tuple[str, Any]) -> bool:
    name, value = field
    if name in _NUMBERS:
        return isinstance(value, int | float) or (name == "trigger" and value is None)
    return isinstance(value, str)


def _known(kind: type[Any], values: Mapping[str, Any]) -> dict[str, Any]:
    return {one.name: values[one.name] for one in fields(kind) if one.name in values}


class RecordFile:
    """Appends records to the file of a query.

    Parameters
    ----------
    folder
        Where the file is, or will be.
    most_bytes
        From which size on a new file is begun.

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
