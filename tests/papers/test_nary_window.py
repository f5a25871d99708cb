"""The n-ary join over recorded streams: results against plain Python, whatever the order."""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from papers.operators.kernels import nary_window as kernel
from papers.operators.nary_window import NaryRun, NaryWindowJoin, Trace, nary_window_join
from papers.operators.nary_window_settings import PAPER_ORDERS, Each, batch_of, n_batches
from papers.valsomatzis.nary_streams import NaryStreams
from streamjoin.errors import ConfigError
from streamjoin.planning.many.nary import Order

Row = tuple[int, int]
"""Time and key."""
rows = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 3)), max_size=9).map(sorted)
streams = st.lists(rows, min_size=2, max_size=5)


def traces(drawn: Sequence[Sequence[Row]]) -> list[Trace]:
    return [
        Trace(
            np.array([t for t, _ in each], np.int64),
            np.array([k for _, k in each], np.int64),
        )
        for each in drawn
    ]


def naive(
    drawn: Sequence[Sequence[Row]], spans: Each | None, sizes: Each | None
) -> list[list[int]]:
    """Every combination of one tuple a stream with the same key and none gone at the newest."""
    order = sorted((t, j, i) for j, each in enumerate(drawn) for i, (t, _) in enumerate(each))
    rank = {(j, i): n for n, (_, j, i) in enumerate(order)}
    found = []
    for places in product(*(range(len(each)) for each in drawn)):
        if len({drawn[j][i][1] for j, i in enumerate(places)}) > 1:
            continue
        newest = max(rank[j, i] for j, i in enumerate(places))
        now = order[newest][0]
        young = all(
            spans is None or spans[j] is None or now - drawn[j][i][0] <= (spans[j] or 0)
            for j, i in enumerate(places)
        )
        near = all(
            sizes is None
            or sizes[j] is None
            or sum(rank[j, k] <= newest for k in range(i + 1, len(drawn[j]))) < (sizes[j] or 0)
            for j, i in enumerate(places)
        )
        if young and near:
            found.append(list(places))
    return found


def limits(n: int) -> st.SearchStrategy[Each]:
    return st.tuples(*[st.none() | st.integers(1, 12)] * n)


@given(streams, st.integers(1, 40), st.sampled_from(["none", "time", "count"]), st.data())
def test_results_are_those_of_plain_python_in_every_order(
    drawn: list[list[Row]], period: int, window: str, data: st.DataObject
) -> None:
    """VAL-U5 and VAL-A13."""
    each = data.draw(limits(len(drawn)))
    spans, sizes = each if window == "time" else None, each if window == "count" else None
    expected = naive(drawn, spans, sizes)
    prints = set()
    for order in PAPER_ORDERS:
        join = NaryWindowJoin(period, order, spans=spans, sizes=sizes, steps=3)
        run = nary_window_join(traces(drawn), join, keep=True)
        assert run.found is not None
        assert run.found.tolist() == expected
        assert run.tuples.sum() == sum(map(len, drawn))
        assert not run.left[:, -1].any()
        prints.add(run.fingerprint)
    assert len(prints) == 1


def test_compiled_and_plain_kernel_do_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = NaryStreams("V", scale=0.01).draw()
    given_traces = [Trace(each.times, each.keys) for each in drawn]
    join = NaryWindowJoin(1_000_000, "output-rate", spans=(10**6, None, 10**6), steps=4)
    compiled = nary_window_join(given_traces, join, keep=True)
    monkeypatch.setattr(kernel, "process", kernel.process.py_func)
    monkeypatch.setattr(kernel, "count_matches", kernel.count_matches.py_func)
    with np.errstate(over="ignore"):
        plain = nary_window_join(given_traces, join, keep=True)
    for name in ("tuples", "probes", "made", "results", "changes", "left", "found"):
        assert np.array_equal(getattr(compiled, name), getattr(plain, name)), name


def run_of(order: Order, period: int = 100, **more: object) -> NaryRun:
    """Three streams of one key: a at 0, 5, 60; b at 10, 40; c at 20."""
    times = ([0, 5, 60], [10, 40], [20])
    each = [Trace(np.array(t), np.zeros(len(t), np.int64)) for t in times]
    return nary_window_join(each, NaryWindowJoin(period, order, steps=6, **more))  # type: ignore[arg-type]


