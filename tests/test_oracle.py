"""The oracle against cases worked out by hand, and against other systems' joins."""

import random
from collections import Counter, deque
from datetime import datetime, timedelta
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest
from hypothesis import given

from streamjoin import oracle
from streamjoin.errors import ConfigError
from streamjoin.windows import Rows, rows
from tests.strategies import (
    CONDITIONS,
    COUNT_WINDOWS,
    SCHEMA_X,
    Case,
    Row,
    cases,
    result_ids,
    table,
)

TIME = ("t", "t")


def at(*times: int | None, k: int | None = 1) -> list[Row]:
    return [{"k": k, "t": t} for t in times]


def times(results: list[oracle.Result]) -> list[tuple[Any, Any]]:
    return [(a and a["t"], b and b["t"]) for a, b in results]


def matching(left: list[Row], right: list[Row], window: tuple[Any, Any]) -> list[tuple[Any, Any]]:
    pairs = oracle.window_join(left, right, on=[("k", "k")], time=TIME, window=window)
    return [(a["t"], b["t"]) for a, b in pairs]


def test_bounds_are_inclusive() -> None:
    """Left window 5, right window 3.

    left        10
    right  6 7      ...     15 16
           x |<- 3->|<- 5 ->|  x
    """
    assert matching(at(10), at(6, 7, 15, 16), (5, 3)) == [(10, 7), (10, 15)]


@pytest.mark.parametrize("nothing", [None, 0])
def test_a_side_without_a_window_only_probes(nothing: int | None) -> None:
    assert matching(at(10), at(9, 10, 11, 15), (nothing, 5)) == [(10, 9), (10, 10)]
    assert matching(at(10), at(9, 10, 11, 15), (5, nothing)) == [(10, 10), (10, 11), (10, 15)]


def test_datetimes() -> None:
    noon, second = datetime(2026, 1, 1, 12), timedelta(seconds=1)
    left, right = [{"k": 1, "t": noon}], [{"k": 1, "t": noon + i * second} for i in (-1, 0, 2)]
    found = matching(left, right, (second, None))
    assert found == [(noon, noon)]
    assert matching(left, right, (2 * second, second)) == [(noon, r["t"]) for r in right]


def test_count_windows() -> None:
    """The last two of the left, the last one of the right.

    left   1   3   5       8
    right    2       6 7     9
    """
    found = matching(at(1, 3, 5, 8), at(2, 6, 7, 9), (rows(2), rows(1)))
    assert sorted(found) == [
        (1, 2), (3, 2),          # 2 meets 1; 3 meets 2
        (3, 6), (3, 7),          # of 1 3 5 the last two
        (5, 2), (5, 6), (5, 7),  # 5 meets 2, the last of the right before it
        (5, 9), (8, 7), (8, 9),  # 8 meets 7; 9 meets 5 8
    ]  # fmt: skip


def test_count_windows_ties_go_to_the_left_and_then_by_arrival() -> None:
    left = [{"k": 1, "t": 5, "n": n} for n in "abc"]
    right = [{"k": 1, "t": 5, "n": n} for n in "xy"]
    pairs = oracle.window_join(left, right, on=[], time=TIME, window=(rows(1), rows(9)))
    assert [(a["n"], b["n"]) for a, b in pairs] == [("c", "x"), ("c", "y")]


def test_count_windows_count_null_keys_but_not_null_times() -> None:
    assert matching(at(1) + at(2, k=None), at(3), (rows(1), rows(1))) == []
    assert matching(at(1) + at(2, k=7), at(3), (rows(1), rows(1))) == []
    assert matching(at(1, None), at(3), (rows(1), rows(1))) == [(1, 3)]


def test_mixed_windows_the_earlier_tuple_decides() -> None:
    """Left: the last one. Right: 3 of time. A tie is decided by the left."""
    left, right = at(10, 20), at(7, 15, 18, 20, 99)
    assert matching(left, right, (rows(1), 3)) == [
        (10, 7), (10, 15), (10, 18), (20, 18), (20, 20), (20, 99)
    ]  # fmt: skip
    assert matching(at(10), at(10), (rows(1), None)) == [(10, 10)]
    assert matching(at(10), at(9), (rows(1), None)) == []


def test_where_must_be_true_not_null() -> None:
    def found(answer: bool | None) -> int:
        pairs = oracle.window_join(
            at(1), at(1), on=[], time=TIME, window=(1, 1), where=lambda a, b: answer
        )
        return len(pairs)

    assert [found(True), found(False), found(None)] == [1, 0, 0]


