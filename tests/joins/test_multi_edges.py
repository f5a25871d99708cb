"""Joins of many streams at the edges: times, windows, sizes, hot keys, hashes that collide."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamjoin import oracle
from streamjoin.budget import Budget
from streamjoin.core import batch as core_batch
from streamjoin.joins.multi import halfway, logic
from streamjoin.joins.multi import rows as multi_rows
from streamjoin.joins.multi.tuples import Tuples
from streamjoin.local import LocalMultiJoin
from streamjoin.shedding.costs import Costs, Cpu
from streamjoin.windows import Rows
from tests.joins.multi_streams import (
    SCHEMA,
    SECOND,
    Numbers,
    expected,
    local,
    numbers,
    poisson,
    table,
)

LEAST, MOST = -(2**63), 2**63 - 1


@pytest.mark.parametrize("times", [(LEAST, LEAST + 5), (MOST - 5, MOST), (LEAST, MOST)])
@pytest.mark.parametrize("plan", ["(a b) c", "a (b c)"])
def test_times_at_both_ends_of_64_bits(times: tuple[int, int], plan: str) -> None:
    batch = {name: table([1, 1], times) for name in "abc"}
    join = local("abc", window="10 seconds", plan=plan)
    near = times[1] - times[0] <= 10 * SECOND
    assert join.push(batch).num_rows == (8 if near else 2)


@pytest.mark.parametrize("window", ["9000000 days", "100000 days"])
def test_windows_longer_than_all_time(window: str) -> None:
    join = local("abc", window=window, plan="(a b) c")
    assert join.push({name: table([1], [0]) for name in "ab"}).num_rows == 0
    assert join.push({"c": table([1], [10**9 * SECOND])}).num_rows == 1


def test_windows_of_none_and_zero_remember_equal_times_only() -> None:
    windows: dict[str, Any] = {"a": "5 seconds", "b": None, "c": "0 seconds"}
    batches = list(poisson({"a": 9, "b": 9, "c": 9}, keys=1, batches=3))
    coarse = [
        {
            name: table(rows["k"], np.asarray(rows["t"].cast(pa.int64())) // SECOND * SECOND, 0)
            for name, rows in batch.items()
        }
        for batch in batches
    ]
    for plan in ("(a b) c", "(c b) a"):
        join, found = local("abc", window=windows, plan=plan), Numbers()
        for batch in coarse:
            found += numbers(join.push(batch), "abc")
        assert found == expected(coarse, {"a": 5, "b": 0, "c": 0})


@pytest.mark.parametrize("n", [2, 8])
def test_two_and_eight_streams(n: int) -> None:
    names = "abcdefgh"[:n]
    batches = list(poisson(dict.fromkeys(names, 2.0), keys=3, batches=6, seed=n))
    for budget in (None, Budget(rate=1e9)):
        join, found = local(names, window="2 seconds", budget=budget, costs=Costs()), Numbers()
        for batch in batches:
            found += numbers(join.push(batch), names)
        assert found == expected(batches, 2)


def test_empty_batches_and_streams_that_never_come() -> None:
    for budget in (None, Budget(rate=1), Budget(cpu=0.5)):
        join = local("abc", window="2 seconds", budget=budget)
        assert join.push({}).num_rows == 0
        assert join.push({"a": table([], [])}).num_rows == 0
        for second in range(3):
            assert join.push({"a": table([1], [second * SECOND])}).num_rows == 0
        assert join.finish().num_rows == 0


def test_results_of_a_hot_key_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 80 x 80 x 80 results never more than some pairs are there at once."""
    monkeypatch.setattr(halfway, "MAX_PAIRS", 2_000)
    monkeypatch.setattr(logic, "GATHERED", 2_000)
    sizes = []
    taken = Tuples.__init__

    def watched(self: Tuples, keys: Any, *rest: Any, **more: Any) -> None:
        sizes.append(len(keys))
        taken(self, keys, *rest, **more)

    monkeypatch.setattr(Tuples, "__init__", watched)
    join = local("abc", window="2 seconds", plan="(a b) c")
    batch = {name: table(np.ones(80), np.arange(80)) for name in "abc"}
    assert join.push(batch).num_rows == 80**3
    assert max(sizes) <= 80 * 80  # the tuples of a and b, which are remembered


