"""The claims of Valsomatzis and Gounaris: all there, derived counts, judges that can say both."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from papers.base import AllNumbers
from papers.measurement import Measurement
from papers.run import Outcome
from papers.valsomatzis import PAPER
from papers.valsomatzis.comparison import GRID, Compared, Span
from papers.valsomatzis.nary_streams import DATA_SETS, DataSet
from papers.valsomatzis.printed import HALVES, PERIODS, TIMES, TIMESTAMP, average
from papers.valsomatzis.tables import TABLES
from streamjoin.planning.many.nary import Order
from tests.system.papers.checks import claims_without_figure, flipped, report

Case = tuple[DataSet, str]
Table = Mapping[Case, Mapping[Order, Compared]]


@pytest.fixture(scope="module")
def compared(quick: Outcome) -> Table:
    found: Table = quick.numbers["policies"]["compared"]
    return found


def test_every_claim_is_there_once_with_a_judge() -> None:
    assert claims_without_figure(PAPER, "VAL", 12) == set()


def test_no_verdict_has_flipped(quick: Outcome) -> None:
    assert flipped(quick) == {}


def test_the_report_shows_every_figure_and_table(quick: Outcome) -> None:
    page = report(quick, PAPER, n_figures=7)
    for table in TABLES:
        assert table.title.replace("'", "&#x27;") in page
        assert len({len(row) for row in table.rows(quick.numbers)} | {len(table.columns)}) == 1


def test_printed_averages_are_the_derived_ones() -> None:
    """VAL-C1 and VAL-C2."""
    times = [round(average(TIMES[o], p), 4) for o in TIMES for p in PERIODS]
    assert times == [1.0053, 0.9797, 0.824, 0.768, 0.8325, 0.7145, 0.874, 0.8033]
    halves = [round(average(HALVES[o], p), 3) for o in HALVES for p in PERIODS]
    assert halves == [0.583, 0.533, 0.492, 0.45, 0.25, 0.2, 0.817, 0.842, 0.783, 0.792]


def test_all_orders_give_the_same_results(quick: Outcome) -> None:
    """VAL-U5, at a tenth of the paper's cardinalities."""
    assert quick.numbers["policies"]["same_results"]
    assert quick.numbers["arrivals"]["results"] == {
        name: 10**6 if name in ("V", "VI") else 5 * 10**6 for name in DATA_SETS
    }


def test_counts_are_those_of_the_derivation(compared: Table) -> None:
    """VAL-I5: probes hardly differ, changes of the driver do; VAL-I6: results by work."""
    for (name, period), found in compared.items():
        most = 0.002 if period == "0.1M" else 0.02
        for order, each in found.items():
            assert each.probes.mean == pytest.approx(1, abs=most)
            if order not in ("timestamp", "round-robin"):
                assert each.changes <= (240 if period == "0.1M" else 24)
            if name == "I":
                assert 0.42 < each.half_counted.mean < 0.55
    for name, least in (("I", 150_000), ("V", 9_000)):
        assert compared[name, "0.1M"][TIMESTAMP].changes > least


def test_on_uneven_streams_the_order_decides_when_results_come(compared: Table) -> None:
    """VAL-I6, in virtual time."""
    for name in ("V", "VI"):
        for period in PERIODS:
            found = compared[name, period]
            halves = [
                found[order].half_counted.mean
                for order in ("consumption-rate", "timestamp", "round-robin", "output-rate")
            ]
            assert halves == sorted(halves)
            assert halves[0] < 0.4 < 0.55 < halves[-1]


def test_the_model_has_the_printed_gain_where_it_was_fitted(compared: Table) -> None:
    found = compared["I", "1M"]
    early = [found[order].time_model for order in ("initial-output-size", "output-rate")]
    assert np.mean(early) == pytest.approx((0.791 + 0.769) / 2, abs=0.001)


def _curve(half: float, total: float) -> np.ndarray[Any, Any]:
    """Results by time as the text has them: 60 and 80 % very early, or few for long."""
    points = {0.0: 0.0} | ({0.15: 0.6} if half > 0.6 else {}) | ({0.25: 0.8} if half > 0.8 else {})
    points |= {0.5: half, 0.7: max(half, 0.9 if half >= 0.45 else 0.2), max(total, 0.75): 1.0}
    return np.interp(GRID, list(points), list(points.values()))


