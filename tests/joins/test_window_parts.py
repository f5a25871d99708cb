"""Windows probed in part: a part of the exact result, the same whenever a batch is run again."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamjoin as sj
from streamjoin._typing import SIDES
from streamjoin.core.batch import Batch as Rows
from streamjoin.core.window import Axis
from streamjoin.errors import StreamJoinError
from streamjoin.joins.base import Pairs
from streamjoin.joins.window.parts import MOST_WORTH
from streamjoin.joins.window.parts import utility as utility_of
from streamjoin.joins.window.remembered import Remembered
from streamjoin.local import LocalJoin
from streamjoin.shedding.comparisons import SelectiveState
from streamjoin.shedding.fractions import POLICIES
from tests.joins import test_set_predicates as with_sets
from tests.joins.feeding import ids
from tests.joins.virtual_cpu import VirtualCpu
from tests.shedding.budgeted import INNER, Batch, batches
from tests.shedding.streams import stream
from tests.strategies import FEW, Case, Ids

SCHEMA = stream(1, 1, keys=1, seed=0).schema
TIGHT = st.sampled_from(["1 us", "7 us", "30 us"])
KINDS = st.sampled_from([*POLICIES, "lag", "drop"])
NESTED = with_sets.SCHEMAS[1].get_field_index("nested")


@pytest.fixture
def cpu() -> Iterator[VirtualCpu]:
    with pytest.MonkeyPatch.context() as patch:
        yield VirtualCpu().install(patch)


def said(kind: str, cpu: object = "300 us", **more: Any) -> dict[str, Any]:
    """Arguments of a join with a budget of CPU, by a policy or what gives way."""
    words: dict[str, Any] = {"lag": {"shed": ["selective", "lag"]}, "drop": {"shed": "drop"}}
    budget = sj.Budget(cpu=cpu, memory=more.pop("memory", None))  # type: ignore[arg-type]
    return {"budget": budget, **words.get(kind, {"split": kind}), **more}


def is_part(found: list[Ids], case: Case) -> bool:
    return all(one <= all_ for one, all_ in zip(found, case.answers(), strict=True))


@given(INNER, TIGHT, KINDS, st.sampled_from(["hash", "nested", "batch"]), st.booleans())
def test_each_batch_brings_a_part_of_the_exact_result(
    case: Case, us: str, kind: str, algorithm: str, far_apart: bool
) -> None:
    """Disorder, ties, empty sides, one-sided and tiny windows; spans of a thousand years."""
    if far_apart:
        case = stretched(case, 10**15)
    band = case.where is not None and "abs" in case.where.text
    with pytest.MonkeyPatch.context() as patch:
        VirtualCpu().install(patch)
        found = batches(case, **said(kind, us, algorithm="auto" if band else algorithm))
    assert is_part([batch.found for batch in found], case)


def stretched(case: Case, by: int) -> Case:
    """The same with times that are far apart but for those that were equal or nearly so."""

    def move(t: int | None) -> int | None:
        return None if t is None else t // 5 * by + t % 5

    moved = [
        ([{**r, "t": move(r["t"])} for r in left], [{**r, "t": move(r["t"])} for r in right])
        for left, right in case.batches
    ]
    return replace(case, batches=moved, lateness=4 * by)


@FEW
@given(with_sets.set_cases(), TIGHT, st.sampled_from(POLICIES))
def test_sets_too(case: Case, us: str, policy: str) -> None:
    """GED-A14: overlap and inner product."""
    window = [w if isinstance(w, int) else 9 for w in case.window]
    case = replace(case, how="inner", window=(window[0] or 1, window[1]))
    left, right = with_sets.SCHEMAS[0], with_sets.SCHEMAS[1].remove(NESTED)
    with pytest.MonkeyPatch.context() as patch:
        VirtualCpu().install(patch)
        join = LocalJoin(left, right, **case.arguments(), **said(policy, us))
        found = [
            ids(join.push(with_sets.rows_of(a, left), with_sets.rows_of(b, right)), "inner")
            for a, b in case.batches
        ]
    assert is_part([*found, ids(join.finish(), "inner")], case)


@FEW
@given(INNER, st.sampled_from(POLICIES))
def test_a_budget_that_is_always_enough_changes_nothing(case: Case, policy: str) -> None:
    """Also where a clock says that nothing takes any time."""
    with pytest.MonkeyPatch.context() as patch:
        VirtualCpu(received=0, looked_at=0, handed_out=0).install(patch)
        found = batches(case, **said(policy, "1 hour"))
    assert [batch.found for batch in found] == case.answers()
    for batch in found:
        assert batch.counts.selective == batch.counts.lagging == batch.counts.missed == 0
        assert batch.counts.fractions == (1.0, 1.0)


def tables(second: int, rate: float = 60, keys: int = 6, **more: Any) -> list[pa.Table]:
    return [stream(rate, 1, keys=keys, seed=s, start=second, **more) for s in SIDES]


def joined(**arguments: Any) -> LocalJoin:
    common = {"on": "k", "time": "t", "window": "4 s", "lateness": "2 s"}
    return LocalJoin(SCHEMA, SCHEMA, **{**common, **arguments})


def stored_times(join: LocalJoin) -> list[np.ndarray[Any, Any]]:
    remembered = Remembered(join.join, join.state, join.store)
    return [
        np.concatenate(
            [
                np.empty(0, np.int64),
                *(remembered.part(s, w).batch.times for w in join.state.windows[s]),
            ]
        )
        for s in SIDES
    ]


def brute_force(axis: Axis, old: list[Any], new: list[Any]) -> list[int]:
    """Pairs by the difference of their cells, one by one."""
    found = axis.empty()
    for left, right in ((old[0], new[1]), (new[0], old[1]), (new[0], new[1])):
        cells = np.subtract.outer(left // axis.cell_us, right // axis.cell_us).ravel()
        places = (cells - axis.lowest).astype(int)
        places = places[(places >= 0) & (places < len(found))]
        found += np.bincount(places, minlength=len(found))
    return [int(n) for n in found]


@pytest.mark.parametrize("policy", POLICIES)
def test_what_is_compared_is_counted(
    policy: str, cpu: VirtualCpu, monkeypatch: pytest.MonkeyPatch
) -> None:
    """GED-A12: by brute force, the pairs whose cells' difference is chosen."""
    plans, plan = list[Any](), SelectiveState.plan

    def spy(self: SelectiveState, *given: Any) -> Any:
        plans.append((given[0].comparisons, plan(self, *given)))
        return plans[-1][1]

    monkeypatch.setattr(SelectiveState, "plan", spy)
    join = joined(**said(policy, "400 us"))
    axis, partly = Axis(join.join.windows_us), 0
    for second in range(10):
        old, batch = stored_times(join), tables(second)
        join.push(*batch)
        new = [np.sort(np.asarray(t["t"].cast(pa.int64()))) for t in batch]
        counted, made = plans[-1]
        pairs = np.array(brute_force(axis, old, new))
        assert counted.tolist() == pairs.tolist()
        chosen = np.ones(len(pairs), bool) if made.chosen is None else made.chosen
        partly += made.chosen is not None
        counts = join.metrics
        done = [int(axis.of_side(np.where(chosen, pairs, 0), s).sum()) for s in SIDES]
        left = [int(axis.of_side(np.where(chosen, 0, pairs), s).sum()) for s in SIDES]
        assert [counts.compared_left, counts.compared_right] == done
        assert [counts.skipped_left, counts.skipped_right] == left
    assert partly >= 4


