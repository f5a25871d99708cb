"""Hypothesis strategies: two streams of rows, how they are cut into batches, and joins of them."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from streamjoin import oracle
from streamjoin.windows import Rows, rows

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "id": pa.int64(), "s": pa.string()})
SCHEMA_X = SCHEMA.append(pa.field("x", pa.int64()))
Row = dict[str, Any]
Ids = Counter[tuple[int | None, int | None]]
"""Results by the `id` of their left and right rows; None where there is no such row."""
Size = int | Rows | None
"""A window: microseconds, or a number of rows, or none at all."""

HOWS = ("inner", "left", "right", "full", "semi", "anti")

FEW = settings(max_examples=20)
"""For properties that look at one aspect of many."""
EACH = settings(max_examples=30)
"""For a property that is tried for each type of join."""


@dataclass(frozen=True)
class Scenario:
    """Two streams cut into the same number of batches, and the join's lengths of time."""

    batches: list[tuple[list[Row], list[Row]]]
    window: tuple[int, int]
    lateness: int


def _rows(draw: st.DrawFn, side: int, n_keys: int, skew: bool) -> list[Row]:
    n = draw(st.integers(0, 30))
    rows = []
    now = 0
    for i in range(n):
        now += draw(st.integers(0, 4))  # zero: ties
        hot = skew and draw(st.booleans())
        key = 0 if hot else draw(st.none() | st.integers(0, n_keys))
        back = draw(st.integers(0, 12))
        time = draw(st.none()) if draw(st.integers(0, 19)) == 0 else max(0, now - back)
        rows.append({"k": key, "t": time, "id": 1000 * side + i, "s": f"row {i}"})
    return rows


def _cut(draw: st.DrawFn, rows: list[Row], n_batches: int) -> list[list[Row]]:
    cuts = sorted(draw(st.integers(0, len(rows))) for _ in range(n_batches - 1))
    edges = [0, *cuts, len(rows)]
    return [rows[a:b] for a, b in pairwise(edges)]


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    """Draw disorder, ties, duplicates, null keys and times, empty sides, skew, random cuts."""
    n_keys, skew = draw(st.integers(0, 5)), draw(st.booleans())
    n_batches = draw(st.integers(1, 6))
    left, right = (_cut(draw, _rows(draw, s, n_keys, skew), n_batches) for s in (0, 1))
    window = draw(st.integers(1, 25)), draw(st.integers(1, 25))
    return Scenario(list(zip(left, right, strict=True)), window, draw(st.integers(0, 15)))


def table(rows: list[Row], schema: pa.Schema = SCHEMA) -> pa.Table:
    """Rows as an Arrow table; times are microseconds."""
    return pa.table(
        {f.name: pa.array([r[f.name] for r in rows], f.type) for f in schema}, schema=schema
    )


@dataclass(frozen=True)
class Condition:
    """The same condition as SQL and as Python."""

    text: str
    test: Callable[[oracle.Row, oracle.Row], bool | None]


def _known(test: Callable[[int, int], bool]) -> Callable[[oracle.Row, oracle.Row], bool | None]:
    """Null if one of the two values is null."""
    return lambda a, b: None if a["x"] is None or b["x"] is None else test(a["x"], b["x"])


CONDITIONS = (
    None,
    Condition("abs(left.x - right.x) <= 3", _known(lambda x, y: abs(x - y) <= 3)),
    Condition("left.x < right.x", _known(lambda x, y: x < y)),
    Condition("left.x + right.x > 4 AND right.x <> 2", _known(lambda x, y: x + y > 4 and y != 2)),
)


@dataclass(frozen=True)
class Case:
    """Two streams cut into batches, and every argument of a join of them.

    Rows have the columns of `SCHEMA_X`; `id` is unique. Lengths of time are microseconds.
    """

    batches: Sequence[tuple[list[Row], list[Row]]]
    window: tuple[Size, Size]
    how: str = "inner"
    keyed: bool = True
    where: Condition | None = None
    direction: str = "backward"
    lateness: int = 0
    idle_timeout: int | None = None
    clocks: Sequence[int] = ()

    def arguments(self) -> dict[str, Any]:
        """What a user would write."""
        said: dict[str, Any] = {"on": "k"} if self.keyed else {}
        if self.where is not None:
            said["where"] = self.where.text
        if self.how == "asof":
            said["direction"] = self.direction
        if self.idle_timeout is not None:
            said["idle_timeout"] = timedelta(microseconds=self.idle_timeout)
        window = tuple(timedelta(microseconds=w) if isinstance(w, int) else w for w in self.window)
        lateness = timedelta(microseconds=self.lateness)
        return {"how": self.how, "time": "t", "window": window, "lateness": lateness, **said}

    def split_late(self, *, may_idle: bool = True) -> tuple[Any, Any]:
        """((left, right) rows in time, (left, right) rows too late)."""
        timeout = self.idle_timeout if may_idle else None
        return oracle.split_late(
            self.batches, time=("t", "t"), lateness=self.lateness,
            idle_timeout=timeout, clocks=self.clocks,
        )  # fmt: skip

    def settings(self) -> dict[str, Any]:
        """What the oracle calls a match."""
        return {
            "on": [("k", "k")] if self.keyed else [],
            "time": ("t", "t"),
            "window": self.window,
            "where": self.where.test if self.where else None,
        }

    def pairs(self) -> list[oracle.Pair]:
        """The pairs that match, whatever the type of the join."""
        (left, right), _ = self.split_late()
        return oracle.window_join(left, right, **self.settings())

    def answers(self) -> list[Ids]:
        """What the oracle says comes in each batch, and what comes at the end."""
        found = oracle.answers(
            self.batches, **self.settings(), how=self.how, direction=self.direction,
            lateness=self.lateness, idle_timeout=self.idle_timeout, clocks=self.clocks,
        )  # fmt: skip
        return [result_ids(batch) for batch in found]


