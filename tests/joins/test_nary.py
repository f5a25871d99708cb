"""The n-ary join against the oracle: all orders, windows, cuts, disorder, restarts, keys."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from streamjoin.local import LocalMultiJoin
from streamjoin.planning.drivers import ORDERS
from tests.joins.test_multi import ANY, DURATIONS, LENIENT, SCHEMA, cases, expected, run, words

ORDER = st.sampled_from(ORDERS)


def _join(case: dict[str, Any], on: Any, windows: Any, order: str) -> LocalMultiJoin:
    return LocalMultiJoin(
        dict.fromkeys(case["streams"], SCHEMA), on=on, time="t", window=words(windows),
        lateness="20 seconds", strategy="mjoin", order=order,
    )  # fmt: skip


def _shared(names: list[str], column: str) -> list[Any]:
    return [((names[0], column), (other, column)) for other in names[1:]]


@LENIENT
@given(cases(DURATIONS), st.sampled_from(["x", "y"]), ORDER)
def test_one_key(case: dict[str, Any], key: str, order: str) -> None:  # VAL-U5
    streams, windows = case["streams"], case["windows"]
    found = run(_join(case, key, windows, order), streams, case["cuts"])
    assert found == expected(streams, _shared(list(streams), key), windows)


@LENIENT
@given(cases(ANY), ORDER)
def test_windows_that_count(case: dict[str, Any], order: str) -> None:
    streams, windows = case["streams"], {**case["windows"], "s0": 3}
    found = run(_join(case, "x", windows, order), streams, case["cuts"])
    assert found == expected(streams, _shared(list(streams), "x"), windows)


@LENIENT
@given(cases(DURATIONS | ANY), ORDER, st.data())
def test_different_keys(case: dict[str, Any], order: str, data: st.DataObject) -> None:
    """Any connected graph of equalities, cycles too."""
    streams, windows = case["streams"], {**case["windows"], "s0": 8}
    names = list(streams)
    on = []
    for i, name in enumerate(names[1:], start=1):
        column = data.draw(st.sampled_from(["x", "y"]))
        on.append(((names[data.draw(st.integers(0, i - 1))], column), (name, column)))
    for _ in range(data.draw(st.integers(0, 2))):
        one, other = data.draw(st.permutations(names))[:2]
        column = data.draw(st.sampled_from(["x", "y"]))
        on.append(((one, column), (other, column)))
    texts = [f"{a}.{x} = {b}.{y}" for (a, x), (b, y) in on]
    found = run(_join(case, texts, windows, order), streams, case["cuts"])
    assert found == expected(streams, on, windows)