def test_orders_are_the_papers() -> None:
    """Who waits after each tuple tells who drove (VAL-A5..A10)."""
    assert run_of("timestamp").left[0, :6].tolist() == [
        [2, 2, 1], [1, 2, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0], [0, 0, 0]
    ]  # fmt: skip
    assert run_of("round-robin").left[0, :6].tolist() == [
        [2, 2, 1], [2, 1, 1], [2, 1, 0], [1, 1, 0], [1, 0, 0], [0, 0, 0]
    ]  # fmt: skip
    for order in ("consumption-rate", "initial-output-size"):
        drained = run_of(order)
        assert drained.left[0, :6].tolist() == [
            [2, 2, 1], [1, 2, 1], [0, 2, 1], [0, 1, 1], [0, 0, 1], [0, 0, 0]
        ]  # fmt: skip
        assert drained.changes.sum() == 2
    # The second batch has one a and one b; a's table has two tuples, so b brings more.
    assert run_of("output-rate", 30).left[1, 0].tolist() == [1, 0, 0]


def test_probes_stop_at_the_first_miss() -> None:
    one, two, three = (np.array(keys) for keys in ([1], [2, 2], [1]))
    each = [Trace(np.arange(len(keys)) + 10 * j, keys) for j, keys in enumerate((one, two, three))]
    by_miss = nary_window_join(
        each, NaryWindowJoin(100, "timestamp", sequences=((1, 2), (0, 2), (1, 0)))
    )
    by_hit = nary_window_join(
        each, NaryWindowJoin(100, "timestamp", sequences=((1, 2), (0, 2), (0, 1)))
    )
    assert (by_miss.probes.sum(), by_miss.made.sum()) == (4, 0)
    assert (by_hit.probes.sum(), by_hit.made.sum()) == (5, 1)
    assert by_hit.results.sum() == 0


@pytest.mark.parametrize("data_set", ["I", "V"])
def test_observed_selectivities_give_the_known_probing_sequences(data_set: str) -> None:
    drawn = NaryStreams(data_set, scale=0.03)  # type: ignore[arg-type]
    each = [Trace(stream.times, stream.keys) for stream in drawn.draw()]
    known = drawn.keys.sequences()
    seen = nary_window_join(each, NaryWindowJoin(100_000, "timestamp"))
    given_ = nary_window_join(each, NaryWindowJoin(100_000, "timestamp", sequences=known))
    assert seen.sequences == known
    assert seen.results.sum() == given_.results.sum() == drawn.keys.results
    assert seen.made.sum() <= 1.1 * given_.made.sum()


def test_empty_streams_and_idle_batches() -> None:
    none = np.zeros(0, np.int64)
    run = nary_window_join([Trace(none, none), Trace(none, none)], NaryWindowJoin(10, "timestamp"))
    assert run.tuples.shape[0] == 0
    far = Trace(np.array([0, 1000]), np.array([1, 1]))
    run = nary_window_join([far, far], NaryWindowJoin(10, "output-rate"))
    assert len(run.tuples) == 100
    assert run.results.sum() == 4
    assert run.tuples.sum(axis=1).nonzero()[0].tolist() == [0, 99]


def test_batches_of_the_paper() -> None:
    """VAL-U6 and VAL-I9."""
    assert [n_batches(0, 9_999_990, period) for period in (100_000, 1_000_000)] == [100, 10]
    assert batch_of(np.array([0, 99, 100, 200]), 0, 200, 100).tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"period": 0}, "period: got 0; allowed: 1 time unit or more"),
        ({"steps": 0}, "steps: got 0"),
        ({"order": "adaptive"}, "order: got 'adaptive'; allowed: timestamp, round-robin"),
        ({"spans": (1, 1), "sizes": (1, 1)}, "sizes: got both"),
        ({"spans": (1,)}, "spans: got .1,.; allowed: 2 of 1 or more, or None"),
        ({"sizes": (0, None)}, "sizes: got"),
        ({"sequences": ((1,), (1,))}, "sequences: got .1,. for stream 1; allowed: all others"),
        ({"sequences": ((1,),)}, "sequences: got 1; allowed: 2, one a stream"),
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object], sentence: str) -> None:
    one = Trace(np.array([0]), np.array([0]))
    with pytest.raises(ConfigError, match=sentence):
        nary_window_join([one, one], NaryWindowJoin(**{"period": 1, "order": "timestamp", **wrong}))  # type: ignore[arg-type]


def test_one_stream_is_refused() -> None:
    with pytest.raises(ConfigError, match="traces: got 1; allowed: two or more"):
        nary_window_join([Trace(np.array([0]), np.array([0]))], NaryWindowJoin(1, "timestamp"))
