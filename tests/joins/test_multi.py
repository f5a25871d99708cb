"""Joins of many streams against the oracle: all plans, windows, cuts, disorder, restarts."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamjoin import oracle
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.local import LocalMultiJoin
from streamjoin.windows import Rows

SECOND = 1_000_000
SCHEMA = pa.schema({"x": pa.int64(), "y": pa.string(), "t": pa.timestamp("us"), "n": pa.int64()})
Row = dict[str, Any]
Streams = dict[str, list[Row]]


@st.composite
def trees(draw: st.DrawFn, names: list[str]) -> str:
    """Any plan over these streams."""
    parts = draw(st.permutations(names))
    while len(parts) > 1:
        i = draw(st.integers(0, len(parts) - 2))
        parts = [*parts[:i], f"({parts[i]} {parts[i + 1]})", *parts[i + 2 :]]
    return parts[0]


@st.composite
def rows(draw: st.DrawFn, most: int) -> list[Row]:
    n = draw(st.integers(0, most))
    times = draw(st.lists(st.integers(0, 20), min_size=n, max_size=n))
    found = []
    for number, time in enumerate(times):
        found.append(
            {
                "x": draw(st.sampled_from([None, 1, 1, 2])),
                "y": draw(st.sampled_from([None, "p", "p", "q"])),
                "t": time * SECOND,
                "n": number,
            }
        )
    return found


def table(of: list[Row]) -> pa.Table:
    columns = {name: [row[name] for row in of] for name in SCHEMA.names}
    columns["t"] = pa.array(columns["t"], pa.int64()).cast(pa.timestamp("us"))
    return pa.table(columns, schema=SCHEMA)


def expected(streams: Streams, on: Any, windows: Mapping[str, Any]) -> Counter[tuple[int, ...]]:
    sizes = {
        name: window if isinstance(window, Rows) or window is None else window * SECOND
        for name, window in windows.items()
    }
    times = dict.fromkeys(streams, "t")
    found = oracle.multi_join(streams, on=on, time=times, window=sizes)
    return Counter(tuple(one[name]["n"] for name in streams) for one in found)


def words(windows: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: window if isinstance(window, Rows) or window is None else f"{window} seconds"
        for name, window in windows.items()
    }


def restarted(join: LocalMultiJoin) -> None:
    """Read the directories back as a checkpoint would give them."""
    join.states = [
        MultiJoinState.from_dict(json.loads(json.dumps(state.to_dict()))) for state in join.states
    ]


def run(join: LocalMultiJoin, streams: Streams, cuts: list[list[int]]) -> Counter[tuple[int, ...]]:
    """Feed all rows in batches, with a restart after each."""
    found: Counter[tuple[int, ...]] = Counter()
    steps = max((len(cut) for cut in cuts), default=0)
    for i in range(steps + 1):
        batch = {}
        for (name, of), cut in zip(streams.items(), cuts, strict=True):
            ends = [0, *cut, *[len(of)] * (steps + 1 - len(cut))]
            batch[name] = table(of[ends[i] : ends[i + 1]])
        found += _numbers(join.push(batch), streams)
        restarted(join)
    found += _numbers(join.finish(), streams)
    return found


def _numbers(out: pa.Table, streams: Streams) -> Counter[tuple[int, ...]]:
    columns = [out[f"{name}_n"].to_pylist() for name in streams]
    return Counter(zip(*columns, strict=True))


@st.composite
def cases(draw: st.DrawFn, windows: st.SearchStrategy[Any]) -> dict[str, Any]:
    names = [f"s{i}" for i in range(draw(st.integers(2, 5)))]
    streams = {name: draw(rows(most=7 if len(names) < 5 else 5)) for name in names}
    cuts = [sorted(draw(st.lists(st.integers(0, len(of)), max_size=3))) for of in streams.values()]
    return {
        "streams": streams,
        "cuts": cuts,
        "windows": {name: draw(windows) for name in names},
        "plan": draw(st.none() | trees(names)),
    }


LENIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=60)
DURATIONS = st.sampled_from([1, 3, 8])
ANY = st.sampled_from([3, 8, None, Rows(1), Rows(2), Rows(4)])


def _shared(names: list[str], column: str) -> list[Any]:
    return [((names[0], column), (other, column)) for other in names[1:]]


@LENIENT
@given(cases(DURATIONS), st.sampled_from(["x", "y"]))
def test_one_key_and_windows_of_time(case: dict[str, Any], key: str) -> None:
    streams, windows = case["streams"], case["windows"]
    join = LocalMultiJoin(
        dict.fromkeys(streams, SCHEMA), on=key, time="t", window=words(windows),
        plan=case["plan"], lateness="20 seconds",
    )  # fmt: skip
    assert run(join, streams, case["cuts"]) == expected(
        streams, _shared(list(streams), key), windows
    )


@LENIENT
@given(cases(ANY))
def test_windows_that_count(case: dict[str, Any]) -> None:
    streams, windows = case["streams"], {**case["windows"], "s0": Rows(2)}
    join = LocalMultiJoin(
        dict.fromkeys(streams, SCHEMA), on="x", time="t", window=words(windows),
        plan=case["plan"], lateness="20 seconds",
    )  # fmt: skip
    assert run(join, streams, case["cuts"]) == expected(
        streams, _shared(list(streams), "x"), windows
    )


@LENIENT
@given(cases(DURATIONS), st.data())
def test_different_keys(case: dict[str, Any], data: st.DataObject) -> None:
    streams, windows = case["streams"], case["windows"]
    names = list(streams)
    on = []
    for i, name in enumerate(names[1:], start=1):
        column = data.draw(st.sampled_from(["x", "y"]))
        on.append(((names[data.draw(st.integers(0, i - 1))], column), (name, column)))
    join = LocalMultiJoin(
        dict.fromkeys(streams, SCHEMA), on=[f"{a}.{x} = {b}.{y}" for (a, x), (b, y) in on],
        time="t", window=words(windows), lateness="20 seconds",
    )  # fmt: skip
    assert run(join, streams, case["cuts"]) == expected(streams, on, windows)
