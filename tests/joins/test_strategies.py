"""One n-ary join or a tree: who may be asked for what, changes on the way, bursts and silence."""

import copy
import json
from collections import Counter
from functools import cache
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamjoin as sj
from papers.valsomatzis.bursts import Course, b_model
from streamjoin.errors import ConfigError
from streamjoin.joins.multi.arguments import resolve_plan
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.local import LocalMultiJoin
from tests.joins.multi_streams import (
    SCHEMA,
    SECOND,
    Batch,
    Numbers,
    expected,
    local,
    numbers,
    poisson,
    restarted,
    table,
)
from tests.strategies import FEW

STRATEGIES = ("mjoin", "tree", "auto")


def going_on(join: LocalMultiJoin, names: str, **settings: Any) -> LocalMultiJoin:
    """A join of other settings from the checkpoint of this one."""
    before, after = restarted(join), local(names, **settings)
    for old, new in zip(join.plan.steps, after.plan.steps, strict=True):
        assert old.join.describe() == new.join.describe()  # or the checkpoint would be refused
    after.states, after.stores = before.states, before.stores
    return after


WAYS = st.sampled_from(
    [
        {"strategy": "mjoin", "order": "timestamp"},
        {"strategy": "mjoin", "order": "output-rate"},
        {"strategy": "mjoin", "selectivities": {"a b": 0.5, "c a": 0.01}},
        {"strategy": "auto"},
        {"strategy": "tree"},
    ]
)


@FEW
@given(st.lists(WAYS, min_size=4, max_size=4), st.integers(0, 99))
def test_a_restart_may_change_strategy_and_order(ways: list[dict[str, Any]], seed: int) -> None:
    batches = list(poisson({"a": 9, "b": 5, "c": 7}, keys=4, batches=4, seed=seed))
    found: Numbers = Counter()
    join = local("abc", window="2 seconds", **ways[0])
    for way, batch in zip(ways, batches, strict=True):
        join = going_on(join, "abc", window="2 seconds", **way)
        found += numbers(join.push(batch), "abc")
        assert join.counts["nary"] == (way["strategy"] == "mjoin") or way["strategy"] == "auto"
        assert way["strategy"] != "mjoin" or join.counts["intermediate_rows"] == 0
    assert found == expected(batches, 2)


def test_the_checkpoint_of_a_version_without_n_ary_joins_is_read() -> None:
    batches = list(poisson({"a": 9, "b": 5, "c": 7}, keys=4, batches=4))
    join = local("abc", window="2 seconds", strategy="tree")
    found: Numbers = Counter()
    for batch in batches[:2]:
        found += numbers(join.push(batch), "abc")
    values = json.loads(json.dumps(join.states[0].to_dict()))
    for name in ("nary", "arrivals", "totals", "sizes"):
        del values[name]
    for strategy in STRATEGIES:
        after = local("abc", window="2 seconds", strategy=strategy)
        after.stores, seen = copy.deepcopy(join.stores), found.copy()
        after.states = [MultiJoinState.from_dict(copy.deepcopy(values))]
        assert not after.states[0].nary  # a tree was running
        for batch in batches[2:]:
            seen += numbers(after.push(batch), "abc")
        assert seen == expected(batches, 2)
        assert after.states[0].totals == [sum(len(b[n]) for b in batches[2:]) for n in "abc"]


def test_a_plan_without_a_choice_is_a_tree() -> None:
    def strategy(on: Any = "k", names: str = "abc", **more: Any) -> list[str]:
        schemas = dict.fromkeys(names, SCHEMA)
        found = resolve_plan(schemas, on=on, time="t", window="2 s", **more)
        return [step.join.strategy for step in found.steps]

    assert strategy() == ["auto"]
    assert strategy(strategy="mjoin") == strategy(strategy="mjoin", names="ab") == ["mjoin"]
    assert strategy(plan="(a c) b") == strategy(budget=sj.Budget(rate=9)) == ["tree"]
    assert strategy(names="ab") == ["tree"]  # both would do the same
    different = ["a.k = b.k", "b.n = c.n"]
    assert strategy(different) == ["tree", "tree"]  # two operators
    assert strategy(different, strategy="mjoin") == ["mjoin"]
    ring = [*different, "c.k = a.n"]
    assert strategy(ring, strategy="mjoin") == ["mjoin"]
    with pytest.raises(ConfigError, match=r"form a cycle; allowed: with strategy='mjoin', or"):
        strategy(ring)


