"""What is run while things fail: the joins, where they run, and how their results are judged."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from streamjoin.budget import Budget
from streamjoin.windows import rows

Kind = Literal["window", "many", "table"]
Judged = Literal["exact", "replayed", "selected", "dropped"]
"""What the results must be: those of the oracle; those of the same batches without a fault; those
of a part of the comparisons, where all of them are counted, made or not; those of a part of the
rows, and of these all."""
Place = Literal["local", "clock", "cluster"]
"""Where Spark runs: here; here with a clock that can be moved; on a standalone cluster."""

FILES: Final = 21
"""Of each stream, before the one that ends it."""
WINDOW_SECONDS: Final = 3
TABLE_ROWS: Final = 60
TABLE_KEYS: Final = 80
"""Of the stream: some have no row in the table."""


@dataclass(frozen=True)
class Scenario:
    """One query, run while things fail.

    Parameters
    ----------
    name
        What it is called.
    kind
        A join of two streams, of many, or with a table.
    on
        What must be equal.
    said
        The join's other arguments.
    streams
        Their names, a letter each.
    rows, keys
        Of each file: how many rows, and of how many keys.
    judged
        What the results must be.
    place, source, sink, table
        Where it runs, where rows come from, where results go, where the table is.
    """

    name: str
    kind: Kind
    on: Any
    said: Mapping[str, Any] = field(default_factory=dict)
    streams: str = "lr"
    rows: int = 60
    keys: int = 40
    judged: Judged = "exact"
    place: Place = "local"
    source: Literal["files", "kafka"] = "files"
    sink: Literal["parquet", "postgres"] = "parquet"
    table: Literal["parquet", "postgres"] | None = None

    @property
    def has_late_rows(self) -> bool:
        """Which rows are late depends on how batches are cut; the oracle knows for two streams."""
        return self.kind == "window"

    @property
    def has_same_rows(self) -> bool:
        """Rows that are equal in all columns are one to a sink that goes by their id."""
        return self.sink == "parquet"


def _window(name: str, on: str = "x", **more: Any) -> Scenario:
    return Scenario(name, "window", on, **more)


def _many(name: str, on: Any, **more: Any) -> Scenario:
    return Scenario(name, "many", on, **{"streams": "abc", "rows": 14, "keys": 24, **more})


def _table(name: str, **more: Any) -> Scenario:
    said = {"how": "left", **more.pop("said", {})}
    settings = {"streams": "l", "table": "parquet", "keys": TABLE_KEYS, **more}
    return Scenario(name, "table", "x", said, **settings)


_CHAIN: Final = ["a.x = b.x", "b.y = c.y"]
_WAITS: Final = {"algorithm": "chybridjoin", "budget": Budget(memory="60 KB"), "max_wait": "2 s"}
_MEMORY: Final = {"budget": Budget(memory=rows(90))}
_RATE: Final = {"budget": Budget(rate=50)}
_SELECTIVE: Final = {"budget": Budget(cpu="1 ms"), "shed": ["selective", "lag"], "shards": 1}
_DROPPING: Final = {"budget": Budget(cpu="2 ms"), "shed": "drop"}

SCENARIOS: Final = (
    _window("inner"),
    _window("full", "y", said={"how": "full"}),
    _many("tree", "y", said={"plan": "(a b) c"}),
    _table("table", said=_WAITS),
    _window("inner, memory", said={**_MEMORY, "shards": 1}, judged="replayed"),
    _many("chain", _CHAIN),
    _many("n-ary", "y", said={"strategy": "mjoin"}),
    _window("inner, CPU", said=_SELECTIVE, judged="selected"),
    _window("as-of", "y", said={"how": "asof"}),
    _many("n-ary, grid", _CHAIN, said={"strategy": "mjoin"}),
    _window("inner, rate", said={**_RATE, "shards": 1}, judged="replayed"),
    _window("inner, CPU by dropping", said=_DROPPING, keys=8, judged="dropped"),
    _many("tree, rate", "y", said={"budget": Budget(rate=20), "shards": 1}, judged="replayed"),
    _table("table, CPU", said={"budget": Budget(memory="60 KB", cpu="1 ms")}),
    _table("database", table="postgres"),
    _table("database, stale", table="postgres", said={"on_failure": "stale"}),
    _window("inner to PostgreSQL", sink="postgres"),
    _window("inner from Kafka", source="kafka"),
    _window("clock, full", "y", said={"how": "full"}, place="clock"),
    _table("clock, table", said=_WAITS, place="clock"),
    _window("clock, CPU", said=_SELECTIVE, judged="selected", place="clock"),
    _window("cluster, inner", place="cluster"),
    _window("cluster, full", "y", said={"how": "full"}, place="cluster"),
    _many("cluster, chain", _CHAIN, place="cluster"),
    _many("cluster, n-ary", "y", said={"strategy": "mjoin"}, place="cluster"),
    _table("cluster, table", said=_WAITS, place="cluster"),
    _window("cluster, memory", said={**_MEMORY, "shards": 1}, judged="replayed", place="cluster"),
)
BY_NAME: Final = {scenario.name: scenario for scenario in SCENARIOS}
