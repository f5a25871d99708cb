"""Joins that are explained, with all that could differ between machines fixed.

The session has two cores, costs are those built in, and every join says its shards. What cannot be
said is replaced: `fixed` says what.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj

EXAMPLES = Path(__file__).parents[2] / "examples"
PEOPLE = 60_000
DIGITS = 6
LONGER_THAN_A_LINE = "a_folder_whose_name_is_longer_than_a_line" * 3
"""So its path is a line of its own, and lines break alike wherever the folder is."""

SCRATCH = re.compile(r"\bstreamjoin-\w{8}\b")
"""A temporary folder, in which a file's query would keep what it has not said where to keep."""


@dataclass(frozen=True)
class Inputs:
    """What joins are made of: streams, and a folder with the table ``people``."""

    spark: SparkSession
    folder: Path

    @property
    def calls(self) -> DataFrame:
        return self._stream("timestamp AS called_at", "double(value) AS seconds")

    @property
    def trades(self) -> DataFrame:
        return self._stream("timestamp AS traded_at", "double(value) AS price")

    @property
    def ticks(self) -> DataFrame:
        return self._stream("timestamp AS t")

    @property
    def people(self) -> Path:
        return self.folder / "people.parquet"

    def _stream(self, *columns: str) -> DataFrame:
        rows = self.spark.readStream.format("rate").load()
        shared = "value AS person", "string(value) AS note", "split(string(value), '') AS tags"
        return rows.selectExpr(*shared, *columns)


Made = Callable[[Inputs], DataFrame | Path]


@dataclass(frozen=True)
class Case:
    """How a join is made, and what is said of its streams."""

    made: Made
    rates: Any = None
    selectivities: Any = None

    def explain(self, inputs: Inputs) -> Any:
        frame = self.made(inputs)
        return sj.explain(frame, rates=self.rates, selectivities=self.selectivities)


def window(**settings: Any) -> Made:
    """A join of two streams."""
    usual = {
        "time": ("called_at", "traded_at"), "window": ("10 minutes", "2 minutes"),
        "lateness": "30 seconds", "idle_timeout": "5 minutes", "shards": 2,
    }  # fmt: skip
    return lambda inputs: sj.join(inputs.calls, inputs.trades, **{**usual, **settings})


def many(names: str = "abcd", **settings: Any) -> Made:
    """A join of many streams."""
    usual = {
        "on": "person", "time": "t", "window": "10 seconds", "lateness": "2 seconds", "shards": 2
    }  # fmt: skip
    return lambda inputs: sj.multi_join(
        {name: inputs.ticks.select("person", "note", "t") for name in names},
        **{**usual, **settings},
    )


def table(copy: bool = False, unique: bool = True, **settings: Any) -> Made:
    """A join with a table."""

    def made(inputs: Inputs) -> DataFrame:
        people = sj.parquet_table(inputs.people, key="id", unique=unique, copy=copy)
        stream = inputs.ticks.select("person", "t")
        folder = inputs.folder / "index"
        usual: dict[str, Any] = {"on": {"person": "id"}, "index_folder": folder, "shards": 2}
        return sj.table_join(stream, people, **{**usual, **settings})

    return made


def two_after_another(inputs: Inputs) -> DataFrame:
    """Two joins of a DataFrame."""
    first = window(on="person", name="first")(inputs)
    assert isinstance(first, DataFrame)
    calls = first.selectExpr("person", "called_at AS t").filter("person > 3")
    return sj.join(
        calls, inputs.ticks.select("person", "t"), on="person", time="t", window="1 minute",
        how="left", name="second", shards=2,
    )  # fmt: skip


def batch(inputs: Inputs) -> DataFrame:
    """A join of two DataFrames that are no streams."""
    rows = inputs.spark.range(3).selectExpr("id AS person", "timestamp_seconds(id) AS t")
    return sj.join(rows, rows, on="person", time="t", window="1 minute", how="full", shards=2)


def query(inputs: Inputs) -> DataFrame:
    """A SQL query."""
    text = """
        SELECT c.person, t.price * 2 AS twice
        FROM calls c JOIN trades t ON c.person = t.person
        WHERE c.seconds > 30 AND t.price > c.seconds AND t.note LIKE 'a%' AND upper(c.note) < t.note
        WINDOW 10 MINUTES FRESHNESS 12 MINUTES LATENESS 5 SECONDS
    """
    return sj.sql(text, {"calls": inputs.calls, "trades": inputs.trades}, shards=2)


def example(name: str) -> Made:
    """A file of the examples: its streams are generated, so a sample tells about them."""
    return lambda _: EXAMPLES / name


SEVERAL_KEYS = ["a.person = b.person", "b.person = c.person", "c.note = d.note"]
RATES = {"a": 300.0, "b": 100.0, "c": 50.0, "d": 10.0}
NEAR = "abs(left.seconds - right.price) <= 5"
TWO = {"rates": (200, 100), "selectivities": 0.001}

