"""The tuple-at-a-time join: its pairs against the oracle, its accesses against the cost model."""

from collections import Counter
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.kang import cost_model
from papers.kang.cost_model import PAPER
from papers.operators.kernels import moving_window as kernel
from papers.operators.moving_window import (
    AccessCosts,
    Capacity,
    Direction,
    Invalidation,
    Structure,
    Trace,
    TupleRun,
    cost,
    moving_window_join,
)
from streamjoin import oracle
from streamjoin.errors import ConfigError, DataError

Structures = tuple[Structure, Structure]
KINDS: tuple[Structure, ...] = ("hash", "list")
STRUCTURES: list[Structures] = [(a, b) for a, b in product(KINDS, KINDS)]
INVALIDATIONS: tuple[Invalidation, ...] = ("active", "lazy")
SECOND = 1_000_000

Rows = list[tuple[int, int]]
ROWS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 4)), max_size=40).map(sorted)
FAR = st.lists(st.tuples(st.integers(1 - 2**62, 2**62 - 1), st.integers(-(2**63), 2**63 - 1)))


def trace(rows: Rows) -> Trace:
    return Trace(np.array([t for t, _ in rows], np.int64), np.array([k for _, k in rows], np.int64))


def steady(rate: int, seconds: int, n_keys: int, seed: int, offset_us: int = 0) -> Trace:
    """Constant spacing and uniform keys (KAN-D1)."""
    times = np.arange(rate * seconds, dtype=np.int64) * SECOND // rate + offset_us
    return Trace(times, np.random.default_rng(seed).integers(0, n_keys, len(times)))


def pairs_of(run: TupleRun) -> Counter[tuple[int, int]]:
    assert run.pairs is not None
    found = Counter(zip(*(side.tolist() for side in run.pairs), strict=True))
    assert found.total() == run.outputs
    return found


def expected(
    left: Rows, right: Rows, windows: tuple[int, int], direction: Direction
) -> Counter[tuple[int, int]]:
    sides = [[{"t": t, "k": k, "n": n} for n, (t, k) in enumerate(side)] for side in (left, right)]
    pairs = oracle.window_join(*sides, on=[("k", "k")], time=("t", "t"), window=windows)
    return Counter(
        (a["n"], b["n"]) for a, b in pairs if direction == "both" or b["t"] < a["t"]
    )  # of two tuples of one time the left one comes first


@pytest.mark.parametrize("invalidation", INVALIDATIONS)
@pytest.mark.parametrize("structures", STRUCTURES)
@given(
    left=ROWS,
    right=ROWS,
    windows=st.tuples(st.integers(0, 30), st.integers(0, 30)),
    n_buckets=st.none() | st.tuples(st.integers(1, 7), st.integers(1, 7)),
    direction=st.sampled_from(["both", "left to right"]),
)
@settings(max_examples=25)
def test_pairs_are_the_oracles(
    left: Rows, right: Rows, windows: tuple[int, int], n_buckets: Any, direction: Direction,
    structures: Structures, invalidation: Invalidation,
) -> None:  # fmt: skip
    run = moving_window_join(
        trace(left), trace(right), windows, structures, invalidation, n_buckets, direction,
        collect=True,
    )  # fmt: skip
    assert pairs_of(run) == expected(left, right, windows, direction)


@pytest.mark.parametrize("structures", STRUCTURES)
@given(left=FAR, right=FAR, windows=st.tuples(st.integers(0, 2**62 - 1), st.integers(0, 9)))
@settings(max_examples=15)
def test_far_times_and_keys(
    left: Rows, right: Rows, windows: tuple[int, int], structures: Structures
) -> None:
    left, right = sorted(left + left[:1]), sorted(right + left[:3])
    run = moving_window_join(trace(left), trace(right), windows, structures, collect=True)
    assert pairs_of(run) == expected(left, right, windows, "both")


def plain_accesses(
    left: Rows, right: Rows, windows: tuple[int, int], structures: Structures, n_buckets: int
) -> dict[str, list[int]]:
    """Active invalidation over Python's lists, counted as the paper does."""
    held: tuple[Rows, Rows] = ([], [])
    peak, count = [0, 0], {"probe": [0, 0], "insert": [0, 0], "invalidate": [0, 0]}

    def bucket(side: int, key: int) -> int:
        """Tuples that have to be touched for a key."""
        same = [k for _, k in held[side] if k % n_buckets == key % n_buckets]
        return len(same) if structures[side] == "hash" else len(held[side])

    arrivals = sorted((t, s, n, k) for s, side in enumerate((left, right)) for n, (t, k) in
                      enumerate(side))  # fmt: skip
    for time, side, _, key in arrivals:
        count["probe"][1 - side] += bucket(1 - side, key)
        held[side].append((time, key))
        count["insert"][side] += 1
        peak[side] = max(peak[side], len(held[side]))
        while held[side][0][0] < time - windows[side]:
            hashed = structures[side] == "hash"
            count["invalidate"][side] += bucket(side, held[side][0][1]) if hashed else 1
            del held[side][0]
    return {**count, "peak": peak}