def test_given_selectivities_take_the_place_of_measured_ones() -> None:
    told, measured = (
        local("abc", window="2 seconds", strategy="mjoin", selectivities=known)
        for known in ({"a b": 0.9, "A C": 1e-6}, None)
    )
    for batch in poisson({"a": 30, "b": 30, "c": 30}, keys=5, batches=6):
        assert numbers(told.push(batch), "abc") == numbers(measured.push(batch), "abc")
    for join, selectivity in ((told, 1e-6), (measured, 0.2)):
        sizes = join.states[0].sizes
        assert sizes is not None
        assert sizes.selectivity(frozenset([0, 2])) == pytest.approx(selectivity, rel=0.2)


N_BATCHES, SILENT = 96, range(16, 80)


@cache
def bursts(silent: bool) -> tuple[list[Batch], Numbers]:
    """Of half the time 80 % of the rows, and so on; c may bring nothing for 64 batches (VAL-D5)."""
    rng = np.random.default_rng(4)
    batches: list[Batch] = [{} for _ in range(N_BATCHES)]
    for i, name in enumerate("abc"):
        course = Course.bursts(b_model(rng, 0.8, first=i != 1))
        times = course.arrivals(rng, 200, N_BATCHES * SECOND)
        keys = rng.integers(0, 20, 200)
        for number, batch in enumerate(batches):
            at = slice(*np.searchsorted(times, [number * SECOND, (number + 1) * SECOND]))
            is_silent = silent and name == "c" and number in SILENT
            batch[name] = (
                SCHEMA.empty_table() if is_silent else table(keys[at], times[at], at.start)
            )
    return batches, expected(batches, 3)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("timeout", [None, "2 seconds"])
def test_bursts_and_silence(strategy: str, timeout: str | None) -> None:
    """What is remembered is bounded by the windows, and the results are all there are.

    Without an idle_timeout a silent stream holds the watermark: what the others bring is kept until
    it speaks again, as its rows could be as old as that. Nothing else grows.
    """
    states: dict[bool, list[int]] = {}
    for silent in (False, True):
        batches, wanted = bursts(silent)
        join = local("abc", window="3 seconds", strategy=strategy, idle_timeout=timeout)
        found: Numbers = Counter()
        states[silent] = []
        for number, batch in enumerate(batches):
            found += numbers(join.push(batch, now=(number + 1) * SECOND), "abc")
            states[silent].append(join.counts["state_rows"])
            if silent and timeout and number in SILENT[8:]:
                assert not join.states[0].pieces[2]
                if strategy == "mjoin":  # without rows of c nothing is formed
                    assert join.counts["intermediate"] == 0
        assert found == wanted
        assert found.total() > 10
        assert sum(join.total[f"late_{name}"] for name in "abc") == 0
    batches, _ = bursts(True)
    brought = sum(len(batches[number][name]) for number in SILENT for name in "ab")
    least, most = (0, 0) if timeout else (brought, brought)
    assert least <= max(states[True]) <= most + max(states[False])
    assert states[True][-1] == states[False][-1]


@pytest.mark.parametrize("way", [{"plan": "(a b) c"}, {"strategy": "mjoin"}], ids=str)
def test_what_is_kept_while_a_stream_is_silent_is_not_read(way: dict[str, Any]) -> None:
    """Rows within reach are: a batch does not take longer the longer the silence lasts."""
    join = local("abc", window="3 seconds", **way)
    (store,) = join.stores
    reads = []
    with patch.object(store, "get", wraps=store.get) as get:
        for number, batch in enumerate(poisson(dict.fromkeys("abc", 9), keys=5, batches=60)):
            join.push({name: of for name, of in batch.items() if name != "c" or number < 2})
            reads.append(get.call_count)
    per_batch = np.diff(reads)
    assert join.counts["state_rows"] > 900
    # every 16 batches a sample of all keys is taken, where the way may change
    assert np.median(per_batch[-16:]) <= 12
