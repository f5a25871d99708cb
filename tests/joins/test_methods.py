"""Every method of every direction finds the same pairs, and may be changed at any time."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamjoin as sj
from streamjoin.core.index import HashIndex
from streamjoin.joins.window.arguments import ALGORITHMS, INVALIDATIONS
from streamjoin.local import LocalJoin
from streamjoin.metrics import JoinCounts
from tests.joins.feeding import fixed_streams, ids, local_join, push
from tests.shedding.streams import stream
from tests.strategies import CONDITIONS, FEW, HOWS, Case, Ids, cases

ALGORITHM_PAIRS = list(product(ALGORITHMS, ALGORITHMS))
BAND = CONDITIONS[1]
MANNERS = st.tuples(st.sampled_from(ALGORITHM_PAIRS), st.sampled_from(INVALIDATIONS))


def joined(case: Case, manners: Sequence[tuple[Any, str]]) -> tuple[list[Ids], JoinCounts]:
    """Results of each batch and of the end, each in the next manner and from stored state."""
    join, found, total = local_join(case), list[Ids](), JoinCounts()
    for number in range(len(case.batches) + 1):
        algorithm, invalidation = manners[number % len(manners)]
        again = local_join(case, algorithm=algorithm, invalidation=invalidation)
        saved = json.loads(json.dumps(join.state.to_dict()))
        again.state, again.store = type(join.state).from_dict(saved), join.store
        join = again
        end = number == len(case.batches)
        found.append(ids(join.finish() if end else push(join, case, number), case.how))
        total += join.metrics
    return found, total


@pytest.mark.parametrize("how", HOWS)
def test_all_methods_on_each_side(how: str) -> None:
    """With windows of time and of rows, active and lazy: half of all in turn for each type."""
    turn, batches = HOWS.index(how), fixed_streams()[:3]
    windows: list[Any] = [(9, 7), (sj.rows(6), 8)]
    by_window = [Case(batches, w, how, where=CONDITIONS[3], lateness=4) for w in windows]
    answers = [case.answers() for case in by_window]
    for number, algorithm in enumerate(ALGORITHM_PAIRS):
        window, invalidation = (number + turn) % 2, INVALIDATIONS[(number + turn // 2) % 2]
        found, counted = joined(by_window[window], [(algorithm, invalidation)])
        assert found == answers[window], algorithm
        used = {m for m in ("batch", "hash", "nested") if getattr(counted, f"by_{m}")}
        assert used == set(algorithm) or "auto" in algorithm


@FEW
@given(cases(), st.lists(MANNERS, min_size=1, max_size=4))
def test_the_method_may_change_at_every_restart(
    case: Case, manners: list[tuple[tuple[str, str], str]]
) -> None:
    if case.where is BAND:
        case = replace(case, where=None)
    assert joined(case, manners)[0] == case.answers()


@FEW
@given(cases(), st.sampled_from(INVALIDATIONS))
def test_a_band_is_met_by_batch_and_may_be_invalidated_lazily(
    case: Case, invalidation: str
) -> None:
    found, counted = joined(replace(case, where=BAND), [("auto", invalidation)])
    assert found == replace(case, where=BAND).answers()
    assert counted.by_hash == counted.by_nested == 0


def test_the_method_follows_the_load() -> None:
    """Few rows meet few: nested; many meet many: batch; few meet very many: hash (KAN-A15)."""
    rows = stream(30_000, 10, keys=5000, seed=1)
    join = LocalJoin(rows.schema, rows.schema, on="k", time="t", window="60 s", lateness="60 s")
    used = []
    for left, right in [(5, 20), (5, 20), (20_000, 20_000), (20_000, 20_000), (20, 150_000)]:
        join.push(rows.slice(0, left), rows.slice(0, right))
        used.append(join.metrics)
    few = join.push(rows.slice(0, 20), None)
    assert few.num_rows > 0
    assert used[1].by_nested == 2
    assert used[3].by_batch == 2
    assert join.metrics.by_hash == 1


def one_row(second: int) -> pa.Table:
    return pa.table({"k": [1], "t": pa.array([second * 1_000_000], pa.timestamp("us"))})


@pytest.mark.parametrize(("invalidation", "held"), [("active", 1), ("lazy", 4)])
def test_lazy_invalidation_waits_for_a_probe(invalidation: str, held: int) -> None:
    """What is too old goes when the other side comes (KAN-A5)."""
    schema = one_row(0).schema
    join = LocalJoin(
        schema, schema, on="k", time="t", window="1 s", idle_timeout="1 s",
        invalidation=invalidation,
    )  # fmt: skip
    join.push(one_row(0), one_row(0), now=0)
    for second in (10, 20, 30):  # the right side is idle: it does not hold the watermark
        join.push(one_row(second), None, now=second * 1_000_000)
    assert join.metrics.state_rows == held
    join.push(None, one_row(30), now=31_000_000)
    assert join.metrics.state_rows == 2


KEYS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-(2**62), 2**62)), max_size=40)


@FEW
@given(KEYS, KEYS)
def test_an_index_can_be_written_down(
    rows: list[tuple[int, int]], probes: list[tuple[int, int]]
) -> None:
    keys, times = (np.array([row[i] for row in rows], np.int64) for i in (0, 1))
    index = HashIndex.build(keys, times)
    written = index.to_bytes()
    again = HashIndex.from_buffer(pa.py_buffer(written))
    asked, at = (np.array([row[i] for row in probes], np.int64) for i in (0, 1))
    found = [each.probe(asked, at, -(2**62), 2**62) for each in (index, again)]
    for one, two in zip(*found, strict=True):
        assert one.tolist() == two.tolist()
    assert again.to_bytes() == written
    with pytest.raises(ValueError, match=r"not written to its end|buffer"):
        HashIndex.from_buffer(written[:-1])
