import json
from base64 import b64decode
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from streamjoin.dashboard.history import (
    MOST_ENTRIES,
    MOST_JOINS,
    STEPS,
    History,
    JoinHistory,
    join_document,
    query_document,
)
from streamjoin.dashboard.points import Point, grouped
from streamjoin.metrics import BasicWindows, InputMetrics, JoinMetrics
from streamjoin.metrics.records import BatchDone, Decision, Ended, Record, Started
from tests.dashboard.recordings import NOON, exact, of_three_streams, overloaded, with_table


def history_of(*records: Record) -> History:
    history = History()
    for record in records:
        history.add(record)
    return history


def test_points_add_up_to_what_the_metrics_add_up_to() -> None:
    batches = [record.metrics for record in overloaded(60) if isinstance(record, BatchDone)]
    total = batches[0]
    point = Point.from_batch(batches[0], 1.0)
    for batch in batches[1:]:
        total += batch
        point.add(Point.from_batch(batch, 1.0))
    values = dict(point.values())
    assert total.recall is not None
    assert total.recall_interval is not None
    low, high = total.recall_interval
    assert point.recall() == pytest.approx((low, total.recall, high))
    assert values["out"] == pytest.approx(total.rows_out / 60)
    assert values["batch"] == pytest.approx(total.seconds / 60)
    assert values["cpu"] == pytest.approx(total.cpu_us / 60e6)
    for one in total.inputs:
        assert values[f"in:{one.name}"] == pytest.approx(one.rows / 60)
        assert values[f"probed:{one.name}"] == pytest.approx(one.fraction)
    assert total.ages is not None
    assert values["age_p95"] == total.ages.p95
    assert values["left_out:late"] == pytest.approx(total.late / 60)


def test_hours_at_one_batch_a_second_stay_few_points_and_complete() -> None:
    history = JoinHistory(JoinMetrics())
    n = 20_000
    batch = JoinMetrics(inputs=(InputMetrics("left", rows=3),), seconds=0.5, pairs=1)
    for second in range(n):
        history.add(replace(batch, at=float(second)), span=1.0)
    points = list(history.points())
    assert len(points) < 900 + 1080 + 140
    assert sum(point.metrics.rows_in for point in points) == 3 * n
    assert sum(point.span for point in points) == n
    times = [point.at for point in points]
    assert times == sorted(times)
    gaps = [later - at for at, later in pairwise(times)]
    assert max(gaps[-800:]) == 1
    assert max(gaps) == 60


def test_what_is_older_than_all_steps_is_still_in_the_total() -> None:
    history = JoinHistory(JoinMetrics())
    n = sum(most for _, most in STEPS) + 500
    for place in range(n):
        history.add(JoinMetrics(at=600.0 * place, pairs=1), span=600.0)
    assert history.total is not None
    assert history.total.metrics.pairs == n
    assert len(list(history.points())) == sum(most for _, most in STEPS)


def test_several_batches_in_a_second_are_one_point() -> None:
    history = JoinHistory(JoinMetrics())
    for place in range(50):
        history.add(JoinMetrics(at=100.0 + place / 10, pairs=1), span=0.1)
    points = list(history.points())
    assert [point.metrics.pairs for point in points] == [10] * 5
    assert dict(points[1].values())["out"] == 0
    assert points[1].span == pytest.approx(1.0)


def test_a_clock_that_is_set_back_keeps_points_in_order() -> None:
    history = JoinHistory(JoinMetrics())
    for at in (100.0, 50.0, 60.0, 101.0):
        history.add(JoinMetrics(at=at, pairs=1), span=1.0)
    assert [point.at for point in history.points()] == [100.0, 101.0]
    assert history.total is not None
    assert history.total.metrics.pairs == 4


def test_a_restart_goes_on_with_the_charts_and_does_not_count_the_standstill() -> None:
    first = list(overloaded(20, ends=False))
    second = list(overloaded(20, start=NOON + 3600, run="2", first=20, ends=False))
    history = history_of(*first, *second)
    assert [entry.kind for entry in history.log if entry.kind != "decision"] == [
        "started",
        "restarted",
    ]
    points = list(history.joins["streamjoin"].points())
    assert len(points) >= 38
    assert max(point.span for point in points) < 2.5
    assert history.status == "running"


def test_a_pause_does_not_thin_out_the_rows_after_it() -> None:
    batch = JoinMetrics(seconds=0.5, inputs=(InputMetrics("left", rows=30),))
    batches = [BatchDone(replace(batch, at=at)) for at in (100.0, 102.0, 4000.0)]
    history = history_of(Started("q", "1", 99.0, trigger=2.0), *batches)
    points = list(history.joins["streamjoin"].points())
    assert [point.span for point in points] == [2.0, 2.0, 2.5]
    assert dict(points[-1].values())["in:left"] == 12