CASES = {
    "window_inner": Case(window(on="person"), **TWO),
    "window_inner_spread": Case(
        window(on="person", hot_keys="/shared/keys", late_rows="/shared/late", algorithm="hash"),
        rates=(200, 100),
    ),
    "window_nothing_known": Case(window(on="person", idle_timeout=None, lateness="0 seconds")),
    "window_cross": Case(window(window="1 minute"), rates=(2000, 2000), selectivities=1),
    "window_left_outer": Case(
        window(on="person", how="left", where="left.seconds < right.price"), **TWO
    ),
    "window_semi": Case(window(on="person", how="semi", invalidation="lazy"), **TWO),
    "window_anti": Case(window(on="person", how="anti", window=("20 seconds", None)), **TWO),
    "window_asof": Case(window(on="person", how="asof", direction="nearest"), **TWO),
    "window_counted": Case(window(on="person", window=(sj.rows(5000), "3 seconds")), **TWO),
    "window_band": Case(window(where=f"{NEAR} AND left.note LIKE 'a%'"), **TWO),
    "window_sets": Case(window(where="overlap(left.tags, right.tags) >= 2"), **TWO),
    "window_freshness": Case(window(on="person", freshness=("15 minutes", None)), **TWO),
    "window_selective": Case(
        window(
            where="left.seconds < right.price", window=("20 seconds", "10 seconds"),
            budget=sj.Budget(cpu=0.5), split="ra+tc", utility=("seconds", None), weights=True,
        ),
        rates=(2000, 1000),
    ),
    "window_drop": Case(
        window(on="person", budget=sj.Budget(rate=1000), split="rate"), rates=(2000, 500)
    ),
    "window_memory": Case(
        window(on="person", budget=sj.Budget(cpu=0.25, memory="1 MB")), rates=(2000, 500)
    ),
    "window_rate_and_memory": Case(
        window(
            on="person", budget=sj.Budget(rate=1000, memory=sj.rows(10_000)), split="right/left"
        ),
        rates=(2000, 500),
    ),
    "window_batch": Case(batch),
    "window_two_joins": Case(two_after_another, rates={"second": (5, 5)}),
    "many_nothing_known": Case(many()),
    "many_tree": Case(
        many(plan="(a b) (c d)", freshness="12 seconds"), RATES, {"a b": 0.002, "c d": 0.01}
    ),
    "many_mjoin": Case(many(strategy="mjoin", order="round-robin"), RATES, 0.001),
    "many_different_keys": Case(many(on=SEVERAL_KEYS, where="a.note < d.note"), RATES, 0.001),
    "many_different_keys_mjoin": Case(
        many(on=SEVERAL_KEYS, strategy="mjoin", shards=4), RATES, 0.001
    ),
    "many_budget": Case(
        many(
            plan="((a b) c) d", states={"a b": sj.rows(500), "a b c": sj.rows(200)},
            freshness={"a": "12 seconds"}, budget=sj.Budget(rate=300),
        ),
        RATES,
    ),
    "many_cpu": Case(many("abc", budget=sj.Budget(cpu="1 ms")), {n: RATES[n] for n in "abc"}),
    "table_auto": Case(table(copy=True, how="left", budget=sj.Budget(memory="1 MB"))),
    "table_inlj": Case(table(algorithm="inlj")),
    "table_hybridjoin": Case(
        table(
            algorithm="chybridjoin", unique=False, max_wait="5 seconds", refresh=None,
            budget=sj.Budget(memory="5 KB"),
        )
    ),
    "table_meshjoin": Case(table(algorithm="meshjoin", on_failure="stale")),
    "table_budget": Case(table(budget=sj.Budget(memory="1 MB", cpu=0.5), shed="upfront")),
    "query": Case(query, rates=(200, 100)),
    "file_budget": Case(example("calls_and_trades_on_a_budget.toml")),
    "file_query": Case(example("called_twice.sql")),
}  # fmt: skip


def write_people(folder: Path) -> None:
    """The table of the joins with one."""
    people = pa.table({"id": range(PEOPLE), "name": ["x" * 100] * PEOPLE})
    pq.write_table(people, folder / "people.parquet", row_group_size=10_000)


def files_of(case: str) -> tuple[str, str]:
    """The golden files of a case."""
    return f"explain/{case}.txt", f"explain/{case}.json"


def explained(case: str, inputs: Inputs) -> dict[str, str]:
    """What is said of a join, by golden file."""
    found = CASES[case].explain(inputs)
    values = json.loads(found.to_json(), parse_float=_rounded)
    texts = str(found), json.dumps(values, indent=2, ensure_ascii=False)
    return dict(zip(files_of(case), (fixed(text, inputs.folder) for text in texts), strict=True))


def _rounded(text: str) -> float:
    """A number without the digits in which processors may differ: sums depend on their order."""
    return float(f"{float(text):.{DIGITS}g}")


def fixed(text: str, folder: Path) -> str:
    """A text without the folders that this run was given; the rest must be alike by itself."""
    return SCRATCH.sub("<scratch>", text.replace(str(folder), "<folder>")) + "\n"
