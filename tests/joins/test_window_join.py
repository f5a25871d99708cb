"""The window join against the oracle, wherever batches are cut."""

import json
from collections import Counter
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given

from streamjoin import oracle
from streamjoin.core import keys as keys_module
from streamjoin.joins.window.settings import WindowJoinState
from streamjoin.local import LocalJoin, run
from tests.strategies import SCHEMA, Row, Scenario, scenarios, table


def local_join(scenario: Scenario, schema: pa.Schema = SCHEMA, on: Any = "k") -> LocalJoin:
    left, right = (timedelta(microseconds=w) for w in scenario.window)
    lateness = timedelta(microseconds=scenario.lateness)
    return LocalJoin(schema, schema, on=on, time="t", window=(left, right), lateness=lateness)


def expected(scenario: Scenario, on: tuple[str, ...] = ("k",)) -> Counter[tuple[int, int]]:
    kept, _ = oracle.split_late(scenario.batches, time=("t", "t"), lateness=scenario.lateness)
    pairs = oracle.window_join(
        *kept, on=[(k, k) for k in on], time=("t", "t"), window=scenario.window
    )
    return Counter((a["id"], b["id"]) for a, b in pairs)


def ids(result: pa.Table) -> Counter[tuple[int, int]]:
    return Counter(zip(result["id_left"].to_pylist(), result["id_right"].to_pylist(), strict=True))


@given(scenarios())
def test_equals_the_oracle(scenario: Scenario) -> None:
    join = local_join(scenario)
    found: Counter[tuple[int, int]] = Counter()
    for left, right in scenario.batches:
        found += ids(join.push(table(left), table(right)))
    assert found == expected(scenario)


@given(scenarios())
def test_counts_add_up(scenario: Scenario) -> None:
    join = local_join(scenario)
    n_pairs = sum(join.push(table(a), table(b)).num_rows for a, b in scenario.batches)
    _, late = oracle.split_late(scenario.batches, time=("t", "t"), lateness=scenario.lateness)
    rows = [[row for batch in scenario.batches for row in batch[side]] for side in (0, 1)]
    null = [[r for r in side if r["k"] is None or r["t"] is None] for side in rows]
    late_known = [[r for r in side if r["k"] is not None] for side in late]
    total = join.total
    assert total.pairs == n_pairs
    assert (total.rows_left, total.rows_right) == (len(rows[0]), len(rows[1]))
    assert (total.null_left, total.null_right) == (len(null[0]), len(null[1]))
    assert (total.late_left, total.late_right) == (len(late_known[0]), len(late_known[1]))


@given(scenarios())
def test_restart_at_every_batch_changes_nothing(scenario: Scenario) -> None:
    join = local_join(scenario)
    found: Counter[tuple[int, int]] = Counter()
    for left, right in scenario.batches:
        saved = json.dumps(join.state.to_dict())
        again = local_join(scenario)
        again.state, again.store = WindowJoinState.from_dict(json.loads(saved)), join.store
        join = again
        found += ids(join.push(table(left), table(right)))
    assert found == expected(scenario)


@given(scenarios())
def test_swapping_the_sides_mirrors_the_result(scenario: Scenario) -> None:
    straight = local_join(scenario)
    mirrored = local_join(Scenario(scenario.batches, scenario.window[::-1], scenario.lateness))
    for left, right in scenario.batches:
        one = ids(straight.push(table(left), table(right)))
        two = ids(mirrored.push(table(right), table(left)))
        assert one == Counter({(a, b): n for (b, a), n in two.items()})