def result_ids(results: Sequence[oracle.Result]) -> Ids:
    """The oracle's results by the ids of their rows."""
    return Counter((a["id"] if a else None, b["id"] if b else None) for a, b in results)


FEW_OR_MANY = st.integers(1, 4) | st.integers(4, 8)
TIMES = st.integers(1, 8) | st.integers(1, 25)
COUNTS = st.integers(1, 8).map(rows)
NONE: st.SearchStrategy[Size] = st.sampled_from([None, 0])
TIME_WINDOWS: st.SearchStrategy[tuple[Size, Size]] = (
    st.tuples(TIMES, TIMES) | st.tuples(TIMES, NONE) | st.tuples(NONE, TIMES)
)
COUNT_WINDOWS: st.SearchStrategy[tuple[Size, Size]] = st.tuples(
    COUNTS, COUNTS | TIMES | NONE
) | st.tuples(COUNTS | TIMES | NONE, COUNTS)


@st.composite
def cases(
    draw: st.DrawFn,
    window: st.SearchStrategy[tuple[Size, Size]] = TIME_WINDOWS | COUNT_WINDOWS,
    *,
    how: str | None = None,
    idle: bool = False,
    batches: st.SearchStrategy[int] = FEW_OR_MANY,
) -> Case:
    """Draw streams as `scenarios` does, with a number `x` to compare, and a join of them."""
    n_keys, skew = draw(st.integers(0, 3)), draw(st.booleans())
    n_batches = draw(batches)
    keys = st.none() | st.integers(0, n_keys) | (st.just(0) if skew else st.nothing())
    sides = [_cut(draw, _stream(draw, side, keys), n_batches) for side in (0, 1)]
    if idle:
        side = draw(st.integers(0, 1))
        sides[side] = _silenced(draw, sides[side])
    how = how or draw(st.sampled_from(HOWS))
    steps = draw(st.lists(st.integers(0, 10), min_size=n_batches, max_size=n_batches))
    return Case(
        batches=list(zip(*sides, strict=True)),
        window=draw(window),
        how=how,
        keyed=draw(st.booleans()),
        where=None if how == "asof" else draw(st.sampled_from(CONDITIONS)),
        direction=draw(st.sampled_from(["backward", "nearest"])),
        lateness=draw(st.integers(0, 3) | st.integers(0, 15)),
        idle_timeout=draw(st.integers(1, 5) | st.integers(1, 15)) if idle else None,
        clocks=list(accumulate(steps)),
    )


def _silenced(draw: st.DrawFn, batches: list[list[Row]]) -> list[list[Row]]:
    """Hold back some batches, and let their rows come together with those of the next."""
    start, stop = sorted(draw(st.integers(0, len(batches))) for _ in range(2))
    held = [row for batch in batches[start:stop] for row in batch]
    silent: list[list[Row]] = [[] for _ in batches[start:stop]]
    rest = batches[stop:]
    return [*batches[:start], *silent, held + rest[0], *rest[1:]] if rest else batches


def _stream(draw: st.DrawFn, side: int, keys: st.SearchStrategy[int | None]) -> list[Row]:
    """Rows drawn as one list: a failing example shrinks to the few that matter."""
    steps, backs, is_null = st.integers(0, 4), st.integers(0, 12), st.integers(0, 19)
    fact = st.tuples(steps, backs, is_null, keys, st.none() | st.integers(-3, 8))
    facts = draw(st.lists(fact, max_size=20) | st.lists(fact, min_size=10, max_size=20))
    latest = accumulate(step for step, *_ in facts)
    return [
        {
            "k": key,
            "t": None if null == 19 else max(0, now - back),
            "id": 1000 * side + i,
            "s": f"row {i}",
            "x": x,
        }
        for i, (now, (_, back, null, key, x)) in enumerate(zip(latest, facts, strict=True))
    ]
