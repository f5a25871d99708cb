"""Turns the batches of a query into records for all who want them, and says what changes."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from streamjoin.metrics.model import JoinMetrics
from streamjoin.metrics.records import BatchDone, Decision, Ended, Record, RecordFile

logger = logging.getLogger("streamjoin.decisions")

CALM: Final = 3
"""Batches in a row that must do better before it is said: a load at the limit goes to and fro."""
EXACT, IN_PART, TURNING_AWAY = range(3)
AGAIN: Final = "exact again"
NOW: Final = "now by "
OnRecord = Callable[[str, Record], None]
"""Takes in a record of a query, given its name."""


class Remarks:
    """Sees the batches of a join and says in one line what changes; most of the time nothing.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics
    >>> def batch(compared, skipped, **more):
    ...     left = InputMetrics("left", rows=50, compared=compared[0], skipped=skipped[0])
    ...     right = InputMetrics("right", rows=50, compared=compared[1], skipped=skipped[1])
    ...     return JoinMetrics(inputs=(left, right), **more)
    >>> exact, part = batch((500, 500), (0, 0)), batch((130, 0), (370, 500), selective=2)
    >>> remarks = Remarks()
    >>> for metrics in [exact, part, part, exact, exact, exact]:
    ...     print(remarks.see(metrics))
    None
    load 7.7x the budget, probing 26 % of the left and 0 % of the right window
    None
    None
    None
    exact again

    Of many streams, tuples that probe and those that do not are counted, all together:

    >>> one = InputMetrics("a", rows=50, compared=30, skipped=70)
    >>> Remarks().see(JoinMetrics(kind="plan", inputs=(one,)))
    'probing with 30 % of the tuples'
    """

    def __init__(self) -> None:
        self._mode, self._calm = EXACT, 0
        self._plan = ""

    def see(self, metrics: JoinMetrics) -> str | None:
        """What a batch gives reason to say; of one without rows nothing is learned."""
        if not metrics.rows_in:
            return None
        said = [text for text in (self._planned(metrics), self._limited(metrics)) if text]
        return "; ".join(said) or None

    def _planned(self, metrics: JoinMetrics) -> str | None:
        """Of many streams: another plan. Who drives an n-ary join may change in every batch."""
        if metrics.kind != "plan":
            return None
        before, self._plan = self._plan, metrics.algorithm
        return NOW + metrics.algorithm if before not in ("", metrics.algorithm) else None

    def _limited(self, metrics: JoinMetrics) -> str | None:
        mode = _mode(metrics)
        if mode == EXACT and metrics.missed > 0:
            mode = min(self._mode, IN_PART)  # rows of its windows are missing
        if mode >= self._mode:
            self._calm = 0
            if mode == self._mode:
                return None
        else:
            self._calm += 1
            if self._calm < CALM:
                return None
        before, self._mode, self._calm = self._mode, mode, 0
        said = _said(metrics) if _mode(metrics) else []
        if mode == EXACT:
            said = ["all that was put off is answered" if metrics.table else AGAIN]
        elif before == TURNING_AWAY:
            said = ["there is time to receive all rows again", *said]
        return ", ".join(said)


def _mode(metrics: JoinMetrics) -> int:
    if metrics.dropped or metrics.lagging:
        return TURNING_AWAY
    puts_off = metrics.table is not None and metrics.table.spilled_rows > 0
    in_part = metrics.selective or metrics.cut or _skips_tuples(metrics) or puts_off
    return IN_PART if in_part else EXACT


def _skips_tuples(metrics: JoinMetrics) -> bool:
    """Whether it is a join of many streams, of which whole tuples do not probe."""
    return bool(metrics.kind == "plan" and metrics.skipped)


def _said(metrics: JoinMetrics) -> list[str]:
    said = []
    if metrics.lagging:
        said.append("to receive rows alone takes more than the budget")
        said += [] if metrics.dropped else ["batches take longer"]
    if metrics.selective:
        done, every = metrics.compared, metrics.compared + metrics.skipped
        said.append(f"load {every / done:.2g}x the budget" if done else "no time for comparisons")
    if metrics.dropped:
        said.append(f"turning away {metrics.dropped:,} of {metrics.rows_in:,} rows")
    if metrics.selective:
        parts = (f"{one.fraction:.0%} of the {one.name}" for one in metrics.inputs)
        said.append(f"probing {' and '.join(parts)} window")
    if _skips_tuples(metrics):
        part = metrics.compared / (metrics.compared + metrics.skipped)
        said.append(f"probing with {part:.0%} of the tuples")
    if metrics.cut:
        said.append(f"forgetting {metrics.cut:,} rows before their window ends")
    if metrics.table is not None and metrics.table.spilled_rows:
        said.append(f"{metrics.table.spilled_rows:,} rows are put off")
    return [text.replace("%", " %") for text in said]


class Recorder:
    """Records one query.

    Examples
    --------
    >>> from streamjoin.metrics.records import Started
    >>> seen = []
    >>> recorder = Recorder("calls", [lambda query, record: seen.append(record)])
    >>> recorder.tell(Started("calls"))
    >>> recorder.see([JoinMetrics(at=10.0, seconds=2.0)])
    []
    >>> recorder.end()
    >>> [type(record).__name__ for record in seen]
    ['Started', 'BatchDone', 'Ended']
    """

    def __init__(self, query: str, on_record: Sequence[OnRecord]) -> None:
        self.query, self._on_record = query, on_record
        self._remarks: dict[str, Remarks] = {}

    def see(self, joins: Iterable[JoinMetrics]) -> list[Decision]:
        """A batch has ended; what its joins do differently from now on."""
        decisions = []
        for metrics in joins:
            self.tell(BatchDone(metrics))
            text = self._remarks.setdefault(metrics.name, Remarks()).see(metrics)
            if text is not None:
                at = round(metrics.at + metrics.seconds, 3)
                decisions.append(Decision(at, metrics.name, metrics.batch, text))
        for decision in decisions:
            self.tell(decision)
        return decisions

    def end(self, error: str = "") -> None:
        """The query has stopped; with an error if it failed."""
        self.tell(Ended(round(time.time(), 3), error))

    def tell(self, record: Record) -> None:
        """Hand a record to all who take them; the first is that the query was started."""
        for take in self._on_record:
            take(self.query, record)


def log_decision(query: str, record: Record) -> None:
    """Log a decision: a warning, unless all is well again or only the plan is another."""
    if isinstance(record, Decision):
        is_calm = record.text.endswith(AGAIN) or record.text.startswith(NOW)
        level = logging.INFO if is_calm else logging.WARNING
        logger.log(level, "%s: batch %d: %s", record.join, record.batch, record.text)


def to_file(folder: Path) -> OnRecord:
    """Append records to the file of a query; one that cannot be written is said once, in the log.

    Metrics are not worth a failed query: a full disk ends the file, not the join.
    """
    file = RecordFile(folder)
    failed = False

    def write(query: str, record: Record) -> None:
        nonlocal failed
        try:
            file.write(record)
            failed = False
        except (OSError, ValueError, TypeError) as error:
            if not failed:
                logger.warning("%s: metrics cannot be written to %s: %s", query, file.path, error)
            failed = True

    return write
