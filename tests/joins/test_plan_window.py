"""The plan in virtual time: counts against plain Python, probes against allowances."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin.core.kernels import plan_window as kernel
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.plan_window import (
    SECOND,
    Fixed,
    PlanJoin,
    PlanRun,
    PlanTrace,
    plan_window_join,
)
from streamjoin.joins.plan_window_policy import Planned
from streamjoin.planning.adaptation import Adaptation
from streamjoin.planning.plan_model import PlanModel
from streamjoin.planning.tree import Tree
from streamjoin.workloads.plan_streams import PlanStreams

PLANS = ("a b", "(a b) c", "a (b c)", "((a b) c) d", "(a b)(c d)", "((a b)(c d)) e", "(a b)((c d) e)")
LINEAR = Tree.parse("((a b) c) d")
Row = tuple[int, int, int]
"""Time, left key, right key."""

rows = st.lists(
    st.tuples(st.integers(0, 12), st.integers(0, 2), st.integers(0, 2)), max_size=10
).map(sorted)


def trace(drawn: list[Row]) -> PlanTrace:
    columns = np.array(drawn, np.int64).reshape(-1, 3).T
    return PlanTrace(*(np.ascontiguousarray(column) for column in columns))


class Naive:
    """The plan in plain Python: states are lists of dictionaries from stream to row."""

    def __init__(self, join: PlanJoin) -> None:
        self.join, self.tree = join, join.tree
        self.states: dict[int, list[Any]] = {node: [] for node in range(join.tree.root)}
        self.results: list[dict[int, Row]] = []
        self.stale = 0

    def run(self, streams: list[list[Row]]) -> "Naive":
        arrivals = [(row[0], i, row) for i, stream in enumerate(streams) for row in stream]
        for now, i, row in sorted(arrivals, key=lambda arrival: arrival[:2]):
            self.process(now, i, [{i: row}])
        return self

    def process(self, now: int, node: int, tuples: list[dict[int, Row]]) -> None:
        if node == self.tree.root:
            self.results += tuples
            self.stale += sum(self.is_stale(now, result) for result in tuples)
            return
        self.states[node] += [(now, each) for each in tuples]
        if self.join.sizes and (size := self.join.sizes[node]) is not None:
            self.states[node] = self.states[node][max(0, len(self.states[node]) - size) :]
        partners = [
            each
            for born, each in reversed(self.states[self.tree.sibling(node)])
            if now - born <= self.span(self.tree.sibling(node))
        ]
        found = [{**one, **two} for one in tuples for two in partners if self.match(node, one, two)]
        self.process(now, self.tree.parents[node], found)

    def match(self, node: int, one: dict[int, Row], two: dict[int, Row]) -> bool:
        left, right = (one, two) if max(one) < min(two) else (two, one)
        return left[max(left)][2] == right[min(right)][1]

    def span(self, node: int) -> float:
        span = self.join.spans_us[node] if self.join.spans_us else None
        return np.inf if span is None else span

    def is_stale(self, now: int, result: dict[int, Row]) -> bool:
        limits = self.join.freshness_us
        return any(
            limits[i] is not None and row[0] < now - limits[i] for i, row in result.items()
        ) if limits else False


def small(run: PlanRun) -> tuple[int, int]:
    return int(run.made.sum()), int(run.stale.sum())


@pytest.mark.parametrize("index", ["hash", "none"])
@pytest.mark.parametrize("plan", PLANS)
@given(data=st.data())
@settings(max_examples=25)
def test_unlimited_plans_find_what_plain_python_finds(plan: str, index: Any, data: Any) -> None:
    tree = Tree.parse(plan)
    limits = st.none() | st.integers(0, 6)
    nodes = st.tuples(*[limits] * tree.root)
    join = PlanJoin(
        tree,
        sizes=data.draw(st.just(()) | nodes),
        spans_us=data.draw(st.just(()) | nodes),
        freshness_us=data.draw(st.just(()) | st.tuples(*[limits] * tree.n_streams)),
        index=index,
    )
    streams = [data.draw(rows) for _ in tree.names]
    run = plan_window_join([trace(each) for each in streams], join, Fixed.unlimited(tree))
    expected = Naive(join).run(streams)
    assert small(run) == (len(expected.results), expected.stale)
    assert (run.probes == run.inserted).all()


def test_the_compiled_kernel_does_what_its_source_says(monkeypatch: pytest.MonkeyPatch) -> None:
    traces = [trace([(t, t % 2, t % 3) for t in range(0, 9, step)]) for step in (1, 2, 1, 3)]
    join = PlanJoin(LINEAR, sizes=(4,) * 6, freshness_us=(3,) * 4)
    policy = Fixed([1e6, 5e5, 1e6, 1e6, 2e6, 3e6])
    compiled = plan_window_join(traces, join, policy)
    for name in dir(kernel):
        if hasattr(part := getattr(kernel, name), "py_func"):
            monkeypatch.setattr(kernel, name, part.py_func)
    plain = plan_window_join(traces, join, policy)
    assert small(compiled) == small(plain)
    assert (compiled.probes == plain.probes).all()
