"""Joins of two streams whose checkpoints are kept: every type, every window, every budget."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin import oracle
from streamjoin.windows import Rows
from tests.spark.streams import read_stream
from tests.system.upgrade.checks import (
    Found,
    as_if_never_stopped,
    at_most,
    at_once,
    books,
    exact,
    part_of,
    same_sums,
)
from tests.system.upgrade.inputs import (
    BATCHES,
    BEFORE,
    FOREVER,
    HOT,
    SECOND,
    read_batches,
    read_rows,
    watermark,
)
from tests.system.upgrade.story import Case, Check, Story, flat, in_folder

LATENESS: Final = 10 * SECOND
WINDOW: Final = 8 * SECOND
LONG: Final = 15 * SECOND
"""So long that a row meets those of three batches."""
MEMORY, MEMORY_BYTES = 60, 12_000
Window = tuple[int | Rows, int | Rows]
Condition = tuple[str, Callable[[oracle.Row, oracle.Row], bool]]
BAND: Final[Condition] = ("abs(left.y - right.y) <= 1", lambda a, b: abs(a["y"] - b["y"]) <= 1)


def two(
    *stored: str,
    streams: str = "ab",
    on: str | None = "x",
    where: Condition | None = None,
    window: Window = (WINDOW, WINDOW),
    how: str = "inner",
    checks: tuple[Check, ...] = (),
    needs: tuple[Check, ...] = (),
    **said: Any,
) -> Case:
    """A case that the oracle judges; `said` are other arguments of the join."""
    columns = ("n",) if how in ("semi", "anti") else ("n_left", "n_right")

    def join(spark: SparkSession, base: Path) -> DataFrame:
        left, right = (read_stream(spark, base / name) for name in streams)
        one, other = (w if isinstance(w, Rows) else f"{w} us" for w in window)
        return sj.join(
            left, right, on=on, where=where and where[0], how=how, time="t", window=(one, other),
            lateness=f"{LATENESS} us", **in_folder({"shards": 2, **said}, base),
        )  # fmt: skip

    def expected(base: Path) -> Found:
        """All that has come after the last batch, but not what the end of time would bring."""
        batches = zip(*(read_batches(base, name) for name in streams), strict=True)
        came = oracle.answers(
            batches, on=[] if on is None else [(on, on)], time=("t", "t"), window=window,
            where=where and where[1], how=how, direction=said.get("direction", "backward"),
            lateness=LATENESS,
        )[:-1]  # fmt: skip
        numbers = ([None if row is None else row["n"] for row in pair] for pair in flat(came))
        return Counter(tuple(pair[: len(columns)]) for pair in numbers)

    judged: tuple[Check, ...] = (exact(expected),)
    if "budget" in said:
        called = dict(zip(streams, ("left", "right"), strict=True))
        judged = part_of(expected), books(called, "pairs")
    keeps_whole = as_if_never_stopped in checks or same_as_whole in checks
    return Case(join, streams, columns, (*judged, *checks), stored, needs, keeps_whole=keeps_whole)


def same_as_whole(story: Story) -> None:
    """Comparisons that were made and that were left out are together those of the exact join."""
    for side in ("left", "right"):
        same_sums(f"compared_{side}", f"skipped_{side}")(story)


def _partners(story: Story, streams: str, window: int) -> dict[int, list[int]]:
    """Right rows that each left row matches."""
    left, right = (read_rows(story.base, name) for name in streams)
    size = (window, window)
    met: dict[int, list[int]] = {}
    for a, b in oracle.window_join(left, right, on=[("x", "x")], time=("t", "t"), window=size):
        met.setdefault(a["n"], []).append(b["n"])
    return met


def _open_at_stop(story: Story, streams: str, window: int) -> set[int]:
    """Left rows whose windows were open when the query was stopped, and are closed in the end."""
    left, right = (read_batches(story.base, name) for name in streams)
    at_stop, at_end = (
        watermark([flat(left[:n]), flat(right[:n])], LATENESS) for n in (BEFORE, BATCHES)
    )
    rows = flat(left[:BEFORE])
    return {row["n"] for row in rows if at_stop <= row["t"] + window < at_end}


def _marked_later(story: Story) -> dict[int, list[int]]:
    """Of rows that were stored as they had not matched, and have then: all that they match."""
    return {
        n: partners
        for n, partners in _partners(story, "cb", LONG).items()
        if n < 1000 <= min(partners) < 1000 * BEFORE
    }


def marks_of_full(story: Story) -> None:
    """A row has matched before the stop, and only then, and its window was still open."""
    met = _partners(story, "ab", WINDOW)
    assert any(max(met.get(n, [10**9])) < 1000 * BEFORE for n in _open_at_stop(story, "ab", WINDOW))


def marks_of_anti(story: Story) -> None:
    """A row was marked before the stop, and would come out afterwards if it were not."""
    assert _marked_later(story).keys() & _open_at_stop(story, "cb", LONG)


def marks_of_semi(story: Story) -> None:
    """A row was marked before the stop, and would come out again if it were not."""
    assert any(max(partners) >= 1000 * BEFORE for partners in _marked_later(story).values())


def spread_rows(story: Story) -> None:
    """The key was spread before the stop, and rows that were wait for others."""
    assert story.before.counts[-1]["hot_keys"] == 1
    assert list((story.base / "hot_keys").rglob("*.json"))
    left, right = ({r["n"] for r in read_rows(story.base, s) if r["x"] == HOT} for s in "hk")
    pairs = flat(story.after.results)
    batches = {(a // 1000, b // 1000) for a, b in pairs if a in left and b in right}
    assert (BEFORE - 1, BEFORE) in batches


def _budget(*checks: Check, needs: Check, **said: Any) -> Case:
    return two("on", "no", streams="lr", checks=checks, needs=(needs,), hot_keys=False, **said)


WINDOW_CASES: Final[dict[str, Case]] = {
    "inner": two("on", "no"),
    "full": two("on", "no", "o-", "-o", how="full", needs=(marks_of_full,)),
    "semi": two(
        "o", "n", streams="cb", window=(LONG, LONG), how="semi", needs=(marks_of_semi,)
    ),
    "anti": two("o", streams="cb", window=(LONG, LONG), how="anti", needs=(marks_of_anti,)),
    "rows": two("oo", "on", "no", window=(Rows(15), Rows(10))),
    "rows_left": two("oo", "o-", window=(Rows(15), WINDOW), how="left"),
    "asof": two("oo", "o-", "no", window=(0, WINDOW), how="asof", direction="backward"),
    "asof_nearest": two("oo", "on", "o-", how="asof", direction="nearest"),
    "grid": two("on", "no", on=None, where=BAND, shards=4, idle_timeout=FOREVER),
    "hot_keys": two(
        "on", "no", streams="hk", window=(SECOND // 5, SECOND // 5), hot_keys=Path,
        needs=(spread_rows,),
    ),
    "selective": _budget(
        same_as_whole, needs=at_once("skipped_left", "skipped_right"),
        budget=sj.Budget(cpu="4 ms"), shed=["selective", "lag"],
    ),
    "drop": _budget(
        needs=at_once("dropped_left", "dropped_right"), budget=sj.Budget(cpu="8 ms"), shed="drop"
    ),
    "rate": _budget(
        as_if_never_stopped, needs=at_once("dropped_left", "dropped_right"),
        budget=sj.Budget(rate=8), shed="drop",
    ),
    "memory": _budget(
        as_if_never_stopped, at_most("state_rows", MEMORY), needs=at_once("cut_left", "cut_right"),
        budget=sj.Budget(memory=sj.rows(MEMORY)), shed="drop", split="equal",
    ),
    "memory_bytes": _budget(
        at_most("state_bytes", MEMORY_BYTES), needs=at_once("cut_left", "cut_right"),
        budget=sj.Budget(memory=f"{MEMORY_BYTES} B"), shed="drop",
    ),
}  # fmt: skip
"""What a budget of CPU leaves out follows from what is measured, so only the batch that is run
again must give the same; with one of rows or memory all is as if the query had not been stopped."""
