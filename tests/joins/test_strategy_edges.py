"""Checkpoints of joins on several keys, budgets that are dropped, samples with frequent keys."""

import numpy as np
import pyarrow as pa
import pytest

from streamjoin.budget import Budget
from streamjoin.joins.multi.arguments import resolve_plan
from streamjoin.joins.multi.reordering import measure
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import States
from streamjoin.planning.many.nary import Waiting, groups_of
from streamjoin.shedding.costs import Costs
from tests.joins.multi_streams import SECOND, Numbers, expected, local, numbers, poisson, table
from tests.joins.test_strategies import going_on

WIDE = pa.schema(
    {"x": pa.int64(), "y": pa.int64(), "z": pa.int64(), "t": pa.timestamp("us")}
)  # fmt: skip


def _on(*equalities: str) -> MultiJoin:
    schemas = dict.fromkeys("abcd", WIDE)
    found = resolve_plan(
        schemas, on=list(equalities), time="t", window="10 s", strategy="mjoin"
    )  # fmt: skip
    return found.steps[0].join


def test_a_checkpoint_on_several_keys_says_what_must_be_equal() -> None:
    join = _on("a.x = b.x", "b.y = c.y", "a.z = d.z")
    other = _on("a.x = b.y", "b.x = c.y", "a.z = d.z")
    assert join.describe()["plan"] != other.describe()["plan"]
    assert "b.y = c.y" in join.describe()["plan"]


def test_the_order_of_equalities_does_not_matter() -> None:
    join = _on("a.x = b.x", "b.y = c.y", "a.z = d.z")
    again = _on("d.z = a.z", "c.y = b.y", "b.x = a.x")
    assert join.attributes == again.attributes
    assert join.describe()["plan"] == again.describe()["plan"]


@pytest.mark.parametrize("strategy", ["tree", "auto"])
def test_a_budget_may_be_dropped_at_a_restart(strategy: str) -> None:
    """What was left out below the root is formed, so that nothing is missing from then on."""
    batches = list(poisson(dict.fromkeys("abc", 12), keys=6, batches=14))
    join = local("abc", window="4 seconds", budget=Budget(rate=15), costs=Costs())
    for batch in batches[:8]:
        join.push(batch)
    assert join.total["skipped_a"] > 0
    join = going_on(join, "abc", window="4 seconds", strategy=strategy)
    found = Numbers()
    for batch in batches[8:]:
        found += numbers(join.push(batch), "abc")
    before = expected(batches[:8], 4)
    assert found == expected(batches, 4) - before


def test_frequent_keys_are_in_the_sample() -> None:
    """One key in ten is sampled; those that make up most of the join must not be overlooked."""
    rng = np.random.default_rng(5)
    weights = np.arange(1, 20_001) ** -1.1
    keys = {
        name: rng.choice(20_000, 50_000, p=weights / weights.sum()) for name in "ab"
    }  # fmt: skip
    join = local("abc", window="10 seconds", strategy="mjoin")
    times = np.sort(rng.integers(0, SECOND, 50_000))
    join.push({name: table(of, times) for name, of in keys.items()} | {"c": table([-1], [SECOND])})
    settings, state = join.plan.steps[0].join, join.states[0]
    sizes = measure(States(settings, state, join.stores[0]))
    assert sizes is not None
    counts = [np.bincount(keys[name], minlength=20_000).astype(float) for name in "ab"]
    assert sizes.joined[0b011] == pytest.approx(float(counts[0] @ counts[1]), rel=0.1)


def test_many_large_tables_are_no_trouble() -> None:
    waiting = Waiting((10,) * 64, (100_000,) * 63 + (99_999,), (1,) * 64)
    groups, _ = groups_of("output-rate", waiting)
    assert groups[0] == (63,)


def test_what_is_fresh_does_not_depend_on_the_strategy() -> None:
    batches = list(poisson(dict.fromkeys("abc", 30), keys=12, batches=8))
    found, stale = [], set()
    for strategy in ("tree", "mjoin", "auto"):
        join = local("abc", window="3 seconds", freshness="3 seconds", strategy=strategy)
        found.append(sum((numbers(join.push(batch), "abc") for batch in batches), Numbers()))
        stale.add(join.total["stale"])
    assert found[0] == found[1] == found[2]
    assert len(stale) == 1
    assert min(stale) > 0
