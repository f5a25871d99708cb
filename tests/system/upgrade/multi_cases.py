"""Joins of many streams whose checkpoints are kept: trees, chains, n-ary joins, budgets."""

from collections import Counter
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin import oracle
from streamjoin.windows import Rows
from tests.spark.streams import read_stream
from tests.system.upgrade.checks import (
    Expected,
    Found,
    as_if_never_stopped,
    at_once,
    books,
    exact,
    part_of,
    probes,
)
from tests.system.upgrade.inputs import BEFORE, FOREVER, SECOND, read_rows, watermark
from tests.system.upgrade.story import Case, Check, Story, flat, in_folder

STREAMS: Final = "abc"
WINDOW: Final = 8 * SECOND
LATENESS: Final = 10 * SECOND
COLUMNS: Final = ("a_n", "b_n", "c_n")
ON_X: Final = ["a.x = b.x", "b.x = c.x"]
ON_Y: Final = ["a.y = b.y", "b.y = c.y"]
"""Of which there are fewer keys, hence more results."""
ON_TWO_KEYS: Final = ["a.x = b.x", "b.y = c.y"]
"""As a tree: two operators, one after the other."""
PLAN: Final = "(a b) c"


def many(
    *stored: str, checks: tuple[Check, ...], needs: tuple[Check, ...] = (), **said: Any
) -> Case:
    """A case; `said` are arguments of the join."""

    def join(spark: SparkSession, base: Path) -> DataFrame:
        streams = {name: read_stream(spark, base / name) for name in STREAMS}
        return sj.multi_join(
            streams, time="t", lateness=f"{LATENESS} us", shards=2,
            **in_folder({"window": f"{WINDOW} us", **said}, base),
        )  # fmt: skip

    keeps_whole = as_if_never_stopped in checks
    return Case(join, STREAMS, COLUMNS, checks, stored, needs, keeps_whole=keeps_whole)


def results(on: list[str], window: int | Rows = WINDOW) -> Expected:
    """What the oracle says of a join; where rows count, of those that the watermark has passed."""
    equal: Any = [[tuple(end.split(".")) for end in text.split(" = ")] for text in on]

    def expected(base: Path) -> Found:
        rows = {name: read_rows(base, name) for name in STREAMS}
        time, windows = dict.fromkeys(STREAMS, "t"), dict.fromkeys(STREAMS, window)
        found = oracle.multi_join(rows, on=equal, time=time, window=windows)
        if isinstance(window, Rows):
            passed = watermark(list(rows.values()), LATENESS)
            found = [one for one in found if max(row["t"] for row in one.values()) < passed]
        return Counter(tuple(one[name]["n"] for name in STREAMS) for one in found)

    return expected


def old_results(story: Story) -> None:
    """A result after the stop was formed in part long before: its first rows are out of windows."""
    times = {name: {r["n"]: r["t"] for r in read_rows(story.base, name)} for name in STREAMS}
    ages = [
        times["c"][c] - min(times["a"][a], times["b"][b])
        for a, b, c in flat(story.after.results)
        if max(a, b) < 1000 * BEFORE
    ]
    assert max(ages) > WINDOW


def _within_budget(on: list[str], *more: Check) -> tuple[Check, ...]:
    return part_of(results(on)), books({name: name for name in STREAMS}, "rows_out"), *more


_SKIPS: Final = (at_once(*(f"skipped_{name}" for name in (*STREAMS, "intermediate"))),)
_ON_ONE: Final = (exact(results(ON_X)),)
_ON_TWO: Final = (exact(results(ON_TWO_KEYS)),)

MULTI_CASES: Final[dict[str, Case]] = {
    "plan": many("oon", "noo", on=ON_TWO_KEYS, plan=PLAN, checks=_ON_TWO),
    "tree": many("oon", "noo", on="x", plan=PLAN, idle_timeout=FOREVER, checks=_ON_ONE),
    "nary": many("oon", "noo", on="x", strategy="mjoin", checks=_ON_ONE),
    "nary_grid": many("oon", "noo", on=ON_TWO_KEYS, strategy="mjoin", checks=_ON_TWO),
    "auto": many("oon", "noo", on="x", strategy="auto", checks=_ON_ONE),
    "multi_rows": many(
        "ooo", "noo", on="x", plan=PLAN, window=Rows(20),
        checks=(exact(results(ON_X, Rows(20))),),
    ),
    "states": many(
        "oon", on="y", plan=PLAN, states={"a b": Rows(60)},
        checks=(as_if_never_stopped,), needs=(old_results,),
    ),
    "multi_cpu": many(  # so little that nothing probes once it is known what receiving rows takes
        on="y", plan=PLAN, budget=sj.Budget(cpu="1 ms"),
        checks=_within_budget(ON_Y, probes(STREAMS)), needs=_SKIPS,
    ),
    "multi_rate": many(
        "oon", on="y", plan=PLAN, budget=sj.Budget(rate=6), shared=Path, needs=_SKIPS,
        checks=_within_budget(ON_Y, probes(STREAMS), as_if_never_stopped),
    ),
    "chain_rate": many(
        "oon", on=ON_TWO_KEYS, plan=PLAN, budget=sj.Budget(rate=6), shared=Path,
        checks=(part_of(results(ON_TWO_KEYS)), as_if_never_stopped),
    ),
}  # fmt: skip