def copied(join: LocalJoin, **arguments: Any) -> LocalJoin:
    """Another join that goes on from the stored state."""
    again = joined(**arguments)
    saved = json.loads(json.dumps(join.state.to_dict()))
    again.state, again.store = type(join.state).from_dict(saved), copy.deepcopy(join.store)
    return again


@pytest.mark.parametrize("kind", ["best", "ra+tc+jd", "lag"])
def test_a_batch_that_is_run_again_decides_the_same(kind: str, cpu: VirtualCpu) -> None:
    """Whatever the clock says: decisions come from the state before."""
    join = joined(**said(kind))
    for second in range(8):
        batch, again = tables(second), copied(join, **said(kind))
        found, first = join.push(*batch), join.metrics
        cpu.looked_at *= 7
        assert again.push(*batch).equals(found)
        cpu.looked_at /= 7
        assert replace(again.metrics, cpu_us=0) == replace(first, cpu_us=0)
    assert join.total.selective > 0


@FEW
@given(INNER, TIGHT, KINDS)
def test_restarts_change_nothing(case: Case, us: str, kind: str) -> None:
    found = list[list[Batch]]()
    for restarts in (False, True):
        with pytest.MonkeyPatch.context() as patch:
            VirtualCpu().install(patch)
            found.append(batches(case, restarts=restarts, **said(kind, us)))
    assert found[0] == found[1]