def _authors(numbers: AllNumbers) -> dict[str, Any]:
    """Measurements as the authors print them, in place of ours."""

    def change(case: Case, order: Order, one: Compared) -> Compared:
        time = TIMES[order][case] if order in TIMES else 1.0
        first = time
        if case[0] == "IV":
            first -= 0.02
        elif (case[0], order) == ("VI", "consumption-rate"):
            first = TIMES["initial-output-size"][case]
        half = HALVES[order][case]
        times: dict[Span, float] = {"all": time, "first": first, "second": 2 * time - first}
        return replace(
            one,
            time={span: Measurement.of([value]) for span, value in times.items()},
            half=Measurement.of([half]),
            waited=Measurement.of([time / 2]),
            curve=dict.fromkeys(times, _curve(half, time)),
        )

    return _changed(numbers, change)


def _changed(
    numbers: AllNumbers, change: Callable[[Case, Order, Compared], Compared]
) -> dict[str, Any]:
    found = {
        case: {order: change(case, order, one) for order, one in each.items()}
        for case, each in numbers["policies"]["compared"].items()
    }
    return {**numbers, "policies": {**numbers["policies"], "compared": found}}


def _alike(_case: Case, _order: Order, one: Compared) -> Compared:
    """No order differs from another."""
    same = {span: Measurement.of([1.0]) for span in one.time}
    return replace(one, time=same, half=Measurement.of([0.5]), waited=Measurement.of([0.5]),
                   curve={span: np.minimum(GRID, 1) for span in one.curve},
                   half_counted=Measurement.of([0.5]), changes=100.0)  # fmt: skip


@pytest.mark.parametrize("claim", [f"VAL-C{n}" for n in (1, 2, 3, 4, 5, 7, 10, 11)])
def test_the_authors_numbers_would_be_reproduced(quick: Outcome, claim: str) -> None:
    found = PAPER.judges[claim](_authors(quick.numbers))
    assert found.verdict == "reproduced", found.why


@pytest.mark.parametrize("claim", [c.id for c in PAPER.claims if c.id not in ("VAL-C8", "VAL-C12")])
def test_orders_that_do_not_differ_are_not_reproduced(quick: Outcome, claim: str) -> None:
    numbers = _changed(quick.numbers, _alike)
    assert PAPER.judges[claim](numbers).verdict == "not reproduced"


def test_the_text_on_data_set_six_contradicts_the_printed_table(quick: Outcome) -> None:
    """VAL-I7: consumption rate is behind timestamp order in Table 5."""
    found = PAPER.judges["VAL-C6"](_authors(quick.numbers))
    assert found.verdict == "not reproduced"
    assert "Does not: all three give results earlier than it." in found.why


def test_a_join_that_falls_behind_is_seen(quick: Outcome) -> None:
    fast, slow = quick.numbers["elapsed"]["beyond"].values()
    late = {"beyond": {30.0: {**fast, ("I", "1M"): 5.0}, 0.8: slow}}
    assert PAPER.judges["VAL-C12"](quick.numbers).verdict == "reproduced"
    assert PAPER.judges["VAL-C12"]({**quick.numbers, "elapsed": late}).verdict == "not reproduced"


def test_more_probes_would_be_a_cause(quick: Outcome) -> None:
    """VAL-C9 fails by its first half; it must be able to hold."""
    fewer = Measurement.of([0.9])

    def change(_case: Case, order: Order, one: Compared) -> Compared:
        less = Measurement.of([0.95]) if order == "output-rate" else fewer
        return replace(one, probes=Measurement.of([1.0]) if order == TIMESTAMP else less)

    assert PAPER.judges["VAL-C9"](quick.numbers).verdict == "not reproduced"
    assert PAPER.judges["VAL-C9"](_changed(quick.numbers, change)).verdict == "reproduced"


def test_a_comparison_has_all_it_names(compared: Table) -> None:
    base = compared["V", "1M"][TIMESTAMP]
    assert {f.name for f in fields(base)} >= {"time", "half", "waited", "curve"}
    assert base.time["all"].mean == base.probes.mean == base.time_model == 1
    assert base.curve["all"][0] == 0
    assert base.curve["all"][-1] == pytest.approx(1)
