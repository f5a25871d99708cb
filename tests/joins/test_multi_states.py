"""States that remember a number of tuples (JAQ-A1): what they hold, and how stale results get."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin.budget import Budget
from streamjoin.planning.many.tree import Tree
from streamjoin.shedding.costs import Costs
from streamjoin.windows import Rows
from tests.joins.multi_streams import (
    SECOND,
    Batch,
    local,
    poisson,
    restarted,
    table,
)

FOREVER = 10**18


class Tuple(NamedTuple):
    key: int
    start: int
    end: int


class Naive:
    """The plan tuple by tuple: a state of a join is the last n that it formed."""

    def __init__(self, plan: str, window: int, limits: dict[str, int]) -> None:
        self.tree, self.window = Tree.parse(plan), window
        self.limits = [limits.get(self.tree.label(x)) for x in range(self.tree.root)]
        self.states: list[list[Tuple]] = [[] for _ in range(self.tree.root)]

    def push(self, batch: Batch) -> Counter[tuple[int, ...]]:
        """Key and starts of the two tuples of each result; of others that are alike any may be."""
        tree = self.tree
        new = [self._rows(batch[name]) for name in tree.names]
        for node, (left, right) in enumerate(tree.joins, start=tree.n_streams):
            pairs = [(x, y) for x in new[left] for y in self.states[right] + new[right]]
            pairs += [(x, y) for x in self.states[left] for y in new[right]]
            matches = [(x, y) for x, y in pairs if _match(x, y)]
            new.append([self._formed(node, x, y) for x, y in matches])
        found: Counter[tuple[int, ...]] = Counter((x.key, x.start, y.start) for x, y in matches)
        for node in range(tree.root):
            limit = self.limits[node]
            if limit is None:
                self.states[node] += new[node]
            else:
                formed = sorted(new[node], key=lambda one: one.start)
                self.states[node] = (self.states[node] + formed)[-limit:]
        return found

    def _rows(self, rows: Any) -> list[Tuple]:
        times = rows["t"].cast("int64").to_pylist()
        return [
            Tuple(k, t, t + self.window) for k, t in zip(rows["k"].to_pylist(), times, strict=True)
        ]

    def _formed(self, node: int, x: Tuple, y: Tuple) -> Tuple:
        limited = node < self.tree.root and self.limits[node] is not None
        end = FOREVER if limited else min(x.end, y.end)
        return Tuple(x.key, max(x.start, y.start), end)


def _match(x: Tuple, y: Tuple) -> bool:
    return x.key == y.key and x.start <= y.end and y.start <= x.end


PLANS = {
    "(a b) c": ["a b"],
    "c (b a)": ["b a"],
    "((a b) c) d": ["a b", "a b c"],
    "(a b) (c d)": ["a b", "c d"],
}


@settings(deadline=None, max_examples=30)
@given(st.sampled_from(list(PLANS)), st.integers(0, 999), st.sampled_from([1, 3, 17, 1000]))
def test_a_state_is_the_last_tuples_that_were_formed(plan: str, seed: int, n: int) -> None:
    names = sorted(set(plan) - set("() "))
    states = {label: n + i for i, label in enumerate(PLANS[plan])}
    naive = Naive(plan, 2 * SECOND, states)
    join = local(
        names, plan=plan, window="2 seconds",
        states={label: Rows(size) for label, size in states.items()},
    )  # fmt: skip
    for batch in poisson(dict.fromkeys(names, 5.0), keys=3, batches=7, seed=seed):
        spread = {name: _apart(rows, i) for i, (name, rows) in enumerate(batch.items())}
        assert _starts(join.push(spread), naive.tree) == naive.push(spread)
        join = restarted(join)
        for label, size in states.items():
            node = next(x for x in join.plan.tree.susceptible if join.plan.tree.label(x) == label)
            assert sum(piece.rows for piece in join.states[0].pieces[node]) <= size


def test_tuples_outlive_those_that_they_were_formed_of() -> None:
    """The new tuple of a and b takes the place of the one that c has just met."""
    states = {"a b": Rows(1), "a b c": Rows(9)}
    join = local("abcd", plan="((a b) c) d", window="1 second", states=states)
    join.push({name: table([1], [0], 10) for name in "ab"})
    join.push({name: table([1], [1], 20) for name in "abc"})
    found = restarted(join).push({"d": table([1], [2])})
    every = {(a, b) for a in (10, 20) for b in (10, 20)}
    assert set(zip(found["a_n"].to_pylist(), found["b_n"].to_pylist(), strict=True)) == every


def _starts(out: Any, tree: Tree) -> Counter[tuple[int, ...]]:
    columns = [out["k"].to_pylist()]
    for child in tree.children(tree.root):
        names = [tree.names[i] for i in tree.streams(child)]
        times = [out[f"{name}_t"].cast("int64").to_numpy() for name in names]
        columns.append(np.max(times, axis=0).tolist())
    return Counter(zip(*columns, strict=True))


def _apart(rows: Any, i: int) -> Any:
    """Times that no other stream has, so that the order is known."""
    times = np.asarray(rows["t"].cast("int64")) // 8 * 8 + i
    return table(rows["k"], np.unique(times), int(rows["n"][0].as_py())) if len(rows) else rows


def _stale(planner: str, states: int, batches: list[Batch]) -> tuple[float, int, str | None]:
    """Part of the results that are stale, how many come out, and what is said to be infeasible."""
    join = local(
        "abc",
        plan="(a b) c",
        window={"a": "4 seconds", "b": "4 seconds", "c": "500 ms"},
        states={"a b": Rows(states)},
        freshness={"a": "8 seconds", "b": "8 seconds"},
        planner=planner,
        budget=Budget(rate=80),
        costs=Costs(),
    )
    for batch in batches:
        newest = max(rows["t"].cast("int64").to_numpy().max() for rows in batch.values())
        out = join.push(batch)
        for name in "ab":
            times = out[f"{name}_t"].cast("int64").to_numpy()
            assert not len(times) or times.min() >= newest - 8 * SECOND
    assert join.states[0].limits is not None
    part = join.total["stale"] / max(1, join.total["results"])
    return part, join.total["rows_out"], join.states[0].limits.infeasible


def test_cover_keeps_results_fresh() -> None:
    """Without cover all probes go to c, and what it finds gets older and older (JAQ-A20, A24)."""
    batches = list(poisson({"a": 60, "b": 60, "c": 100}, keys=60, batches=40))
    stale = {planner: _stale(planner, 100, batches) for planner in ("jaqpot", "exact", "grepp")}
    assert all(one[2] is None for one in stale.values())
    assert stale["grepp"][0] > 0.3
    assert stale["jaqpot"][0] < 0.25 * stale["grepp"][0]
    assert stale["exact"][0] < 0.25 * stale["grepp"][0]
    assert stale["jaqpot"][1] > stale["grepp"][1]


def test_what_cannot_be_kept_fresh_is_said() -> None:
    batches = list(poisson({"a": 60, "b": 60, "c": 100}, keys=2000, batches=12))
    _, _, said = _stale("jaqpot", 5000, batches)
    assert said is not None
    assert said.startswith("freshness: ")
    assert "too few" in said or "more than the" in said


def test_rows_that_tuples_carry_are_freed() -> None:
    states = {"a b": Rows(50), "a b c": Rows(80)}
    join = local("abcd", plan="((a b) c) d", window="2 seconds", states=states)
    sizes, held = [], []
    for batch in poisson(dict.fromkeys("abcd", 12.0), keys=10, batches=120):
        join.push(batch)
        sizes.append(join.counts["state_bytes"])
        held.append(sum(len(of) for of in join.states[0].carried))
    assert max(sizes[60:]) < 2 * max(sizes[10:60])
    assert max(held[60:]) <= 2 * max(held[10:60])
    pieces = sum(len(of) for of in (*join.states[0].pieces, *join.states[0].carried))
    assert len(join.stores[0]._windows) == pieces
