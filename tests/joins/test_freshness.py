"""Freshness of the results of two streams (JAQ-A9, JAQ-C14)."""

from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import ConfigError
from streamjoin.local import LocalJoin
from tests.strategies import FEW, SCHEMA, Scenario, scenarios, table

MINUTE = 60_000_000
STOCKS = pa.schema(
    {"symbol": pa.string(), "volume": pa.int64(), "t": pa.timestamp("us")}
)  # of JAQPOT's query Q1


def _stocks(*rows: tuple[str, int, int]) -> pa.Table:
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    columns[2] = pa.array([t * MINUTE for t in columns[2]], pa.timestamp("us"))
    return pa.table(columns, schema=STOCKS)


def test_q1_withholds_what_is_older_than_12_minutes_though_within_the_window() -> None:
    """JAQ-C14: a pair within 10 minutes of each other is stale when one is 13 minutes old."""
    join = LocalJoin(
        STOCKS, STOCKS, where="left.symbol = 'GOOG' AND right.volume > left.volume", time="t",
        window="10 minutes", freshness="12 minutes", lateness="30 minutes",
    )  # fmt: skip
    join.push(_stocks(("GOOG", 5, 0)), None)
    fresh = join.push(None, _stocks(("SONY", 9, 8)))
    assert (fresh.num_rows, join.metrics.stale) == (1, 0)
    join.push(_stocks(("IBM", 1, 13)), None)  # now it is minute 13
    late = join.push(None, _stocks(("NTT", 9, 9)))
    assert (late.num_rows, join.metrics.stale, join.metrics.pairs) == (0, 1, 1)


def test_streams_may_differ() -> None:
    settings: dict[str, Any] = {"on": "symbol", "time": "t", "lateness": "1 hour"}
    join = LocalJoin(
        STOCKS, STOCKS, window="10 minutes", freshness=("12 minutes", "15 minutes"), **settings
    )
    join.push(_stocks(("X", 1, 0)), _stocks(("Y", 1, 0)))
    join.push(_stocks(("Z", 1, 14)), None)
    right_is_old = join.push(_stocks(("Y", 1, 10)), None)
    left_is_old = join.push(None, _stocks(("X", 1, 10)))
    assert (right_is_old.num_rows, left_is_old.num_rows) == (1, 0)


@FEW
@given(scenarios(), st.integers(0, 30))
def test_no_stale_pair_comes_out(scenario: Scenario, more: int) -> None:
    settings: dict[str, Any] = {
        "on": "k", "time": "t", "lateness": f"{scenario.lateness} us",
        "window": tuple(f"{w} us" for w in scenario.window),
    }  # fmt: skip
    age = max(scenario.window) + more
    every, fresh = (LocalJoin(SCHEMA, SCHEMA, **s) for s in (
        settings, {**settings, "freshness": f"{age} us"}
    ))  # fmt: skip
    newest = -1
    for left, right in scenario.batches:
        tables = table(left), table(right)
        newest = max([newest, *(r["t"] for r in [*left, *right] if r["t"] is not None)])
        wanted = Counter(
            tuple(row.values())
            for row in _rows(every.push(*tables))
            if min(row["t_left"], row["t_right"]) >= newest - age
        )
        assert Counter(tuple(row.values()) for row in _rows(fresh.push(*tables))) == wanted
        assert fresh.metrics.stale == every.metrics.pairs - wanted.total()


def _rows(out: pa.Table) -> list[dict[str, Any]]:
    for name in ("t_left", "t_right"):
        at = out.schema.get_field_index(name)
        out = out.set_column(at, name, out[name].cast(pa.int64()))
    found: list[dict[str, Any]] = out.to_pylist()
    return found


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"freshness": "9 minutes"},
            "freshness: got 9 minutes for the left stream, shorter than its window; allowed: at "
            "least 10 minutes",
        ),
        (
            {"freshness": "1 hour", "how": "left"},
            "freshness: got '1 hour' with how='left'; allowed: only with 'inner'",
        ),
        ({"freshness": "soon"}, "freshness: got 'soon'"),
        (
            {"freshness": ("1 hour",)},
            "freshness: got ('1 hour',); allowed: one duration or a pair (left, right)",
        ),
    ],
)
def test_wrong_use_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        LocalJoin(STOCKS, STOCKS, on="symbol", time="t", window="10 minutes", **settings)
    assert message in str(refused.value)
