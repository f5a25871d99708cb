"""Plans whose joins are on different keys: several operators, one after the other, as one join."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from streamjoin.budget import Budget
from streamjoin.errors import ConfigError
from streamjoin.local import LocalMultiJoin
from streamjoin.shedding.costs import Costs
from tests.joins.multi_streams import SECOND, Batch, probes

SCHEMA = pa.schema({"x": pa.int64(), "y": pa.int64(), "t": pa.timestamp("us")})
CHAIN = ["a.x = b.x", "b.x = c.x", "c.y = d.y"]
NONE = {"b": 0, "c": 0, "d": 0}
RATES = {"a": 60, "b": 80, "c": 100, "d": 60}


def rows(*values: tuple[int | None, int | None, float]) -> pa.Table:
    """Rows (x, y, seconds)."""
    x, y, seconds = zip(*values, strict=True)
    times = pa.array([round(s * SECOND) for s in seconds], pa.timestamp("us"))
    return pa.table([pa.array(x, pa.int64()), pa.array(y, pa.int64()), times], schema=SCHEMA)


def chain(**settings: object) -> LocalMultiJoin:
    given = {"on": CHAIN, "time": "t", "window": "4 seconds", **settings}
    return LocalMultiJoin(dict.fromkeys("abcd", SCHEMA), costs=Costs(), **given)


def seconds_of_streams(n: int, keys: int = 300) -> Iterator[Batch]:
    rng = np.random.default_rng(3)
    for second in range(n):
        batch = {}
        for name, rate in RATES.items():
            times = pa.array(rng.integers(second * SECOND, (second + 1) * SECOND, rate))
            columns = [*rng.integers(0, keys, (2, rate)), times.cast(pa.timestamp("us"))]
            batch[name] = pa.table(columns, schema=SCHEMA)
        yield batch


@pytest.mark.parametrize("planner", ["jaqpot", "equal-hj"])
def test_a_chain_keeps_one_budget_for_all_its_operators(planner: str) -> None:
    """JAQ-A24 over the whole plan: all operators decide alike, from what all have measured."""
    rate = 120.0
    join = chain(budget=Budget(rate=rate), planner=planner)
    made = []
    for batch in seconds_of_streams(36):
        join.push(batch)
        made.append(probes(join))
        known = [state.limits for state in join.states if state.limits is not None]
        assert len(known) == 2
        assert known[0].allowances == known[1].allowances
        assert known[0].observed == known[1].observed
    assert np.mean(made[12:]) <= 1.1 * rate
    if planner == "jaqpot":
        assert np.mean(made[12:]) >= 0.8 * rate
    assert join.total["rows_out"] > 0
    assert join.total["missed"] > 0
    assert 0 < join.total["analysed"] <= 36  # one decision, though both take it


def test_what_is_remembered_and_what_comes_out_is_not_added_up() -> None:
    join, found = chain(), 0
    for batch in seconds_of_streams(6, keys=20):
        found += join.push(batch).num_rows
    assert join.total["rows_out"] == join.total["results"] == found > 0
    assert join.total["rows_a"] == 6 * RATES["a"]
    sizes = ("state_rows", "state_bytes", "intermediate_rows")
    assert all(join.total[name] == join.counts[name] > 0 for name in sizes)
    before = join.counts["state_rows"]
    assert join.push({}).num_rows == 0
    assert join.counts["state_rows"] == join.total["state_rows"] == before


def test_an_operator_that_nothing_comes_to_is_given_up_on_when_idle() -> None:
    join = chain(idle_timeout="5 seconds")
    join.push({name: rows((1, 1, 0)) for name in "abcd"}, now=0)
    for second in range(1, 30):
        join.push({"d": rows((1, 1, second))}, now=second * SECOND)
    assert join.counts["state_rows"] < 20
    join.push({name: rows((1, 1, 8)) for name in "abc"}, now=30 * SECOND)
    assert (join.counts["late_a"], join.counts["late_a+b+c"]) == (0, 1)
    assert join.counts["idle_late_a+b+c"] == 1


def test_names_of_streams_in_any_case() -> None:
    join = chain(plan="((A b) C) d", freshness={"A": "4 seconds", "b": None})
    assert str(join.plan.tree) == "((a b) c) d"
    assert [one.name for one in join.plan.steps[-1].join.freshness] == ["a"]
    assert join.push({name: rows((1, 1, 0)) for name in "ABcd"}).num_rows == 1
    with pytest.raises(ConfigError, match=r"^push: got 'a' twice; allowed: one for each stream"):
        join.push({name: rows((1, 1, 0)) for name in "aA"})


def test_late_rows_without_a_key_are_counted_once() -> None:
    join = chain()
    join.push({name: rows((1, 1, 10)) for name in "abcd"})
    join.push({"a": rows((None, 1, 5), (1, 1, 5)), "d": rows((1, None, 11))})
    assert (join.counts["rows_a"], join.counts["null_a"], join.counts["late_a"]) == (2, 1, 1)
    assert {name: len(late) for name, late in join.late.items()} == {"a": 1, **NONE}


def test_nothing_comes_after_the_end() -> None:
    join = chain()
    join.finish()
    with pytest.raises(ConfigError, match=r"^push: the streams have ended with finish"):
        join.push({"a": rows((1, 1, 0))})


def test_a_checkpoint_belongs_to_an_order_of_streams() -> None:
    said = [
        LocalMultiJoin(dict.fromkeys(names, SCHEMA), on="x", time="t", window="1 second")
        .plan.steps[0]
        .join.describe()
        for names in ("abc", "bac")
    ]
    assert [one["streams"] for one in said] == ["a, b, c", "b, a, c"]
