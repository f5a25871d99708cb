"""The claims of Naeem et al.: all there, expected verdicts, and judges that can fail."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from papers.base import AllNumbers
from papers.measurement import Measurement
from papers.naeem import PAPER
from papers.naeem.admission_runs import ADMISSION
from papers.naeem.tables import DISKS
from papers.run import Outcome
from tests.system.papers.checks import claims_without_figure, flipped, report

Found = dict[str, Any]
Change = Callable[[Found], Found]


def test_every_claim_is_there_once_with_a_judge() -> None:
    assert claims_without_figure(PAPER, "NAE", 26) == set()


def test_no_verdict_has_flipped(quick: Outcome) -> None:
    assert flipped(quick) == {}


def test_the_report_shows_every_figure_and_table(quick: Outcome) -> None:
    page = report(quick, PAPER, n_figures=21)
    for table in (ADMISSION, DISKS):
        assert table.title in page


def test_no_advantage_is_above_its_bound(quick: Outcome) -> None:
    """NAE-I6: a join that waits for the disk gains at most (1 - s) / (1 - h)."""
    gains = [g for each in quick.numbers["figure 5b"]["gains"].values() for g in each]
    assert all(gain.ratio.mean < 1.03 * gain.most for gain in gains)
    assert all(gain.hits.mean < gain.ideal + 0.01 for gain in gains)


def test_counting_hits_is_the_better_admission(quick: Outcome) -> None:
    for (_, _, change), each in quick.numbers["admission"]["found"].items():
        recorder, ageing = each["recorder"].mean, each["ageing"].mean
        assert ageing > recorder - 0.01
        assert change == "never" or ageing > 1.1 * recorder


def one(value: float) -> Measurement:
    return Measurement.of([value])


def _gains(change: Callable[[Any, float], Any], values: dict[str, tuple[float, float]]) -> Change:
    """First and last gain of each join with other numbers."""

    def changed(found: Found) -> Found:
        gains = {}
        for name, each in found["gains"].items():
            low, high = values.get(name, (1.0, 1.0))
            gains[name] = [change(each[0], low), *each[1:-1], change(each[-1], high)]
        return {**found, "gains": gains}

    return changed


def _ratio(gain: Any, value: float) -> Any:
    return replace(gain, ratio=one(value))


def _steps(name: str, value: float) -> Change:
    return lambda f: {**f, "rates": {**f["rates"], name: [one(value)] * 6}}


NOTHING = _gains(_ratio, {})
WRONG: dict[str, tuple[str, Change]] = {
    "NAE-C1": ("arithmetic", lambda f: {**f, "gib": {**f["gib"], 0.1: 1.2}}),
    "NAE-C2": ("arithmetic", lambda f: {**f, "interval": 500_000}),
    "NAE-C3": ("figure 5a", NOTHING),
    "NAE-C8": ("figure 5d", NOTHING),
    "NAE-C9": ("figure 5d", lambda f: {**f, "linked": {k: {**v, "fall": one(0.5)}
                                                       for k, v in f["linked"].items()}}),
    "NAE-C13": ("figure 5b", _gains(lambda g, _: replace(g, fast_s=g.slow_s), {})),
    "NAE-C14": ("figure 4", lambda f: {**f, "served": [one(0.6)] * 7}),
    "NAE-C16": ("figure 8", lambda f: {**f, "over upfront": {
        name: {"rate": one(1.2), "matches": one(0.9)} for name in f["over upfront"]}}),
    "NAE-C20": ("figure 8", _steps("tuned, disk", 1.0)),
    "NAE-C21": ("figure 9a", lambda f: {**f, "far": {50_000: one(0.9)}}),
    "NAE-C23": ("figure 9c", lambda f: {**f, "rates": sorted(f["rates"], key=lambda m: m.mean)}),
    "NAE-C25": ("figure 9e", lambda f: {**f, "series": np.full(40, 1e4)}),
    "NAE-C26": ("figure 9f", lambda f: {"found": {"INLJ": {"model": 1.0, "measured": one(2.0)}}}),
}  # fmt: skip
AS_STATED: dict[str, list[tuple[str, Change]]] = {
    "NAE-C6": [("figure 5c", _gains(_ratio, {"index": (2.5, 2.2)}))],
    "NAE-C4": [("figure 5a", _gains(_ratio, {"mesh": (4.0, 6.5), "hybrid": (2.4, 2.8)}))],
    "NAE-C5": [("figure 5b", _gains(_ratio, {"mesh": (4.7, 6.5), "hybrid": (3.0, 2.8)}))],
    "NAE-C7": [("figure 5d", lambda f: {**f, "gains": {
        name: [_ratio(g, 0.9 + i) for i, g in enumerate(each)]
        for name, each in f["gains"].items()}})],
    "NAE-C10": [("figure 5e", lambda f: {**f, "gains": {**f["gains"], "uniform": {
        name: [_ratio(g, stated) for g in f["gains"]["uniform"][name]]
        for name, stated in (("mesh", 3.7), ("hybrid", 2.5))}}})],
    "NAE-C11": [("figure 5f", lambda f: {**f, "found": {
        name: [{**m, "ratio": one(1.5)} for m in each] for name, each in f["found"].items()}})],
    "NAE-C12": [("figure 5g", lambda f: {**f, "found": {
        m: [{**each[0], "ratio": one(6.5)}, {**each[-1], "ratio": one(10)}]
        for m, each in f["found"].items()}})],
    "NAE-C15": [("queue", lambda f: {**f, "found": {
        name: [one(2 - i / 10) for i in range(10)] for name in f["found"]}})],
    "NAE-C17": [("partitions", lambda f: {**f, "shapes": {
        **f["shapes"], "scattered": f["shapes"]["scattered, not cached"]}})],
    "NAE-C18": [("figure 7", lambda f: {**f, "found": {
        name: {**each, "rate": [one(1), one(1.3), one(1.2), one(1)]}
        for name, each in f["found"].items()}})],
    "NAE-C19": [("figure 8", lambda f: {**f, "rates": {**f["rates"], **{
        name: [one(rate)] * 6 for name, rate in (
            ("tuned, network", 3.2), ("tuned, disk", 3.1), ("untuned, disk", 2.3),
            ("upfront, disk", 1.0), ("MESHJOIN", 0.3))}}})],
    "NAE-C22": [("figure 9b", lambda f: {**f, "rates": [one(9), one(9), one(5), one(4)]})],
    "NAE-C24": [("figure 9d", lambda f: {**f, "hits": one(0.51)})],
}  # fmt: skip


@pytest.mark.parametrize("claim", WRONG)
def test_wrong_numbers_are_not_reproduced(quick: Outcome, claim: str) -> None:
    experiment, spoil = WRONG[claim]
    numbers: AllNumbers = {**quick.numbers, experiment: spoil(dict(quick.numbers[experiment]))}
    assert PAPER.judges[claim](quick.numbers).verdict == "reproduced"
    assert PAPER.judges[claim](numbers).verdict == "not reproduced"


@pytest.mark.parametrize("claim", AS_STATED)
def test_the_papers_numbers_would_be_reproduced(quick: Outcome, claim: str) -> None:
    """Claims that do not hold here fail by our numbers, not by their judges."""
    numbers = dict(quick.numbers)
    for experiment, change in AS_STATED[claim]:
        numbers[experiment] = change(dict(numbers[experiment]))
    assert PAPER.judges[claim](quick.numbers).verdict == "not reproduced"
    assert PAPER.judges[claim](numbers).verdict == "reproduced"
