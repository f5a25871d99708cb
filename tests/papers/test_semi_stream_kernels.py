"""What joins of a stream with a table keep: queue, cache and sketch, against plain Python.

Each case runs the compiled kernels and their uncompiled twins.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.operators.kernels import semi_stream as kernel
from papers.operators.kernels import semi_stream_joins as joins

NAMES = ("enter", "leave", "leave_first", "look_up_slot", "admit", "_victim", "_up", "_down",
         "estimate", "count_seen", "_cell", "age")  # fmt: skip


@contextmanager
def plain() -> Iterator[None]:
    """Run kernels and those that they call uncompiled."""
    compiled = {name: getattr(kernel, name) for name in NAMES}
    try:
        for name, each in compiled.items():
            setattr(kernel, name, each.py_func)
        yield
    finally:
        for name, each in compiled.items():
            setattr(kernel, name, each)


@contextmanager
def as_compiled() -> Iterator[None]:
    yield


MODES = pytest.mark.parametrize("mode", [as_compiled, plain])


def pointers() -> kernel.Int64s:
    at = np.zeros(kernel.N_POINTERS, np.int64)
    at[[kernel.Q_NEW, kernel.Q_OLD, kernel.MARK]] = -1
    return at


@MODES
@given(
    st.lists(st.tuples(st.sampled_from(["in", "first", "any"]), st.integers(0, 5)), max_size=60),
    st.floats(0, 1),
)
@settings(max_examples=40)
def test_a_queue_can_be_left_anywhere(
    mode: Any, steps: list[tuple[str, int]], position: float
) -> None:
    """NAE-A3, NAE-A14: a list says who is where."""
    n = 8
    waiting = kernel.Waiting(
        np.full((6, kernel.N_CHAIN), -1, np.int32), np.zeros((n, kernel.N_SLOT), np.int32),
        np.zeros(n, np.int64), np.zeros(n), np.arange(n, dtype=np.int32),
    )  # fmt: skip
    waiting.chains[:, kernel.COUNT] = 0
    at, queue, marked = pointers(), list[tuple[int, int]](), position < 1  # newest first
    at[kernel.N_FREE] = n
    with mode():
        for number, (step, key) in enumerate(steps):
            mine = [pair for pair in queue if pair[1] == key]
            if step == "in" and len(queue) < n:
                kernel.enter(number, key, 0.0, marked, waiting, at)
                queue.insert(0, (number, key))
            elif step == "first" and mine:
                kernel.leave_first(key, marked, waiting, at)
                queue.remove(mine[-1])
            elif step == "any" and mine:
                while waiting.chains[key, kernel.COUNT]:
                    kernel.leave_first(key, marked, waiting, at)
                queue = [pair for pair in queue if pair[1] != key]
            if queue:
                slot = kernel.look_up_slot(position, waiting, at)
                place = min(int(position * len(queue)), len(queue) - 1)
                assert waiting.slots[slot, kernel.TUPLE] == queue[place][0]
    assert at[kernel.Q_LENGTH] == len(queue)
    counts = Counter(key for _, key in queue)
    assert waiting.chains[:, kernel.COUNT].tolist() == [counts[key] for key in range(6)]


def empty_cache(n: int, n_keys: int) -> kernel.Cache:
    cached = np.full((n_keys, kernel.N_CACHED), -1, np.int32)
    return kernel.Cache(
        cached, np.zeros(n, np.int32), np.zeros(n, np.int32), np.zeros((4, 64), np.uint8),
        np.zeros((0, 2), np.int32),
    )  # fmt: skip


@MODES
@given(st.lists(st.tuples(st.integers(0, 19), st.integers(1, 9)), max_size=50))
@settings(max_examples=40)
def test_the_recorder_overwrites_the_least_frequent(
    mode: Any, offers: list[tuple[int, int]]
) -> None:
    """NAE-A9: frequencies are those of the admission."""
    cache, at, held = empty_cache(4, 20), pointers(), dict[int, int]()
    at[kernel.THRESHOLD] = 2
    with mode():
        for key, f in offers:
            taken = kernel.admit(key, f, kernel.RECORDER, 0, cache, at)
            if key in held or f < 2:
                assert taken == 0
                continue
            assert taken == (1 if len(held) < 4 else 2)
            if taken == 2:
                (gone,) = (k for k in held if cache.cached[k, kernel.PLACE] < 0)
                assert held[gone] == min(held.values())
                del held[gone]
            held[key] = f
    n = int(at[kernel.N_CACHE])
    assert dict(zip(cache.keys[:n].tolist(), cache.frequencies[:n].tolist(), strict=True)) == held


@MODES
def test_a_sketch_never_counts_too_few(mode: Any) -> None:
    keys = np.random.default_rng(1).integers(0, 40, 300)
    cache = empty_cache(1, 1)
    with mode():
        for key in keys.tolist():
            kernel.count_seen(key, cache.sketch)
        counts = Counter(keys.tolist())
        found = {key: kernel.estimate(key, cache.sketch) for key in counts}
        assert all(found[key] >= n for key, n in counts.items())
        assert sum(found[key] == n for key, n in counts.items()) > 30
        kernel.age(kernel.SKETCH, cache)
        assert all(kernel.estimate(key, cache.sketch) == n // 2 for key, n in found.items())


@MODES
@pytest.mark.parametrize("policy", [kernel.AGEING, kernel.SKETCH])
def test_a_tuple_has_to_be_more_frequent_than_what_it_replaces(mode: Any, policy: int) -> None:
    cache, at = empty_cache(2, 4), pointers()
    with mode():
        for key, f in ((0, 5), (1, 3)):
            for _ in range(f):
                kernel.count_seen(key, cache.sketch)
            assert kernel.admit(key, f, policy, 0, cache, at) == 1
        kernel.count_seen(2, cache.sketch)
        assert kernel.admit(2, 1, policy, 0, cache, at) == 0
        for _ in range(3):
            kernel.count_seen(2, cache.sketch)
        assert kernel.admit(2, 4, policy, 0, cache, at) == 2
    assert sorted(cache.keys.tolist()) == [0, 2]


def test_the_join_itself_runs_uncompiled_alike() -> None:
    """One call of `advance` in plain Python, the kernels below it compiled."""
    from papers.operators.semi_stream import DiskTable, SemiStreamJoin, SemiStreamRun
    from papers.operators.semi_stream_costs import Split

    keys = (np.random.default_rng(2).integers(0, 30, 300) ** 2 % 30).astype(np.int32)
    join = SemiStreamJoin("hybrid", Split(20, 4, 5), shedding="considering", position=0.3)
    arrivals = np.arange(300, dtype=np.float64) * 1e-3
    one, two = (SemiStreamRun(join, DiskTable.of(30), keys, arrivals) for _ in range(2))
    one.advance()
    compiled = joins.advance
    try:
        joins.advance = compiled.py_func  # type: ignore[assignment]
        two.advance()
    finally:
        joins.advance = compiled
    assert one.totals == two.totals