@pytest.mark.parametrize(
    ("direction", "nearest"),
    [("backward", [None, None, 10, 10, 17]), ("nearest", [10, None, 10, 10, 17])],
)
def test_asof(direction: str, nearest: list[int | None]) -> None:
    """Right window 4, left window 3; 12 lies between 10 and 14, and takes the earlier."""
    left, right = at(7, 6, 10, 12, 18), at(14, 10, 17, 22)
    found = oracle.join(
        left, right, on=[("k", "k")], time=TIME, window=(3, 4), how="asof", direction=direction
    )
    assert times(found) == list(zip([7, 6, 10, 12, 18], nearest, strict=True))


def test_asof_of_equal_times_takes_the_last_to_arrive() -> None:
    right = [{"k": 1, "t": 3, "n": n} for n in "abc"]
    for direction in ("backward", "nearest"):
        found = oracle.join(
            at(4), right, on=[("k", "k")], time=TIME, window=(5, 5), how="asof",
            direction=direction,
        )  # fmt: skip
        assert [b and b["n"] for _, b in found] == ["c"]


def answers(batches: Any, **said: Any) -> list[list[tuple[Any, Any]]]:
    said = {"on": [("k", "k")], "time": TIME, "window": (2, 3), "lateness": 0, **said}
    return [times(batch) for batch in oracle.answers(batches, **said)]


def test_rows_without_a_partner_come_with_the_batch_that_passes_their_window() -> None:
    """Left window 2, right window 3: 10 of the left waits for 12, 10 of the right for 13."""
    ticks = [(at(t, k=3), at(t, k=4)) for t in (12, 13, 14)]
    found = answers([(at(10, k=1), at(10, k=2)), *ticks], how="full")
    assert found[:-1] == [[], [], [(10, None)], [(None, 10)]]
    assert len(found[-1]) == 6


def test_rows_without_a_key_or_a_time_come_at_once_unless_late() -> None:
    batches = [
        (at(5, None) + at(6, k=None), at(50)),
        (at(90), []),
        (at(7, k=None) + at(None), []),
    ]
    assert answers(batches, how="anti") == [
        [(None, None), (6, None)], [(5, None)], [(None, None)], [(90, None)],
    ]  # fmt: skip


def test_a_semi_row_comes_once_with_its_first_pair() -> None:
    batches = [(at(10), []), ([], at(11)), ([], at(12))]
    assert answers(batches, how="semi") == [[], [(10, None)], [], []]


def test_with_count_windows_pairs_wait_for_the_watermark() -> None:
    """A row takes part when the watermark is later than it, not when it is equal."""
    batches = [(at(1, 4), at(2, 4)), ([], at(5)), (at(5), []), (at(6), at(6))]
    assert answers(batches, how="left", window=(rows(1), rows(1))) == [
        [(1, 2)],
        [],
        [(4, 2), (4, 4)],
        [(5, 4), (5, 5)],
        [(6, 5), (6, 6)],
    ]


def test_by_count_a_row_gives_up_when_n_later_rows_have_taken_part() -> None:
    left, right = at(1) + at(2, 3, k=2), at(9, k=3)
    batches = [(left, right), (at(4), []), (at(9), [])]
    window = (rows(2), rows(1))
    assert answers(batches, how="anti", window=window) == [
        [],                       # watermark 3: 1 and 2 have taken part
        [(1, None)],              # watermark 4: 3 has
        [(2, None)],              # watermark 9: 4 has
        [(3, None), (4, None), (9, None)],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("direction", "when"),
    [("backward", [[9], [10], [11], [12]]), ("nearest", [[], [], [9], [10, 11, 12]])],
)
def test_asof_rows_come_when_the_nearest_is_known(direction: str, when: list[list[int]]) -> None:
    """Left window 2: of "nearest" row 9 waits for a watermark above 11. They are 10, 11, 12."""
    batches = [(at(9, 10), at(10)), (at(11), at(12)), (at(12), at(13))]
    found = answers(batches, how="asof", direction=direction)
    assert [[a for a, _ in batch] for batch in found] == when


def test_idle_side_lets_go_and_ends_its_idleness() -> None:
    batches = [(at(10), at(10)), ([], at(20)), ([], at(30)), (at(15), []), (at(31), at(32))]
    marks = oracle.watermarks(
        batches, time=TIME, lateness=1, idle_timeout=5, clocks=[0, 6, 12, 18, 24]
    )
    assert marks == [9, 9, 29, 29, 30]
    _, late = oracle.split_late(
        batches, time=TIME, lateness=1, idle_timeout=5, clocks=[0, 6, 12, 18, 24]
    )
    assert late == (at(15), [])


def test_a_side_that_never_spoke_is_idle_in_the_end() -> None:
    batches: list[oracle.Batch] = [(at(5), []), (at(6), []), (at(7), [])]
    marks = oracle.watermarks(batches, time=TIME, lateness=0, idle_timeout=5, clocks=[0, 6, 12])
    assert marks == [None, None, 7]