SETTINGS: dict[str, dict[str, Any]] = {
    "none": {},
    "best": said("best"),
    "ra+tc": said("ra+tc"),
    "drop": said("drop"),
    "plenty": said("best", "1 hour"),
    "little memory": said("best", memory=sj.rows(150)),
    "memory alone": {"budget": sj.Budget(memory=sj.rows(150))},
}


@pytest.mark.parametrize(("before", "after"), [
    *(("best", after) for after in SETTINGS if after != "best"),
    *((before, "best") for before in SETTINGS if before != "plenty"),
    ("little memory", "none"),
])  # fmt: skip
def test_a_run_goes_on_with_another_budget(before: str, after: str, cpu: VirtualCpu) -> None:
    """What comes is a part of the exact result; without limits, all of it once windows are new."""
    exact, join = joined(), joined(**SETTINGS[before])
    for second in range(13):
        if second == 5:
            join = copied(join, **SETTINGS[after])
        batch = tables(second)
        found, all_ = ids(join.push(*batch), "inner"), ids(exact.push(*batch), "inner")
        assert found <= all_
        if second >= 11 and after in ("none", "plenty"):
            assert found == all_
            assert join.metrics.missed == 0
    assert (join.state.shedding is None) == (after == "none")
    if after == "none":
        assert len(join.store) == sum(map(len, join.state.windows))  # no sample is left


@pytest.mark.parametrize("kind", ["best", "ra"])
def test_sides_that_come_in_turns_are_not_overcharged(kind: str, cpu: VirtualCpu) -> None:
    """A row is met once by all that probe, also where the other side brings nothing."""
    join = joined(**said(kind, "5 ms", lateness="9 s"))
    for second in range(8):
        left, right = tables(second, rate=300, keys=100)
        join.push(left, None)
        assert join.metrics.selective == 0
        join.push(None, right)
        assert join.metrics.selective == 0
        assert join.metrics.cpu_us < 2000


def test_no_time_is_no_allowance(cpu: VirtualCpu) -> None:
    """A share of the cores holds over batches in which the streams' time does not move."""
    join = joined(**said("best", 0.001, lateness="9 s"))
    for second in range(20):
        left, right = tables(second, rate=100, keys=4)
        join.push(left, None)
        join.push(None, right)
    assert join.total.cpu_us <= 1.1 * 20_000


def followed(second: int) -> list[pa.Table]:
    """Each left row is followed by right ones: many 1 s later, fewer that weigh more 3 s later."""
    sides = []
    for side in SIDES:
        kinds = []
        for delay, rate, worth in ((1, 120, 1.0), (3, 60, 10.0)):
            rows = stream(rate, 1, keys=4, seed=10 * delay + side, start=second)
            keys = np.asarray(rows["k"]) + 1000 * delay + 4 * (9 + second - delay * side)
            rows = rows.set_column(0, "k", pa.array(keys))
            kinds.append(rows.append_column("u", pa.array(np.full(rows.num_rows, worth))))
        sides.append(pa.concat_tables(kinds))
    return sides


