"""The plan in virtual time: counts against plain Python, probes against allowances."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.jaqpot.plan_streams import PlanStreams
from papers.operators.kernels import plan_window as kernel
from papers.operators.plan_window import (
    SECOND,
    Fixed,
    PlanJoin,
    PlanRun,
    PlanTrace,
    plan_window_join,
)
from papers.operators.plan_window_policy import Planned
from streamjoin.errors import ConfigError, DataError
from streamjoin.planning.many.plan_model import PlanModel
from streamjoin.planning.many.planners import MAX_DECISIONS, Adaptation
from streamjoin.planning.many.tree import Tree

PLANS = (
    "a b",
    "(a b) c",
    "a (b c)",
    "((a b) c) d",
    "(a b)(c d)",
    "((a b)(c d)) e",
    "(a b)((c d) e)",
)
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
        limits = self.join.freshness_us or (None,) * len(result)
        ages = {i: now - row[0] for i, row in result.items()}
        return any(limit is not None and ages[i] > limit for i, limit in enumerate(limits))


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


def test_states_without_a_size_grow() -> None:
    """Two thousand tuples of a stream in a window, and more of the joins."""
    spans = (4 * SECOND,) * 6
    timed = PlanJoin(LINEAR, spans_us=spans)
    roomy = PlanJoin(LINEAR, sizes=(10**6,) * 6, spans_us=spans)
    drawn = PlanStreams((600.0,) * 4, ((0.0, (0.002,) * 3),), 6, seed=7).draw()
    traces = [PlanTrace(each.times, each.left, each.right) for each in drawn]
    one, two = (plan_window_join(traces, j, Fixed.unlimited(LINEAR)) for j in (timed, roomy))
    assert one.inserted[:, 4].sum() > 10_000
    assert one.made.tolist() == two.made.tolist()
    assert (one.outputs == two.outputs).all()


# ---- allowances


def streams(seconds: int, seed: int = 1, sigma: float = 0.05) -> list[PlanTrace]:
    drawn = PlanStreams((200.0,) * 4, ((0.0, (sigma,) * 3),), seconds, seed).draw()
    return [PlanTrace(each.times, each.left, each.right) for each in drawn]


def model(sigma: float = 0.05) -> PlanModel:
    return PlanModel.of(LINEAR, [200.0] * 4, [100.0] * 6, [sigma] * 3)


JOIN = PlanJoin(LINEAR, sizes=(100,) * 6, fill=True)


def test_probes_keep_their_allowance_and_are_spread_over_time() -> None:
    """JAQ-A1: inserts are not limited; JAQ-A8: throughput is the model's."""
    allowances = [20.0, 0.0, 7.5, 50.0, 80.0, 300.0]
    run = plan_window_join(streams(40), JOIN, Fixed(allowances), 40)
    probes = run.probes[10:]
    assert probes.mean(axis=0) == pytest.approx(allowances, abs=0.5)
    assert probes.max() < 1.6 * max(allowances)
    assert run.inserted[10:, :4].mean(axis=0) == pytest.approx([200] * 4, rel=0.05)
    assert run.made[10:].mean() == pytest.approx(model().throughput(allowances), rel=0.03)
    produced = model().flow(allowances).produced[4:6]
    assert run.inserted[10:, 4:].mean(axis=0) == pytest.approx(produced, rel=0.05)


def test_what_is_not_used_is_saved_up_for_a_cycle_only() -> None:
    """Nothing comes for 30 s; then as many probe as were earned in 10 s."""
    late = PlanTrace.single(np.full(200, 30 * SECOND), np.zeros(200, np.int64))
    first = PlanTrace.single(np.zeros(1, np.int64), np.zeros(1, np.int64))
    join = PlanJoin(Tree.parse("a b"), sizes=(1000, 1000), cycle_s=10.0)
    run = plan_window_join([first, late], join, Fixed([0.0, 5.0]))
    assert run.probes[:, 1].tolist() == [0] * 30 + [50]


def test_states_that_nobody_feeds_are_filled_only_on_request() -> None:
    starving = Fixed([0, 0, 0, 100.0, 0, 0])
    empty = plan_window_join(streams(5), replace(JOIN, fill=False), starving, 5)
    full = plan_window_join(streams(5), JOIN, starving, 5)
    assert empty.made.sum() == 0
    assert full.made.sum() > 0
    assert full.inserted[2:, 4:].sum() == 0


