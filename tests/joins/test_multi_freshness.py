"""No result is older than asked for, on any path (JAQ-A9, JAQ-C14); late rows; idle streams."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from streamjoin.windows import Rows
from tests.joins.multi_streams import SECOND, local, numbers, poisson, table

MINUTE = 60 * SECOND
PLANS = ("(a b) c", "a (b c)", "(c a) b", None)


@pytest.mark.parametrize("plan", PLANS)
def test_results_older_than_twelve_and_fifteen_minutes_are_withheld(plan: str | None) -> None:
    """JAQ-C14: windows of 10 minutes; a may be 12 minutes old by now, b 15."""
    given: dict[str, Any] = {"window": "10 minutes", "lateness": "30 minutes", "plan": plan}
    every = local("abc", **given)
    fresh = local("abc", **given, freshness={"a": "12 minutes", "b": "15 minutes"})
    rng = np.random.default_rng(7)
    stale = 0
    for now in range(20, 60, 4):
        batch = {}
        for name in "abc":  # rows up to 20 minutes old: results of now may have old tuples
            times = np.sort(rng.integers((now - 20) * MINUTE, now * MINUTE, 12))
            batch[name] = table(rng.integers(0, 2, 12), times, 100 * now)
        batch["c"] = pa.concat_tables([batch["c"], table([0], [now * MINUTE], 100 * now + 12)])
        out = every.push(batch)
        ages = {name: now * MINUTE - out[f"{name}_t"].cast(pa.int64()).to_numpy() for name in "ab"}
        keeps = (ages["a"] <= 12 * MINUTE) & (ages["b"] <= 15 * MINUTE)
        assert numbers(fresh.push(batch), "abc") == numbers(out.filter(pa.array(keeps)), "abc")
        assert fresh.counts["stale"] == np.count_nonzero(~keeps)
        stale += fresh.counts["stale"]
    assert stale > 0
    assert fresh.total["rows_out"] > 0


@pytest.mark.parametrize("plan", PLANS)
def test_freshness_that_counts(plan: str | None) -> None:
    """A result may have one of the last 6 of a, by the time at which it comes out."""
    given: dict[str, Any] = {"window": {"a": Rows(4), "b": "9 seconds", "c": "9 seconds"}}
    every, fresh = (
        local("abc", **given, plan=plan, **more) for more in ({}, {"freshness": {"a": Rows(6)}})
    )
    seen = 0
    for batch in poisson({"a": 5, "b": 5, "c": 5}, keys=2, batches=12):
        out, kept = every.push(batch), fresh.push(batch)
        seen = every.states[0].released[0]
        last = np.argsort(np.argsort(-np.arange(seen)))[out["a_n"].to_numpy()]
        keeps = last < 6
        assert numbers(kept, "abc") == numbers(out.filter(pa.array(keeps)), "abc")
    assert fresh.total["stale"] > 0
    assert fresh.total["rows_out"] > 0


def test_late_rows_of_each_stream_are_set_apart() -> None:
    join = local("abc", window="5 seconds", lateness="2 seconds")
    join.push({name: table([1], [10 * SECOND]) for name in "abc"})
    out = join.push({"b": table([1, 1], [7 * SECOND, 8 * SECOND], 1)})
    assert join.late["b"]["late_by"].to_pylist() == [SECOND]
    assert join.counts["late_b"] == 1
    assert numbers(out, "abc") == {(0, 2, 0): 1}


def test_an_idle_stream_does_not_hold_the_others() -> None:
    """Rows are forgotten while c is silent; what c brings then is late, and said to be so."""
    join = local("abc", window="2 seconds", idle_timeout="5 seconds")
    join.push({name: table([1], [0]) for name in "abc"}, now=0)
    for second in range(1, 30):
        batch = {name: table([1], [second * SECOND], second) for name in "ab"}
        join.push(batch, now=second * SECOND)
    assert join.counts["state_rows"] < 20
    join.push({"c": table([1, 1], [0, 29 * SECOND], 1)}, now=30 * SECOND)
    assert join.counts["late_c"] == join.counts["idle_late_c"] == 1
    assert join.counts["rows_out"] > 0