@pytest.mark.parametrize("largest", [1 << 30, 1_000])
def test_wide_rows_come_out_few_at_a_time(monkeypatch: pytest.MonkeyPatch, largest: int) -> None:
    """Also where the pieces of a column would be too large together."""
    monkeypatch.setattr(multi_rows, "MAX_BYTES", 10_000)
    monkeypatch.setattr(multi_rows, "LARGEST", largest)
    sizes, columns = [], multi_rows.Rows.columns

    def watched(self: multi_rows.Rows, results: Tuples) -> list[pa.Array]:
        sizes.append(sum(array.nbytes for array in columns(self, results)))
        return columns(self, results)

    monkeypatch.setattr(multi_rows.Rows, "columns", watched)
    wide = SCHEMA.append(pa.field("p", pa.string()))
    join = LocalMultiJoin(
        {"a": wide, "b": SCHEMA, "c": SCHEMA}, on="k", time="t", window="3 s", plan="(a b) c"
    )
    batches, found = list(poisson(dict.fromkeys("abc", 8), keys=2, batches=5)), Numbers()
    for batch in batches:
        payload = [100 * str(n) for n in batch["a"]["n"].to_pylist()]
        out = join.push({**batch, "a": batch["a"].append_column("p", pa.array(payload))})
        assert out["a_p"].to_pylist() == [100 * str(n) for n in out["a_n"].to_pylist()]
        found += numbers(out, "abc")
    assert found == expected(batches, 3)
    assert max(sizes) < 20_000


def test_what_handing_out_takes_counts_for_those_who_found(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, columns = [0.0], multi_rows.Rows.columns

    def slow(self: multi_rows.Rows, results: Tuples) -> list[pa.Array]:
        clock[0] += len(results)
        return columns(self, results)

    monkeypatch.setattr(multi_rows.Rows, "columns", slow)
    monkeypatch.setattr(logic, "GATHERED", 1000)
    join = local("abc", window="3 seconds", plan="(a b) c", budget=Budget(rate=1e9))
    join._cpu = Cpu(clock_us=lambda: clock[0])
    for batch in poisson(dict.fromkeys("abc", 20), keys=2, batches=3):
        join.push(batch)
    state = join.states[0].limits
    assert state is not None
    assert state.observed[-1].found[2] > 1000
    assert state.observed[-1].probe_us[2:] == pytest.approx(state.observed[-1].found[2:])
    assert state.observed[-1].probe_us[:2] == [0, 0]


def test_hashes_that_are_all_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        core_batch, "hash_keys", lambda *args, **more: np.zeros(len(args[0][0]), np.int64)
    )
    schema = SCHEMA.set(0, pa.field("k", pa.string()))
    batches = list(poisson(dict.fromkeys("abc", 6.0), keys=3, batches=5))
    words = [
        {name: rows.set_column(0, "k", rows["k"].cast(pa.string())) for name, rows in one.items()}
        for one in batches
    ]
    join = LocalMultiJoin(
        dict.fromkeys("abc", schema), on="k", time="t", window="2 seconds", plan="(a b) c"
    )
    found = Numbers()
    for batch in words:
        found += numbers(join.push(batch), "abc")
    assert found == expected(batches, 2)


def test_a_window_that_counts_with_a_budget() -> None:
    batches = list(poisson({"a": 5, "b": 7, "c": 5}, keys=2, batches=8))
    window = {"a": Rows(3), "b": "2 seconds", "c": Rows(4)}
    join = local("abc", window=window, budget=Budget(rate=8), costs=Costs(), plan="(a b) c")
    found = Numbers()
    for batch in batches:
        found += numbers(join.push(batch), "abc")
    found += numbers(join.finish(), "abc")
    streams = {
        name: pa.concat_tables(batch[name] for batch in batches).to_pylist() for name in "abc"
    }
    every = oracle.multi_join(
        {n: [{**r, "t": r["t"].timestamp() * SECOND} for r in rows] for n, rows in streams.items()},
        on=[(("a", "k"), ("b", "k")), (("b", "k"), ("c", "k"))],
        time=dict.fromkeys("abc", "t"),
        window={"a": Rows(3), "b": 2 * SECOND, "c": Rows(4)},
    )
    wanted = Numbers(tuple(one[name]["n"] for name in "abc") for one in every)
    assert found <= wanted
    assert 0 < found.total() < wanted.total()
