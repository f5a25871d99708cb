"""What became of a query: what it gave before it was stopped, and when it went on."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tests.spark.streams import counters_of
from tests.system.upgrade.inputs import BATCHES, BEFORE, STOPPED, write_streams, write_tables

CHECKPOINT: Final = "checkpoint"
TOLD: Final = "results.json"
Result = tuple[Any, ...]
Counts = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Told:
    """What a run gave, batch by batch: results and counters."""

    results: list[list[Result]]
    counts: list[Counts]


@dataclass(frozen=True)
class Story:
    """A query that was stopped and went on.

    Parameters
    ----------
    base
        Folder with its streams.
    before, after
        What came before the stop, and when it went on.
    stopped
        Results of the batch that was stopped, which was done but not committed; None if they were
        not kept.
    whole
        What a query gave that was never stopped; None if that was not kept.
    """

    base: Path
    before: Told
    after: Told
    stopped: list[Result] | None = None
    whole: Told | None = None

    @property
    def results(self) -> list[Result]:
        """All that came out, before and after."""
        return flat([*self.before.results, *self.after.results])

    @property
    def counts(self) -> list[Counts]:
        """Counters of all batches."""
        return [*self.before.counts, *self.after.counts]

    def total(self, *names: str) -> int:
        """The sum of some counters over all batches."""
        return sum(counts[name] or 0 for counts in self.counts for name in names)


Check = Callable[[Story], None]


@dataclass(frozen=True)
class Case:
    """A join whose checkpoint is kept.

    Parameters
    ----------
    join
        Makes it, of what is in a folder.
    streams
        Names of its streams.
    columns
        What of a result is kept; first the numbers of its rows.
    checks
        What must hold.
    stored
        Shapes of results, as `shape` has them, that must be among those that come after the stop:
        they need what was stored.
    needs
        What else must be so, for the checks to see it if something of the state gets lost.
    repeats
        Whether a batch that is run again gives the same results in any case.
    keeps_whole
        Whether it is also kept what a query gives that is never stopped.
    """

    join: Callable[[SparkSession, Path], DataFrame]
    streams: str
    columns: tuple[str, ...]
    checks: tuple[Check, ...]
    stored: tuple[str, ...]
    needs: tuple[Check, ...] = ()
    repeats: bool = True
    keeps_whole: bool = False


def flat(batches: Sequence[list[T]]) -> list[T]:
    """What is in several batches, in one list."""
    return [one for batch in batches for one in batch]


def in_folder(said: Mapping[str, Any], base: Path) -> dict[str, Any]:
    """Arguments of a join, in which `Path` stands for a folder of the argument's name."""
    return {name: str(base / name) if value is Path else value for name, value in said.items()}


def shape(result: Result) -> str:
    """Which of its rows came before the stop (o), which later (n); - for none, w for a word."""
    return "".join(
        "-" if value is None else "w" if isinstance(value, str) else "no"[value < 1000 * BEFORE]
        for value in result
    )


def run(
    spark: SparkSession, case: Case, base: Path, stop_at: int | None = None
) -> tuple[Told, list[Result] | None]:
    """Join all that is there; the sink fails in the batch `stop_at`, when it has its results."""
    results: dict[int, list[Result]] = {}

    def sink(frame: DataFrame, batch: int) -> None:
        rows = frame.select(*case.columns).collect()
        results[batch] = [tuple(row) for row in rows]
        if batch == stop_at:
            msg = "stopped here"
            raise RuntimeError(msg)

    writer = case.join(spark, base).writeStream.foreachBatch(sink).trigger(availableNow=True)
    query = writer.option("checkpointLocation", str(base / CHECKPOINT)).start()
    try:
        query.awaitTermination()
    except StreamingQueryException:
        if stop_at not in results:
            raise
    stopped = results.pop(stop_at, None) if stop_at is not None else None
    return Told(list(results.values()), _counts(query)), stopped


def _counts(query: StreamingQuery) -> list[Counts]:
    seen = (counters_of(progress) for progress in query.recentProgress)
    return [counts for counts in seen if counts is not None]


def begin(spark: SparkSession, case: Case, base: Path) -> None:
    """Run a case until it is stopped in the third batch; write down what it gave."""
    write_streams(base, case.streams, 0, STOPPED)
    write_tables(base)
    before, stopped = run(spark, case, base, stop_at=BEFORE)
    if stopped is None:
        msg = "the query was not stopped"
        raise RuntimeError(msg)
    told = {"before": vars(before), "stopped": stopped}
    if case.keeps_whole:
        other = base.with_name(f"{base.name} whole")
        other.mkdir()
        write_streams(other, case.streams, 0, BATCHES)
        write_tables(other)
        told["whole"] = vars(run(spark, case, other)[0])
    (base / TOLD).write_text(json.dumps(told, separators=(",", ":")))


def go_on(spark: SparkSession, case: Case, base: Path) -> Story:
    """Go on where a query was stopped, with one more batch."""
    told = json.loads((base / TOLD).read_text())
    write_streams(base, case.streams, STOPPED, BATCHES)
    write_tables(base)
    if isinstance(told, list):  # of 0.1.0: rows alone
        rows = [tuple(row[name] for name in case.columns) for row in told]
        before, stopped, whole = Told([rows], []), None, None
    else:
        before, stopped = _told(told["before"]), _results(told["stopped"])
        whole = _told(told["whole"]) if "whole" in told else None
    after, _ = run(spark, case, base)
    return Story(base, before, after, stopped, whole)


def _told(values: dict[str, Any]) -> Told:
    return Told([_results(batch) for batch in values["results"]], values["counts"])


def _results(values: list[list[Any]]) -> list[Result]:
    return [tuple(one) for one in values]
