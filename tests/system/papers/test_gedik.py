"""The claims of Gedik et al.: all there, expected verdicts, and judges that can fail."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from papers.base import AllNumbers
from papers.gedik import PAPER
from papers.gedik.densities import Correlation
from papers.gedik.ideal import ideal_gain, informed_optimum
from papers.gedik.optimum import BEST, PAPERS, REMEMBERING, Quality
from papers.gedik.quality_table import QUALITY, holds
from papers.measurement import Measurement
from papers.run import Outcome
from streamjoin.shedding.fractions import POLICIES
from tests.system.papers.checks import claims_without_figure, flipped, report

NONE = Measurement.of([1.0])


def test_every_claim_is_there_once_with_a_judge() -> None:
    assert claims_without_figure(PAPER, "GED", 14) == set()


def test_no_verdict_has_flipped(quick: Outcome) -> None:
    assert flipped(quick) == {}


def test_the_report_shows_every_figure(quick: Outcome) -> None:
    page = report(quick, PAPER, n_figures=12)
    assert QUALITY.title in page


def test_policies_reach_what_they_should(quick: Outcome) -> None:
    """Quality against the possible, and two-way traffic that join direction cannot cover."""
    found: list[Quality] = quick.numbers["optimum"]["qualities"]
    assert [(q.skew, q.fraction) for q in found if not holds(q)] == []
    for quality in quick.numbers["optimum"]["two_way"]:
        best, *others = (quality.shares[each].mean for each in (BEST, REMEMBERING, PAPERS))
        assert best > 1.2 * max(others)


def test_low_quality_is_seen(quick: Outcome) -> None:
    found: list[Quality] = quick.numbers["optimum"]["qualities"]
    good = next(q for q in found if not q.flat and holds(q))
    low = Measurement.of([0.5])
    assert not holds(replace(good, shares={**good.shares, BEST: low}))
    assert not holds(replace(good, gains={**good.gains, REMEMBERING: NONE}))
    flat = next(q for q in found if q.flat and holds(q))
    assert not holds(replace(flat, gains={**flat.gains, BEST: low}))


@pytest.mark.parametrize(
    ("skew", "gains"),
    [(0.6, (2.51, 1.96, 1.67, 1.34)), (0.8, (4.68, 3.10, 2.36, 1.64))],
)
def test_ideal_gains_of_rate_adaptation_are_the_derived_ones(
    skew: float, gains: tuple[float, ...]
) -> None:
    """GED-C6 and GED-U7."""
    aligned = Correlation(skew, shift_s=0)
    found = [ideal_gain("ra", aligned, r, sides=1) for r in (0.1, 0.2, 0.3, 0.5)]
    assert found == pytest.approx(gains, rel=0.04)


def test_ideal_gains_of_selection_are_the_derived_ones() -> None:
    """GED-C8, and GED-I7: with a shift rate adaptation alone is worse than random drop."""
    derived = {(0.6, 0.1): (3.1, 1.24), (0.6, 0.05): (3.5, 1.33), (0.6, 0.3): (2.3, 1.09)}
    for (skew, r), steps in derived.items():
        matches = Correlation(skew)
        ra, tc, jd = (ideal_gain(p, matches, r) for p in ("ra", "ra+tc", "ra+tc+jd"))
        assert (tc / ra, jd / tc) == pytest.approx(steps, rel=0.08)
    assert ideal_gain("ra", Correlation(0.6), 0.1) == pytest.approx(0.65, abs=0.04)
    assert ideal_gain("ra", Correlation(0.8), 0.1) == pytest.approx(0.35, abs=0.04)


def test_no_policy_is_above_the_informed_optimum() -> None:
    matches = Correlation(0.8)
    for r in (0.1, 0.3):
        gains = [ideal_gain(policy, matches, r) for policy in POLICIES]
        assert r * max(gains) == pytest.approx(informed_optimum(matches, r))
    assert informed_optimum(matches, 1.0) == pytest.approx(1)


def _flat(found: dict[str, Any]) -> dict[str, Any]:
    densities = {
        skew: {**each, "measured": [[NONE] * 21, [NONE] * 21]}
        for skew, each in found["densities"].items()
    }
    return {"densities": densities}


def _mirrored(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "fractions_by_seed": [r[:, ::-1] for r in found["fractions_by_seed"]]}


def _turned(found: dict[str, Any], half: str) -> dict[str, Any]:
    """The lengths of basic windows the other way round."""
    return {**found, half: {name: each[::-1] for name, each in found[half].items()}}


WRONG: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "GED-C1": ("figure 1", lambda f: {**f, "reduced": dict.fromkeys(("I", "II"),
                                                                    f["reduced"]["II"])}),
    "GED-C2": ("partial", lambda f: {**f, "gain": Measurement.of([1.3])}),
    "GED-C3": ("figure 2", _flat),
    "GED-C4": ("figure 4", lambda f: {**f, "fractions": [np.ones(160)]}),
    "GED-C5": ("figure 4", lambda f: {**f, "gain": {**f["gain"], "settled": NONE}}),
    "GED-C6": ("figure 5", lambda f: {**f, "measured": {w: {**each, "gain": each["gain"][::-1]}
                                                        for w, each in f["measured"].items()}}),
    "GED-C7": ("figure 7", _mirrored),
    "GED-C8": ("figure 7", lambda f: {**f, "steps": {**f["steps"], ("ra+tc+jd", "both"): NONE}}),
    "GED-C9": ("figure 8", lambda f: {**f, "overloaded": f["average"] | {
        "ra": f["overloaded"]["ra+tc"]}}),
    "GED-C10": ("figure 9", lambda f: _turned(f, "left")),
    "GED-C11": ("figure 9", lambda f: {**f, "right": {**f["right"], "inverted-time": sorted(
        f["right"]["inverted-time"], key=lambda m: -m.mean)}}),
    "GED-C13": ("figure 7", lambda f: {**f, "over_drop": {**f["over_drop"], "ra+tc": NONE}}),
    "GED-C14": ("overload", lambda f: {**f, "shifts": {0.0: Measurement.of([1.0])}}),
}  # fmt: skip


def test_identifiers_that_gave_less_everywhere_would_be_reproduced(quick: Outcome) -> None:
    """GED-C12 does not hold here for small basic windows; a judge must be able to say so."""
    judge, found = PAPER.judges["GED-C12"], dict(quick.numbers["figure 9"])
    assert judge(quick.numbers).verdict == "not reproduced"
    by_time = found["right"]["inverted-time"]
    less = [Measurement.of([m.mean * (0.9 - 0.1 * i)]) for i, m in enumerate(by_time)]
    found["right"] = {**found["right"], "inverted-identifier": less}
    assert judge({**quick.numbers, "figure 9": found}).verdict == "reproduced"


@pytest.mark.parametrize("claim", WRONG)
def test_wrong_numbers_are_not_reproduced(quick: Outcome, claim: str) -> None:
    experiment, spoil = WRONG[claim]
    numbers: AllNumbers = {
        **quick.numbers,
        experiment: spoil(dict(quick.numbers[experiment])),
    }
    assert PAPER.judges[claim](quick.numbers).verdict == "reproduced"
    assert PAPER.judges[claim](numbers).verdict == "not reproduced"
