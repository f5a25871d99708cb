"""The benchmark of algorithms for joins with a table, on tiny tables, and what rates tell."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from benchmarks import table_algorithms, table_server
from benchmarks.table_algorithms import Size
from benchmarks.table_orderings import (
    ALGORITHMS,
    CONSIDERING,
    UPFRONT,
    Setting,
    by_size,
    orderings,
)
from benchmarks.table_rates import Pace, service_rate
from benchmarks.table_sources import (
    FLIGHTS,
    Recorded,
    flights_missing,
    flights_source,
    postgresql_source,
)
from papers.naeem.foreign_keys import ForeignKeys
from streamjoin.cli.app import app

PACE = Pace(300, fill=0.0, most=5.0, seconds=0.01)


@pytest.fixture
def no_more_than_parquet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(table_algorithms, "SMALL", Size(3000, 1000, 0.01, PACE))
    monkeypatch.setattr(table_server, "missing", lambda: "there is none")
    monkeypatch.setattr(table_algorithms, "tpch_missing", lambda: "nor that")
    monkeypatch.setenv("STREAMJOIN_DATA", str(tmp_path))


@pytest.mark.usefixtures("no_more_than_parquet")
def test_rates_ratios_and_orderings() -> None:
    result = CliRunner().invoke(app, ["bench", "table-algorithms", "--quick", "--json"])
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    large = [row for row in found["rows"] if row["source"] == "parquet 3,000"]
    measured = [(row["memory"], row["skew"], row["algorithm"]) for row in large]
    assert measured == [
        *((0.1, 1.0, name) for name in (*ALGORITHMS, CONSIDERING, UPFRONT)),
        *((0.1, 0.0, name) for name in ALGORITHMS),
        *((0.01, 1.0, name) for name in ALGORITHMS),
    ]
    assert all(row["batches"] > 0 for row in found["rows"])
    assert found["ratios"]["parquet 3,000 10% skew 1 cinlj/inlj"] > 0
    assert "parquet 3,000 copied 10% skew 1 auto/best" in found["ratios"]
    claims = {one["claim"] for one in found["orderings"]}
    assert claims <= {f"NAE-C{n}" for n in (4, 5, 6, 7, 8, 9, 16, 19)}
    assert {"NAE-C6", "NAE-C7"} <= claims
    assert set(found["skipped"]) == {"postgresql", "tpch", "flights"}
    assert "tpch: skipped, since nor that" in result.stderr


def rates(gains: dict[float, float], skew: float = 1.0) -> dict[Setting, float]:
    """Rates in which a front stage gains so much, by memory."""
    plain = {"inlj": 10.0, "meshjoin": 100.0, "hybridjoin": 200.0}
    return {
        Setting("x", memory, skew, c + name): rate * (by if c else 1.0)
        for memory, by in gains.items()
        for name, rate in plain.items()
        for c in ("", "c")
    }


def verdicts(found: dict[Setting, float], claim: str) -> list[bool]:
    return [one.holds for one in orderings(found) if one.claim == claim]


def test_orderings_that_hold() -> None:
    found = {**rates({0.01: 1.5, 0.1: 2.0}), **rates({0.1: 0.95}, skew=0.0)}
    found |= {Setting("x", 0.1, 1.0, CONSIDERING): 300.0, Setting("x", 0.1, 1.0, UPFRONT): 150.0}
    found[Setting("x", 0.1, 0.0, "meshjoin")] = 101.0
    claims = [one.claim for one in orderings(found)]
    assert set(claims) == {f"NAE-C{n}" for n in (4, 6, 7, 8, 9, 16, 19)}
    assert all(one.holds for one in orderings(found))


def test_orderings_that_do_not_hold() -> None:
    found = {**rates({0.01: 1.5, 0.1: 0.9}), **rates({0.1: 1.1}, skew=0.0)}
    found |= {Setting("x", 0.1, 1.0, CONSIDERING): 50.0, Setting("x", 0.1, 1.0, UPFRONT): 60.0}
    assert verdicts(found, "NAE-C4") == [True, True, False, False, False, False]
    assert verdicts(found, "NAE-C7") == [False] * 3
    assert verdicts(found, "NAE-C8") == [False] * 2
    assert verdicts(found, "NAE-C16") == verdicts(found, "NAE-C19") == [False]


def test_gains_on_a_larger_table() -> None:
    found = rates({0.5: 2.0, 0.1: 3.0})
    small, large = (Setting("x", memory, 1.0, "") for memory in (0.5, 0.1))
    assert [(one.stated.split("/")[0], one.holds) for one in by_size(found, small, large)] == [
        ("cmeshjoin", True), ("chybridjoin", False),
    ]  # fmt: skip


def test_flights_with_their_airports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("STREAMJOIN_DATA", str(tmp_path))
    assert flights_missing() == f"STREAMJOIN_DATA names no folder with {FLIGHTS}"
    (tmp_path / FLIGHTS).mkdir()
    codes = [f"A{n:03d}" for n in range(250)]
    airports = pa.table({"iata": pa.array(codes, pa.large_string()), "name": codes})
    pq.write_table(airports, tmp_path / FLIGHTS / "airports.parquet")
    origins = [codes[n * n % 250] for n in range(100)]
    flights = pa.table(
        {"origin": origins, "ts": range(100), "destination": origins, "delay": range(100)}
    )
    pq.write_table(flights, tmp_path / FLIGHTS / "flights.parquet")
    assert flights_missing() is None
    rate = service_rate(flights_source(tmp_path), "auto", 20_000, 1.0, PACE, tmp_path / "index")
    assert rate.rows_per_s > 0


def test_a_recorded_stream_begins_again_and_may_get_other_keys(tmp_path: Path) -> None:
    rows = pa.table({"n": range(5), "k": range(10, 15)})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=3)
    stream = Recorded(tmp_path / "rows.parquet", ("k", "n"))
    assert stream.take(0).column_names == ["k", "n"]
    assert stream.take(4)["k"].to_pylist() == [10, 11, 12, 13]
    assert stream.take(4)["k"].to_pylist() == [14, 10, 11, 12]
    other = Recorded(tmp_path / "rows.parquet", ("k", "n"), ForeignKeys(3, 1.0)).take(50)
    assert set(other["k"].to_pylist()) == {1, 2, 3}
    assert other["n"].to_pylist() == [*range(5)] * 10


@pytest.mark.system
@pytest.mark.skipif(table_server.missing() is not None, reason=str(table_server.missing()))
def test_customers_in_a_database(tmp_path: Path) -> None:
    pytest.importorskip("adbc_driver_postgresql")
    with table_server.Server() as server:
        source = postgresql_source(server, 500)
        rate = service_rate(source, "cinlj", 10_000, 1.0, PACE, tmp_path)
        assert rate.rows_per_s > 0