def test_two_idle_sides_leave_the_larger_time() -> None:
    batches: list[oracle.Batch] = [(at(5), at(9)), ([], []), ([], [])]
    marks = oracle.watermarks(batches, time=TIME, lateness=0, idle_timeout=5, clocks=[0, 6, 7])
    assert marks == [5, 5, 9]


def streamed(case: Case) -> Counter[tuple[int, int]]:
    """Pairs found one tuple after the other, with what each stream remembers in a queue."""
    (left, right), _ = case.split_late()
    order = sorted(
        (row["t"], side, n, row)
        for side, stream in enumerate((left, right))
        for n, row in enumerate(stream)
        if row["t"] is not None
    )
    memory: list[deque[Row]] = [
        deque(maxlen=w.n if isinstance(w, Rows) else None) for w in case.window
    ]
    found: Counter[tuple[int, int]] = Counter()
    for now, side, _, row in order:
        length = case.window[1 - side]
        for other in memory[1 - side]:
            a, b = (row, other) if side == 0 else (other, row)
            near = isinstance(length, Rows) or now - other["t"] <= (length or 0)
            same = not case.keyed or (a["k"] is not None and a["k"] == b["k"])
            if near and same and (case.where is None or case.where.test(a, b)):
                found[a["id"], b["id"]] += 1
        memory[side].append(row)
    return found


@given(cases(COUNT_WINDOWS))
def test_pairs_are_those_of_a_tuple_at_a_time(case: Case) -> None:
    assert Counter((a["id"], b["id"]) for a, b in case.pairs()) == streamed(case)


@given(cases())
def test_the_batches_together_are_the_whole_answer(case: Case) -> None:
    """When rows come is one question, which rows come is another."""
    (left, right), _ = case.split_late()
    whole = oracle.join(left, right, **case.settings(), how=case.how, direction=case.direction)
    assert sum(case.answers(), Counter()) == result_ids(whole)


def streams(seed: int) -> tuple[list[Row], list[Row]]:
    rng = random.Random(seed)
    left, right = (
        [
            {"k": rng.choice([None, 0, 1, 2, 3]), "t": rng.randrange(150), "id": 1000 * side + i,
             "s": "", "x": rng.choice([None, *range(-3, 9)])}
            for i in range(60)
        ]
        for side in (0, 1)
    )  # fmt: skip
    return left, right


SQL = {"inner": "JOIN", "left": "LEFT JOIN", "right": "RIGHT JOIN", "full": "FULL JOIN",
       "semi": "SEMI JOIN", "anti": "ANTI JOIN"}  # fmt: skip


@pytest.mark.parametrize("how", SQL)
@pytest.mark.parametrize("where", CONDITIONS, ids=lambda c: c.text if c else "any")
def test_types_are_those_of_duckdb(how: str, where: Any) -> None:
    left, right = streams(7)
    case = Case([(left, right)], (9, 4), how, where=where)
    a, b = table(left, SCHEMA_X), table(right, SCHEMA_X)  # noqa: F841 (DuckDB reads them by name)
    ids = '"left".id, NULL' if how in ("semi", "anti") else '"left".id, "right".id'
    text = where.text.replace("left.", '"left".').replace("right.", '"right".') if where else "true"
    query = f"""
        SELECT {ids} FROM a AS "left" {SQL[how]} b AS "right"
        ON "left".k = "right".k AND {text} AND "left".t - "right".t
        BETWEEN -INTERVAL 9 MICROSECONDS AND INTERVAL 4 MICROSECONDS
    """
    assert sum(case.answers(), Counter()) == Counter(duckdb.execute(query).fetchall())


def test_asof_is_that_of_pandas() -> None:
    left, right = streams(8)
    case = Case([(left, right)], (1, 6), "asof")
    frames = [
        pd.DataFrame([r for r in stream if r["k"] is not None])[["k", "t", "id"]]
        .sort_values("t", kind="stable")
        for stream in (left, right)
    ]  # fmt: skip
    merged = pd.merge_asof(
        frames[0], frames[1], on="t", by="k", tolerance=6, suffixes=("", "_right")
    )
    ids = merged["id_right"].astype(object).where(merged["id_right"].notna(), None)
    expected = Counter(zip(merged["id"], ids, strict=True))
    expected.update((r["id"], None) for r in left if r["k"] is None)
    assert sum(case.answers(), Counter()) == expected


@pytest.mark.parametrize("n", [0, -1, True, 2.0, "5", None])
def test_rows_refuses(n: Any) -> None:
    with pytest.raises(ConfigError, match=r"^window: got rows\(.*\); allowed: rows\(n\)"):
        rows(n)


def test_rows_takes_any_whole_number() -> None:
    n: Any = np.int64(3)
    assert rows(n) == Rows(3)
    assert type(rows(n).n) is int