@pytest.mark.parametrize("structures", STRUCTURES)
@given(left=ROWS, right=ROWS, windows=st.tuples(st.integers(0, 30), st.integers(0, 30)))
@settings(max_examples=25)
def test_accesses_are_those_of_the_paper(
    left: Rows, right: Rows, windows: tuple[int, int], structures: Structures
) -> None:
    run = moving_window_join(trace(left), trace(right), windows, structures, n_buckets=(5, 5))
    wanted = plain_accesses(left, right, windows, structures, n_buckets=5)
    assert {name: list(getattr(run, name)) for name in wanted} == wanted


@pytest.mark.parametrize("structures", STRUCTURES)
@pytest.mark.parametrize("rate_b", [5, 20, 60])
def test_cost_is_the_models(structures: Structures, rate_b: int) -> None:
    names = {"hash": "h", "list": "n"}
    model = getattr(cost_model, f"{names[structures[0]]}{names[structures[1]]}j")
    left, right = steady(20, 60, 10, seed=1), steady(rate_b, 60, 10, seed=2, offset_us=7)
    run = moving_window_join(
        left, right, (20 * SECOND, 20 * SECOND), structures, n_buckets=(10, 10),
        since_us=20 * SECOND,
    )  # fmt: skip
    predicted = model(20, rate_b, 20, 20, 10, 10, PAPER)
    assert cost(run, PAPER) / 40 == pytest.approx(predicted, rel=0.03)
    output_rate = cost_model.output_rate(20, rate_b, 20, 20, 0.1)
    assert run.outputs / 40 == pytest.approx(output_rate, rel=0.03)


@pytest.mark.parametrize("rate_b", [100, 160])
def test_lazy_lists_cost_what_the_model_says(rate_b: int) -> None:
    """KAN-A7, KAN-C22: 4 and 5 looks a probe."""
    left, right = steady(10, 80, 10, seed=1, offset_us=3), steady(rate_b, 80, 10, seed=2)
    one_way: dict[str, Any] = {
        "windows": (0, 60 * SECOND), "structures": ("list", "list"), "direction": "left to right",
        "since_us": 70 * SECOND,
    }  # fmt: skip
    active = moving_window_join(left, right, **one_way)
    lazy = moving_window_join(left, right, invalidation="lazy", **one_way)
    predicted = cost_model.nested_one_way_lazy(10, rate_b, 60, PAPER)
    assert cost(lazy, PAPER) / 10 == pytest.approx(predicted, rel=0.001)
    assert cost(lazy, PAPER) < cost(active, PAPER)
    assert lazy.peak[1] > active.peak[1]


@pytest.mark.parametrize(("rate_a", "rate_b"), [(10, 100), (20, 20)])
def test_lazy_hash_tables_cost_what_the_model_says(rate_a: int, rate_b: int) -> None:
    left, right = steady(rate_a, 80, 10, seed=1, offset_us=3), steady(rate_b, 80, 10, seed=2)
    run = moving_window_join(
        left, right, (0, 40 * SECOND), ("list", "hash"), "lazy", n_buckets=(1, 10),
        direction="left to right", since_us=60 * SECOND,
    )  # fmt: skip
    predicted = cost_model.hash_one_way_lazy(rate_a, rate_b, 40, 10, PAPER)
    assert cost(run, PAPER) / 20 == pytest.approx(predicted, rel=0.03)


def test_lazy_hash_windows_need_the_most_memory() -> None:
    left, right = steady(10, 60, 50, seed=1, offset_us=3), steady(100, 60, 50, seed=2)
    peaks = {}
    for structure, invalidation in product(KINDS, INVALIDATIONS):
        run = moving_window_join(
            left, right, (10 * SECOND, 10 * SECOND), ("list", structure), invalidation
        )
        peaks[structure, invalidation] = run.peak[1]
    assert peaks["hash", "active"] == peaks["list", "active"] < peaks["list", "lazy"]
    assert peaks["list", "lazy"] < peaks["hash", "lazy"]


def test_only_what_ends_in_between_is_counted() -> None:
    left, right = steady(10, 30, 3, seed=1), steady(10, 30, 3, seed=2, offset_us=5)

    def run(since: int | None, until: int | None) -> TupleRun:
        return moving_window_join(
            left, right, (SECOND, SECOND), since_us=since, until_us=until, collect=True
        )

    whole, cuts = run(None, None), [None, 10 * SECOND, 20 * SECOND, None]
    parts = [run(a, b) for a, b in pairwise(cuts)]
    assert sum(part.outputs for part in parts) == whole.outputs
    assert sum((pairs_of(part) for part in parts), Counter()) == pairs_of(whole)
    assert sum(sum(part.accesses) for part in parts) == sum(whole.accesses)
    assert parts[1].tuples == (100, 100)