def test_stale_results_are_counted_and_can_be_withheld() -> None:
    """Nothing refreshes the states of ab and abc: what d finds there gets old (JAQ-A9)."""
    fresh = replace(JOIN, freshness_us=(3 * SECOND, None, None, None))
    starving = Fixed([0, 0, 0, 100.0, 0, 0])
    run = plan_window_join(streams(10), fresh, starving, 10)
    assert run.stale_share(0, 2) == 0
    assert run.stale_share(5) == 1
    assert run.results.sum() == run.made.sum()
    withheld = plan_window_join(streams(10), replace(fresh, withhold=True), starving, 10)
    assert (withheld.results == run.made - run.stale).all()
    assert withheld.stale.sum() == run.stale.sum() > 0


# ---- planners


def test_a_planner_follows_the_streams() -> None:
    """The selectivity of the root's join falls to a tenth, then plans change (JAQ-A25)."""
    steps = ((0.0, (0.05,) * 3), (15.0, (0.05, 0.05, 0.005)))
    drawn = PlanStreams((200.0,) * 4, steps, 40, seed=2).draw()
    traces = [PlanTrace(each.times, each.left, each.right) for each in drawn]
    policy = Planned("jaqpot", model(), 500.0, [2.0] * 4, Adaptation(), window=5)
    run = plan_window_join(traces, JOIN, policy, 40)
    assert policy.model.sigmas[[3, 5]] == pytest.approx([0.005] * 2, rel=0.3)
    assert policy.model.sigmas[:3] == pytest.approx([0.05] * 3, rel=0.15)
    assert len(policy.found) > 2
    assert policy.adaptation is not None
    assert len(policy.adaptation.decisions) == min(MAX_DECISIONS, len(policy.found) - 1)
    assert run.allowances[-1].tolist() != run.allowances[0].tolist()
    assert run.made[5:15].mean() > 5 * run.made[30:].mean()


def test_a_join_that_found_nothing_is_tried_again() -> None:
    """SBestHJP gives by selectivity: without memory of what was expected, 0 would stay 0."""
    steps = ((0.0, (0.05, 1e-6, 0.05)), (10.0, (0.05,) * 3))
    drawn = PlanStreams((200.0,) * 4, steps, 40, seed=3).draw()
    traces = [PlanTrace(each.times, each.left, each.right) for each in drawn]
    policy = Planned("s-best-hjp", model(), 500.0, adaptation=Adaptation(), window=5)
    run = plan_window_join(traces, JOIN, policy, 40)
    assert run.made[5:10].sum() < 0.01 * run.made[30:35].sum()


def test_a_plan_that_stays_is_planned_once() -> None:
    policy = Planned("grepp", model(), 500.0)
    run = plan_window_join(streams(4), JOIN, policy, 4)
    assert len(policy.found) == 1
    assert (run.allowances == run.allowances[0]).all()


# ---- refusals


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"sizes": (1, 2)}, "sizes: got 2; allowed: one for each of a, b, c, d, a b, a b c"),
        ({"freshness_us": (1,)}, "freshness_us: got 1; allowed: one for each of a, b, c, d"),
        ({"spans_us": (1, 1, 1, 1, 1, -4)}, "spans_us: got -4; allowed: 0 or more"),
        ({"withhold": True}, "withhold: got True without freshness_us"),
        ({"cycle_s": 0.0}, "cycle_s: got 0.0; allowed: more than 0"),
    ],
)
def test_wrong_settings_are_refused(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        replace(JOIN, **changed)


def test_wrong_traces_are_refused() -> None:
    with pytest.raises(DataError, match="left: got float64 of shape"):
        PlanTrace(np.zeros(1, np.int64), np.zeros(1), np.zeros(1, np.int64))  # type: ignore[arg-type]
    with pytest.raises(DataError, match="times: got others; allowed: from 0 to below"):
        PlanTrace.single(np.array([5, 4]), np.array([0, 0]))
    with pytest.raises(DataError, match="keys: got -1 to 0; allowed: from 0 to below"):
        PlanTrace.single(np.array([5, 5]), np.array([0, -1]))
    with pytest.raises(ConfigError, match="traces: got 3; allowed: 4, one for each stream"):
        plan_window_join(streams(1)[:3], JOIN, Fixed.unlimited(LINEAR))