def utility_found(utility: Any) -> float:
    """Utility of the results that a join with little CPU finds, if it looks for `utility`."""
    schema = SCHEMA.append(pa.field("u", pa.float64()))
    common: dict[str, Any] = {"on": "k", "time": "t", "window": "4 s", "lateness": "2 s"}
    join = LocalJoin(schema, schema, **common, **said("best", "300 us"), utility=utility)
    worth = 0.0
    for second in range(16):
        found = join.push(*followed(second))["u_left"].to_numpy()
        worth += float(found.sum()) if second > 5 else 0.0
    return worth


def test_what_weighs_more_is_looked_for_first(cpu: VirtualCpu) -> None:
    """The total utility is higher than where the number of results counts."""
    cpu.received = 0.1
    plain = utility_found(None)
    for utility in ("u", ("u", None)):
        assert utility_found(utility) > 1.3 * plain


def test_what_is_not_a_weight_counts_as_nothing() -> None:
    schema = pa.schema({"t": pa.timestamp("us"), "u": pa.float64()})
    common: dict[str, Any] = {"time": "t", "window": "1 s", "budget": sj.Budget(cpu=0.5)}
    join = LocalJoin(schema, schema, **common, utility=("u", None)).join
    worth = [None, float("nan"), -5.0, float("-inf"), 0.0, 3.0, float("inf")]
    rows = pa.record_batch([pa.array([0] * 7, pa.timestamp("us")), worth], schema=schema)
    left = Rows(rows, join.left)
    at = np.arange(7, dtype=np.int32)
    found = utility_of(join, Pairs((left, left), (at, at)))
    assert np.asarray(found).tolist() == [0, 0, 0, 0, 0, 3, MOST_WORTH]


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "lag alone": ({"shed": ["lag"]}, "shed: got ['lag']; allowed: 'selective', 'drop'"),
    "spill": ({"shed": "spill"}, "shed: got 'spill'; allowed"),
    "no list": ({"shed": ("selective", "lag")}, "shed: got ('selective', 'lag'); allowed"),
    "selective rate": (
        {"budget": sj.Budget(rate=5), "shed": "selective"},
        "shed: got 'selective' with",
    ),
    "equal": ({"split": "equal"}, "split: got 'equal'; allowed where comparisons are chosen: best"),
    "ra for drop": ({"shed": "drop", "split": "ra"}, "split: got 'ra'; allowed with a budget of"),
    "utility of drop": ({"shed": "drop", "utility": "id"}, "utility: got 'id' with shed='drop'"),
    "utility of text": ({"utility": "s"}, "utility: left column 's' has type string; allowed"),
    "utility unknown": ({"utility": "y"}, "utility: "),
    "utility of nothing": ({"utility": (None, None)}, "utility: got (None, None); allowed"),
    "utility of three": ({"utility": ("id", "id", "id")}, "utility: got ('id', 'id', 'id');"),
    "utility is no name": ({"utility": 5}, "utility: got 5; allowed"),
    "utility without budget": ({"budget": None, "utility": "id"}, "utility: got 'id' without a"),
    "shed without budget": ({"budget": None, "shed": "selective"}, "shed: got 'selective' without"),
    "budget of a left join": ({"how": "left"}, "budget: got"),
    "weights of a left join": (
        {"budget": None, "how": "left", "weights": True},
        "weights: got True with how='left'; allowed: only with 'inner'",
    ),
    "window of rows": ({"window": sj.rows(5)}, "budget: got"),
}


@pytest.mark.parametrize("bad", BAD)
def test_arguments_that_are_refused(bad: str) -> None:
    arguments, message = BAD[bad]
    schema = SCHEMA.append(pa.field("s", pa.string()))
    common = {"on": "k", "time": "t", "window": "4 s", "budget": sj.Budget(cpu=0.5)}
    with pytest.raises(StreamJoinError) as refused:
        LocalJoin(schema, schema, **{**common, **arguments})
    assert str(refused.value).startswith(message)
    assert "; allowed" in str(refused.value)


def test_a_weight_needs_its_name() -> None:
    schema = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "_Weight": pa.int64()})
    other = schema.remove(2)
    with pytest.raises(StreamJoinError, match="weights: the result has a column '_weight'"):
        LocalJoin(schema, other, on="k", time="t", window="1 s", weights=True)