def test_beyond_capacity_the_queue_grows_and_output_falls() -> None:
    """KAN-C10, C13: same output below capacity; a hash join that thrashes falls behind."""
    windows = (10 * SECOND, 10 * SECOND)
    outputs, waiting = {}, {}
    for rate_b in (20, 60):
        left, right = steady(10, 30, 10, seed=1), steady(rate_b, 30, 10, seed=2, offset_us=7)
        free = moving_window_join(left, right, windows, n_buckets=(10, 10), until_us=30 * SECOND)
        bound = moving_window_join(
            left, right, windows, n_buckets=(10, 10), capacity=Capacity(1500, PAPER),
            until_us=30 * SECOND,
        )  # fmt: skip
        outputs[rate_b], waiting[rate_b] = bound.outputs / free.outputs, bound.waiting
    assert cost_model.hhj(10, 20, 10, 10, 10, 10, PAPER) < 1500
    assert outputs[20] > 0.99
    assert waiting[20] < 5
    assert cost_model.hhj(10, 60, 10, 10, 10, 10, PAPER) > 2 * 1500
    assert outputs[60] < 0.7
    assert waiting[60] > 300


def test_service_takes_the_cost_of_the_accesses() -> None:
    left, right = trace([(0, 1), (10, 1)]), trace([])
    costs = Capacity(1e6, AccessCosts(nested=3.0, hashed=5.0))  # units are us

    def served(until: int, structure: Structure) -> tuple[int, int]:
        run = moving_window_join(
            left, right, (5, 5), (structure, "list"), capacity=costs, until_us=until
        )
        return run.tuples[0], run.waiting

    assert served(3, "list") == (0, 1)  # an insertion ends after 3 us, at 3
    assert served(4, "list") == (1, 0)
    assert served(16, "list") == (1, 1)  # insertion and removal, from 10 to 16
    assert served(17, "list") == (2, 0)
    assert served(25, "hash") == (1, 1)  # insertion and a bucket of two
    assert served(26, "hash") == (2, 0)


def test_without_compilation_the_same() -> None:
    left, right = steady(7, 3, 3, seed=1), steady(5, 3, 3, seed=2)
    for structures, invalidation in product(STRUCTURES, INVALIDATIONS):
        compiled = moving_window_join(
            left, right, (SECOND, SECOND), structures, invalidation, collect=True
        )
        with pytest.MonkeyPatch.context() as patch:
            for name, kernel_function in vars(kernel).copy().items():
                if hasattr(kernel_function, "py_func") and name != "mix":
                    patch.setattr(kernel, name, kernel_function.py_func)
            plain = moving_window_join(
                left, right, (SECOND, SECOND), structures, invalidation, collect=True
            )
        assert plain.accesses == compiled.accesses
        assert pairs_of(plain) == pairs_of(compiled)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"structures": ("hash", "tree")}, "structures: got 'tree'; allowed: hash or list"),
        ({"invalidation": "never"}, "invalidation: got 'never'; allowed: active or lazy"),
        ({"direction": "up"}, "direction: got 'up'"),
        ({"windows": (1, -1)}, "windows: got -1 us"),
        ({"windows": (2**62, 1)}, "windows: got"),
        ({"n_buckets": (0, 1)}, "n_buckets: got 0"),
    ],
)
def test_wrong_arguments_are_refused(changed: dict[str, Any], message: str) -> None:
    arguments = {"windows": (1, 1), **changed}
    with pytest.raises(ConfigError, match=message):
        moving_window_join(trace([]), trace([]), **arguments)


@pytest.mark.parametrize(
    ("times", "keys", "message"),
    [
        (np.zeros(2), np.zeros(2, np.int64), "times: got float64"),
        (np.zeros(2, np.int64), np.zeros(3, np.int64), "keys: got 3 for 2"),
        (np.array([2, 1]), np.zeros(2, np.int64), "times: got times out of order"),
        (np.array([2**62]), np.zeros(1, np.int64), r"times: got a time 2\*\*62"),
    ],
)
def test_wrong_traces_are_refused(times: Any, keys: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Trace(times, keys)


@pytest.mark.parametrize("per_second", [0.0, -1.0, float("inf"), float("nan")])
def test_wrong_capacities_are_refused(per_second: float) -> None:
    with pytest.raises(ConfigError, match="per_second"):
        Capacity(per_second, PAPER)