def test_the_start_that_a_new_file_repeats_is_no_restart() -> None:
    start = Started("q", "run", 1.0)
    history = history_of(start, BatchDone(), start, BatchDone())
    assert [entry.kind for entry in history.log] == ["started"]


def test_a_restart_after_the_end_runs_again() -> None:
    records = Started("q", "1", 1.0), Ended(2.0, "disk full"), Started("q", "2", 3.0)
    assert history_of(*records[:2]).status == "failed"
    assert history_of(*records).status == "running"


def test_the_log_and_the_joins_are_bounded() -> None:
    history = History()
    for place in range(2000):
        history.add(Decision(float(place), "join", place, "text"))
        history.add(BatchDone(JoinMetrics(name=f"join {place}", at=float(place))))
    assert len(history.log) == MOST_ENTRIES
    assert history.log[-1].at == 1999
    assert len(history.joins) == MOST_JOINS


@pytest.mark.parametrize(
    "wrong",
    [
        {"pairs": "many"},
        {"at": None},
        {"seconds": [1]},
        {"inputs": ("left",)},
        {"missed": float("nan")},
        {"state_rows": float("nan")},
        {"behind": float("inf")},
        {"windows": {"left": BasicWindows(1.0, (1.0,), (1.0, 2.0), (0.5,))}},
        {"windows": {"left": BasicWindows(1.0, ("a",), ("b",), (0.5,))}},  # type: ignore[arg-type]
        {"windows": {"left": BasicWindows(1.0, (float("nan"),), (1.0,), (float("inf"),))}},
    ],
)
def test_values_that_cannot_be_do_not_stop_the_page(wrong: dict[str, Any]) -> None:
    good = BatchDone(JoinMetrics(at=1.0, pairs=1))
    history = history_of(good, BatchDone(replace(JoinMetrics(at=2.0), **wrong)), good)
    text = json.dumps(query_document(history, Path("q")), allow_nan=False)
    assert "streamjoin" in text


@pytest.mark.parametrize(
    "wrong",
    [
        BasicWindows(1.0, (1.0,), (1.0, 2.0), (0.5,)),
        BasicWindows(1.0, (1.0,), (), (0.5,)),
        BasicWindows(1.0, ("a",), ("b",), (0.5,)),  # type: ignore[arg-type]
        BasicWindows(1.0, found=(float("nan"),)),
        BasicWindows(1.0, found=(-1.0,)),
        BasicWindows(None, found=(1.0,)),  # type: ignore[arg-type]
    ],
)
def test_a_strip_that_cannot_be_costs_only_itself(wrong: BasicWindows) -> None:
    windows = {"left": wrong, "right": BasicWindows(1.0, found=(2.0, 1.0))}
    history = history_of(BatchDone(JoinMetrics(at=1.0, pairs=3, windows=windows)))
    (join,) = query_document(history, Path("q"))["joins"]
    assert join["total"]["batches"] == 1
    assert list(join["windows"]) == list(join["strips"]) == ["right"]


def test_an_exact_join_has_strips_in_which_all_is_probed() -> None:
    history = history_of(*exact(20))
    document = join_document("exact", history.joins["streamjoin"])
    assert document["total"]["batches"] == 20
    assert document["windows"]["left"]["compared"] == ()
    strip = b64decode(document["strips"]["left"][-1])
    assert set(strip[:20]) == {100}
    assert max(range(20), key=strip[20:].__getitem__) == 11


def test_many_basic_windows_without_comparisons_are_put_together() -> None:
    many = BasicWindows(0.5, found=(1.0,) * 100)
    assert grouped(many) == BasicWindows(1.0, found=(2.0,) * 50)


def test_a_start_without_a_time_is_passed_over() -> None:
    for at in ("noon", None, float("nan")):
        history = history_of(Started("q", "1", 1.0), Started("q", "2", at))  # type: ignore[arg-type]
        assert history.started == Started("q", "1", 1.0)


def test_a_document_has_a_value_for_each_point_of_each_line() -> None:
    for records in (overloaded(40), with_table(40), of_three_streams(40)):
        history = history_of(*records)
        ((name, join),) = history.joins.items()
        document = join_document(name, join)
        n = len(document["at"])
        assert n >= 38
        assert {len(column) for column in document["values"].values()} == {n}
        assert {len(column) for column in document["strips"].values()} <= {n}
