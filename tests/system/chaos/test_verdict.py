"""What is wrong with a run is noticed: a campaign that cannot fail would show nothing."""

from typing import Any

import pytest

from tests.system.chaos import answers, feeding
from tests.system.chaos.answers import Fed
from tests.system.chaos.checkpoint import Cuts
from tests.system.chaos.scenarios import BY_NAME, Scenario
from tests.system.chaos.verdict import Verdict, judge

Rows = dict[int, list[dict[str, Any]]]
N = 6


NAMES = (
    "full",
    "table",
    "tree",
    "inner, memory",
    "tree, rate",
    "inner, CPU",
    "inner, CPU by dropping",
)


@pytest.fixture(params=NAMES)
def scenario(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Scenario:
    monkeypatch.setattr(feeding, "FILES", N)
    return BY_NAME[request.param]


@pytest.fixture
def fed(scenario: Scenario) -> Fed:
    return feeding.draw(scenario, 3)


@pytest.fixture
def cuts(fed: Fed) -> Cuts:
    """The second stream is always a file behind, so that rows of the first are late."""
    sources = list(fed)
    batches = {
        batch: {
            name: [batch - (name != sources[0])]
            for name in sources
            if 0 <= batch - (name != sources[0]) <= N
        }
        for batch in range(N + 2)
    }
    return Cuts(batches)


@pytest.fixture
def written(scenario: Scenario, fed: Fed, cuts: Cuts) -> Rows:
    """Right results, all of them in the last batch."""
    of = answers.replayed if scenario.judged == "replayed" else answers.exact
    rows = [dict(row) for row in of(scenario, fed, cuts).elements()]
    return {batch: [] for batch in range(N + 1)} | {N + 1: rows}


@pytest.fixture
def reports(scenario: Scenario, fed: Fed, cuts: Cuts, written: Rows) -> dict[int, dict[str, Any]]:
    cut = 0 if scenario.judged == "exact" else 5
    compared = answers.comparisons(scenario, fed, cuts) if scenario.judged == "selected" else {}
    return {
        number: {
            "rows_in": sum(fed[name][n].num_rows for name, ns in taken.items() for n in ns),
            "rows_out": len(written[number]),
            "left_out": {"cut": cut},
            "comparisons": compared.get(number, 0),
            "ran": True,
        }
        for number, taken in cuts.batches.items()
    }


def faults(verdict: Verdict) -> tuple[int, int, int]:
    return verdict.lost, verdict.doubled, verdict.invented


def test_right_results(
    scenario: Scenario, fed: Fed, cuts: Cuts, written: Rows, reports: dict[int, dict[str, Any]]
) -> None:
    verdict = judge(scenario, fed, cuts, written, reports)
    assert verdict.is_right
    assert verdict.rows == len(written[N + 1]) > 60
    assert verdict.wanted >= verdict.rows
    assert not verdict.examples


def test_a_row_that_is_lost(
    scenario: Scenario, fed: Fed, cuts: Cuts, written: Rows, reports: dict[int, dict[str, Any]]
) -> None:
    del written[N + 1][17]
    verdict = judge(scenario, fed, cuts, written, reports)
    assert not verdict.is_right
    assert faults(verdict) == (0 if scenario.judged == "selected" else 1, 0, 0)
    assert "rows and counted" in verdict.complaints[0]  # it was written, by the counters


def test_a_row_that_is_there_twice(
    scenario: Scenario, fed: Fed, cuts: Cuts, written: Rows, reports: dict[int, dict[str, Any]]
) -> None:
    written[N + 1].append(written[N + 1][17])
    reports[N + 1]["rows_out"] += 1
    verdict = judge(scenario, fed, cuts, written, reports)
    assert faults(verdict) == (0, 1, 0)
    assert not verdict.is_right


@pytest.mark.parametrize("change", [{"id": 123_456}, {"t": 1}])
def test_a_row_that_was_made_up(
    scenario: Scenario,
    fed: Fed,
    cuts: Cuts,
    written: Rows,
    reports: dict[int, dict[str, Any]],
    change: dict[str, int],
) -> None:
    (name, value), rows = next(iter(change.items())), written[N + 1]
    column = next(one for one in rows[17] if name in one.split("_"))
    rows.append({**rows[17], column: value})
    reports[N + 1]["rows_out"] += 1
    verdict = judge(scenario, fed, cuts, written, reports)
    assert faults(verdict) == (0, 0, 1)
    assert verdict.examples["invented"]


def test_counters_that_are_wrong(
    scenario: Scenario, fed: Fed, cuts: Cuts, written: Rows, reports: dict[int, dict[str, Any]]
) -> None:
    rows = reports[3]["rows_in"]
    reports[3]["rows_in"] += 1
    reports[99] = reports[3]
    del reports[2]
    verdict = judge(scenario, fed, cuts, written, reports)
    assert verdict.complaints == (
        f"batch 3 took {rows} rows and counted {rows + 1}",
        "batch 99 was reported and is not finished",
    )
    assert verdict.unreported == 1


def test_a_batch_that_the_sink_had_already(
    scenario: Scenario, fed: Fed, cuts: Cuts, written: Rows, reports: dict[int, dict[str, Any]]
) -> None:
    reports[3] = {"rows_in": 0, "rows_out": 0, "left_out": {}, "comparisons": 0, "ran": False}
    verdict = judge(scenario, fed, cuts, written, reports)
    assert verdict.is_right
    assert verdict.unreported == 1


def test_rows_that_the_state_has_lost(
    scenario: Scenario, fed: Fed, cuts: Cuts, written: Rows, reports: dict[int, dict[str, Any]]
) -> None:
    """Where results may be missing, and counters of the batch and the sink agree."""
    if scenario.judged == "selected":
        reports[4]["comparisons"] -= 10
        wrong = judge(scenario, fed, cuts, written, reports).complaints[0]
        said = reports[4]["comparisons"]
        assert wrong == f"batch 4 has {said + 10} comparisons and counted {said}"
        return
    del written[N + 1][40:50]
    reports[N + 1]["rows_out"] -= 10
    verdict = judge(scenario, fed, cuts, written, reports)
    assert verdict.lost == 10
    assert not verdict.complaints


def test_results_that_are_missing_without_being_counted(
    scenario: Scenario, fed: Fed, cuts: Cuts, written: Rows, reports: dict[int, dict[str, Any]]
) -> None:
    written[N + 1] = written[N + 1][:50]
    for report in reports.values():
        report["left_out"] = {}
    reports[N + 1]["rows_out"] = 50
    verdict = judge(scenario, fed, cuts, written, reports)
    said = any("nothing counted as such" in what for what in verdict.complaints)
    assert said == (scenario.judged != "exact")
    assert not verdict.is_right
