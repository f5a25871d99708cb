"""Rows on their way to a query: files that appear one by one, or messages of topics."""

import json
import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from tests.system.chaos.answers import Fed, people
from tests.system.chaos.checkpoint import Cuts
from tests.system.chaos.rows import put, stream
from tests.system.chaos.scenarios import FILES, Scenario
from tests.system.servers import kafka

AHEAD = 3
"""Files of a stream that may lie there without having been taken."""
PAUSE = 0.15


class Feed(Protocol):
    """What a query is fed: tables of each stream, in all so many."""

    fed: Fed
    total: int

    @property
    def given(self) -> float:
        """The share that the query has been given."""

    def feed(self, cuts: Cuts) -> None:
        """Let the query have more, given what it has taken."""


def feed_of(scenario: Scenario, seed: int, base: Path, broker: kafka.Broker | None) -> Feed:
    """What a scenario is fed."""
    tables = draw(scenario, seed)
    if scenario.source == "files":
        return Files(scenario, tables, base)
    assert broker is not None
    return Topics(tables, base, broker)


class Topics:
    """All messages are there from the beginning; the query takes some at a time.

    Parameters
    ----------
    tables
        Of each stream.
    base
        Folder of the run, which names the topics.
    broker
        Where they are.
    """

    def __init__(self, tables: dict[str, list[pa.Table]], base: Path, broker: kafka.Broker) -> None:
        whole = {name: pa.concat_tables(of) for name, of in tables.items()}
        self.fed: Fed = {
            name: [table.slice(n, 1) for n in range(table.num_rows)]
            for name, table in whole.items()
        }
        self.total = sum(table.num_rows for table in whole.values())
        for name, table in whole.items():
            topic = f"{base.name}-{name}"
            broker.create_topic(topic)
            times = table["t"].cast(pa.int64()).to_pylist()
            rows = table.drop_columns(["t"]).to_pylist()
            broker.write(
                topic,
                [
                    json.dumps({**row, "t": None if t is None else _iso(t)}).encode()
                    for row, t in zip(rows, times, strict=True)
                ],
            )

    given = 1.0

    def feed(self, cuts: Cuts) -> None:
        """Nothing is left to do."""


def _iso(microseconds: int) -> str:
    return (datetime(1970, 1, 1) + timedelta(microseconds=microseconds)).isoformat() + "Z"


class Files:
    """Lets a scenario's files appear, a few before the query needs them.

    Parameters
    ----------
    scenario, tables
        What is fed.
    base
        Folder of the run.
    """

    def __init__(self, scenario: Scenario, tables: dict[str, list[pa.Table]], base: Path) -> None:
        self._base, self._last = base, 0.0
        self.fed: Fed = tables
        self._next = dict.fromkeys(self.fed, 0)
        self.total = sum(len(tables) for tables in self.fed.values())
        for name in self.fed:
            (base / name).mkdir()
        if scenario.table == "parquet":
            (base / "people").mkdir()
            pq.write_table(people(), base / "people" / "1.parquet", row_group_size=10)

    @property
    def given(self) -> float:
        """What part of the files has appeared."""
        return sum(self._next.values()) / self.total

    def feed(self, cuts: Cuts) -> None:
        """Let one more file appear, of the stream that has brought least."""
        if time.monotonic() < self._last + PAUSE:
            return
        open_ones = [
            name
            for name, number in self._next.items()
            if number < min(len(self.fed[name]), cuts.taken.get(name, 0) + AHEAD)
        ]
        if open_ones:
            name = min(open_ones, key=lambda one: self._next[one])
            put(self.fed[name][self._next[name]], self._base / name, self._next[name])
            self._next[name] += 1
            self._last = time.monotonic()


def draw(scenario: Scenario, seed: int) -> dict[str, list[pa.Table]]:
    """Tables of all streams of a scenario."""
    shape: dict[str, Any] = {"files": FILES, "rows": scenario.rows, "keys": scenario.keys}
    return {
        name: stream(seed, side, **shape, late=scenario.has_late_rows, same=scenario.has_same_rows)
        for side, name in enumerate(scenario.streams)
    }
