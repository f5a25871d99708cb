"""Turn the batches of a query into records, and hand these to all who want them."""

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from streamjoin.metrics.model import JoinMetrics
from streamjoin.metrics.records import BatchDone, Decision, Ended, Record, RecordFile, Started
from streamjoin.metrics.remarks import AGAIN, NOW, Remarks

logger = logging.getLogger("streamjoin.decisions")
OnRecord = Callable[[str, Record], None]
"""Takes in a record of a query, given its name."""


class Recorder:
    """Records one query.

    Parameters
    ----------
    query
        Its name.
    on_record
        What takes the records in: `to_file`, `log_decision`, an exporter's ``see``.

    Examples
    --------
    >>> seen = []
    >>> recorder = Recorder("calls", [lambda query, record: seen.append(record)])
    >>> recorder.start(Started("calls"))
    >>> recorder.see([JoinMetrics(at=10.0, seconds=2.0)])
    []
    >>> recorder.end()
    >>> [type(record).__name__ for record in seen]
    ['Started', 'BatchDone', 'Ended']
    """

    def __init__(self, query: str, on_record: Sequence[OnRecord]) -> None:
        self.query, self._on_record = query, on_record
        self._remarks: dict[str, Remarks] = {}

    def start(self, started: Started) -> None:
        """The query was started."""
        self._tell(started)

    def see(self, joins: Iterable[JoinMetrics]) -> list[Decision]:
        """A batch has ended; what its joins do differently from now on."""
        decisions = []
        for metrics in joins:
            self._tell(BatchDone(metrics))
            text = self._remarks.setdefault(metrics.name, Remarks()).see(metrics)
            if text is not None:
                at = round(metrics.at + metrics.seconds, 3)
                decisions.append(Decision(at, metrics.name, metrics.batch, text))
        for decision in decisions:
            self._tell(decision)
        return decisions

    def end(self, error: str = "") -> None:
        """The query has stopped; with an error if it failed."""
        self._tell(Ended(round(time.time(), 3), error))

    def _tell(self, record: Record) -> None:
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
