"""A short campaign: the longer one is `make chaos`."""

import json
from itertools import pairwise

import pytest

from tests.system.chaos import feeding
from tests.system.chaos.campaign import Campaign, Planned, carry_out, plan
from tests.system.chaos.faults import KINDS, Fault
from tests.system.chaos.report import as_json, as_page, as_text, from_json
from tests.system.chaos.scenarios import BY_NAME, SCENARIOS

WHAT = {
    "full": ("Python worker", "driver", "task after the join", "checkpoint full"),
    "table": ("Python daemon",),
    "inner, memory": ("task before the join", "checkpoint read-only"),
}


def runs() -> list[Planned]:
    return [
        Planned(
            BY_NAME[name],
            0,
            [
                Fault(kind, share=(1 + i) / (2 + len(kinds)), delay=0.2 * i, lasts=1.5, choice=0.4)
                for i, kind in enumerate(kinds)
            ],
        )
        for name, kinds in WHAT.items()
    ]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(feeding, "FILES", 8)
        return carry_out(runs(), 5, tmp_path_factory.mktemp("chaos") / "log.jsonl")


@pytest.mark.slow
def test_nothing_is_lost_doubled_or_invented(campaign: Campaign) -> None:
    assert campaign.is_right, as_text(campaign)
    assert [run.scenario.name for run in campaign.runs] == [*WHAT]
    assert all(run.verdict.rows > 200 for run in campaign.runs)
    struck = {kind for run in campaign.runs for kind, _ in run.struck}
    missed = dict(one for run in campaign.runs for one in run.missed)
    assert struck | set(missed) == {kind for kinds in WHAT.values() for kind in kinds}
    kills = {kind for kind in struck | set(missed) if KINDS[kind].is_kill}
    assert kills == {"Python worker", "Python daemon", "driver"} <= struck
    assert "task after the join" in struck
    assert campaign.sessions == 2  # the driver is killed once


@pytest.mark.slow
def test_the_report_says_so(campaign: Campaign) -> None:
    page = as_page(campaign)
    assert f"{campaign.n_kills} kills and" in page
    assert "lost 0, doubled 0, invented 0" in page
    assert "Nothing was wrong." in page
    for kind in KINDS:
        assert (f"| {kind} |" in page) == (kind in campaign.by_kind())
    whole = json.loads(as_json(campaign))
    assert [run["scenario"] for run in whole["runs"]] == [*WHAT]
    assert whole["right"] is True
    again = from_json(as_json(campaign))
    assert as_page(again) == page
    assert again.runs == campaign.runs


def test_a_plan_has_as_many_kills_as_asked_for_and_is_the_same_again() -> None:
    once, again = (plan(103, 7, SCENARIOS) for _ in range(2))
    assert once == again
    kills = [fault for run in once for fault in run.faults if KINDS[fault.kind].is_kill]
    assert len(kills) == 103
    assert plan(103, 8, SCENARIOS) != once
    later = plan(103, 7, SCENARIOS, first_round=2)
    assert [run.round for run in later] == [run.round + 2 for run in once]
    assert all(a.faults != b.faults for a, b in zip(once, later, strict=True))
    for run in once:
        assert all(KINDS[fault.kind].fits(run.scenario) for fault in run.faults)
    places = [run.scenario.place for run in once]
    assert sum(a != b for a, b in pairwise(places)) == 2
