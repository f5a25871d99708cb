"""What a query's own logs say: which files made each batch, and what the sink has of it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow.parquet as pq

from tests.system.chaos.rows import plain_rows


@dataclass(frozen=True)
class Cuts:
    """What each committed batch took.

    Parameters
    ----------
    batches
        By the number of the batch, what it took of each stream by name: numbers of its files, or,
        of a topic, of its messages.
    """

    batches: dict[int, dict[str, list[int]]]

    @property
    def taken(self) -> dict[str, int]:
        """How many files, or messages, have been taken of each stream."""
        sums: dict[str, int] = {}
        for batch in self.batches.values():
            for name, numbers in batch.items():
                sums[name] = sums.get(name, 0) + len(numbers)
        return sums


def last_commit(checkpoint: Path) -> int:
    """Number of the last batch that was finished; -1 before the first."""
    return max(_numbers(checkpoint / "commits"), default=-1)


def read_cuts(checkpoint: Path) -> Cuts:
    """Read which files, or messages, each finished batch took."""
    committed = last_commit(checkpoint)
    files = _source_files(checkpoint / "sources")
    batches: dict[int, dict[str, list[int]]] = {}
    before: dict[str, Any] = {}
    for number in sorted(_numbers(checkpoint / "offsets")):
        if number > committed:
            break
        lines = (checkpoint / "offsets" / str(number)).read_text().splitlines()[2:]
        batch = batches.setdefault(number, {})
        for source, line in enumerate(lines):
            offset = json.loads(line) if line != "-" else {}
            if "logOffset" in offset:
                log = files[source]
                first = before.get(str(source), -1) + 1
                for entry in range(first, offset["logOffset"] + 1):
                    for path in log.get(entry, []):
                        batch.setdefault(path.parent.name, []).append(int(path.stem))
                before[str(source)] = offset["logOffset"]
            else:
                for topic, ends in offset.items():  # of one partition
                    numbers = range(before.get(str(source), 0), ends["0"])
                    batch.setdefault(topic.rpartition("-")[2], []).extend(numbers)
                    before[str(source)] = ends["0"]
    return Cuts(batches)


def _source_files(sources: Path) -> dict[int, dict[int, list[Path]]]:
    """Files by source and number of the entry in its log; compacted logs have older ones too."""
    found: dict[int, dict[int, list[Path]]] = {}
    for source in _numbers(sources):
        entries: dict[int, set[Path]] = {}
        for log in (sources / str(source)).glob("[0-9]*"):
            for entry in _entries(log):
                if "path" in entry:  # that of a topic has where it began
                    path = Path(unquote(urlparse(entry["path"]).path))
                    entries.setdefault(entry["batchId"], set()).add(path)
        found[source] = {number: sorted(paths) for number, paths in entries.items()}
    return found


def read_sink(output: Path) -> dict[int, list[Path]]:
    """Files of a Parquet sink by batch, as its log counts them."""
    found: dict[int, list[Path]] = {}
    known: set[Path] = set()
    log = output / "_spark_metadata"
    logs = {int(file.name.split(".")[0]): file for file in log.glob("[0-9]*")}
    for number in sorted(logs):
        paths = {Path(unquote(urlparse(entry["path"]).path)) for entry in _entries(logs[number])}
        found[number] = sorted(paths - known)
        known |= paths
    return found


def read_written(output: Path) -> dict[int, list[dict[str, Any]]]:
    """Rows of a Parquet sink by batch, times as microseconds."""
    return {
        number: [row for file in files for row in plain_rows(pq.read_table(file))]
        for number, files in read_sink(output).items()
    }


def _numbers(folder: Path) -> list[int]:
    if not folder.exists():
        return []
    return [int(file.name) for file in folder.iterdir() if file.name.isdigit()]


def _entries(log: Path) -> Iterator[dict[str, Any]]:
    for line in log.read_text().splitlines()[1:]:
        yield json.loads(line)