@given(scenarios())
def test_state_holds_what_may_still_match(scenario: Scenario) -> None:
    join = local_join(scenario)
    for left, right in scenario.batches:
        join.push(table(left), table(right))
        watermark = join.state.watermark
        for side in (0, 1):
            for window in join.state.windows[side]:
                assert watermark is None or watermark - window.last <= scenario.window[side]
        assert len(join.store) == sum(map(len, join.state.windows))
    kept, _ = oracle.split_late(scenario.batches, time=("t", "t"), lateness=scenario.lateness)
    watermark = join.state.watermark
    for side in (0, 1):
        needed = [
            r for r in kept[side]
            if r["k"] is not None and r["t"] is not None
            and (watermark is None or watermark - r["t"] <= scenario.window[side])
        ]  # fmt: skip
        assert sum(w.rows for w in join.state.windows[side]) >= len(needed)


def test_no_leak_over_200_batches() -> None:
    join = LocalJoin(SCHEMA, SCHEMA, on="k", time="t", window="100 microseconds")
    sizes = []
    for batch in range(200):
        rows = [{"k": i % 7, "t": 10 * batch + i, "id": i, "s": "x"} for i in range(10)]
        join.push(table(rows), table(rows))
        sizes.append(join.metrics.state_rows)
    # 100 us hold 100 rows a side; a basic window (25 us) and a batch (10 us) may be left over.
    assert max(sizes) <= 2 * (100 + 25 + 10)
    assert sizes[-1] == sizes[100]
    assert join.metrics.state_bytes < 60 * join.metrics.state_rows + 500 * len(join.store)


@given(scenarios())
def test_colliding_hashes_never_match(scenario: Scenario) -> None:
    """With every hash the same, only the check on the real keys tells keys apart."""
    schema = pa.schema([pa.field("k", pa.string()), *list(SCHEMA)[1:]])

    def named(rows: list[Row]) -> list[Row]:
        return [{**r, "k": None if r["k"] is None else f"key {r['k']}"} for r in rows]

    batches = [(named(a), named(b)) for a, b in scenario.batches]
    scenario = Scenario(batches, scenario.window, scenario.lateness)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "streamjoin.core.batch.hash_keys",
            lambda columns: keys_module.hash_keys(columns) * 0 + 7,
        )
        join = local_join(scenario, schema)
        found: Counter[tuple[int, int]] = Counter()
        for left, right in scenario.batches:
            found += ids(join.push(table(left, schema), table(right, schema)))
    assert found == expected(scenario)


def test_boundaries_are_inclusive_on_both_sides() -> None:
    """Time line, left window 5, right window 3.

    left        10
    right  6 7      ...     15 16
           x |<- 3->|<- 5 ->|  x
    """
    join = LocalJoin(SCHEMA, SCHEMA, on="k", time="t", window=("5 microseconds", "3 microseconds"))
    left = table([{"k": 1, "t": 10, "id": 0, "s": ""}])
    right = table([{"k": 1, "t": t, "id": t, "s": ""} for t in (6, 7, 15, 16)])
    assert sorted(ids(join.push(left, right))) == [(0, 7), (0, 15)]


def test_a_short_window_and_a_long_lateness_make_few_basic_windows() -> None:
    join = LocalJoin(SCHEMA, SCHEMA, on="k", time="t", window="1 microsecond", lateness="1 second")
    rows = [{"k": i, "t": i, "id": i, "s": ""} for i in range(5000)]
    assert join.push(table(rows), table(rows)).num_rows == 5000
    assert join.push(None, table(rows)).num_rows == 5000
    assert len(join.store) <= 3 * 64


def test_virtual_clock_cuts_by_arrival() -> None:
    schema = pa.schema([*SCHEMA, pa.field("came", pa.timestamp("us"))])
    rows = [
        {"k": 1, "t": 5, "id": 0, "s": "", "came": 30},
        {"k": 1, "t": 9, "id": 1, "s": "", "came": 10},
    ]
    steps = list(
        run(table(rows, schema), table(rows, schema), on="k", time="t", window="1 second",
            lateness="1 second", every="10 microseconds", arrival="came")
    )  # fmt: skip
    assert [(s.now_us, s.rows.num_rows) for s in steps] == [(20, 1), (40, 3)]
