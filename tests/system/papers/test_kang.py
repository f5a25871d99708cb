"""The claims of Kang et al.: all there, expected verdicts, and judges that can fail."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from papers.base import AllNumbers, Context
from papers.kang import PAPER
from papers.kang.settings import LIMITED_BOTH
from papers.kang.spark_runs import spark_output
from papers.kang.split_judges import same_order
from papers.measurement import Measurement
from papers.run import Outcome, reproduce
from papers.sessions import LazySpark
from tests.system.papers.checks import claims_without_figure, flipped, report

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FAR = Measurement.of([1e9])


@pytest.fixture(scope="module")
def quick() -> Outcome:
    context = Context(quick=True, seeds=(1,), spark=LazySpark(absent="not wanted in this test"))
    return reproduce(PAPER, context)


def test_every_claim_is_there_once_with_a_judge() -> None:
    claims_without_figure(PAPER, "KAN", 23)


def test_no_verdict_has_flipped(quick: Outcome) -> None:
    assert flipped(quick) == {}


@pytest.mark.alone
def test_no_verdict_by_the_clock_has_flipped(quick: Outcome) -> None:
    assert flipped(quick, wall_clock=True) == {}


def test_the_report_shows_every_figure(quick: Outcome) -> None:
    page = report(quick, PAPER, n_figures=11)
    assert "Judged without Spark: not wanted in this test." in page


def _swapped(found: dict[str, Any], key: str, one: str, two: str) -> dict[str, Any]:
    values = dict(found[key])
    values[one], values[two] = values[two], values[one]
    return {**found, key: values}


WRONG: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "KAN-C1": ("figure 2", lambda f: {**f, "counted_crossover": FAR}),
    "KAN-C2": ("figure 3", lambda f: {**f, "points": {**f["points"], 140: (1.0, 2.0, 3.0, 4.0)}}),
    "KAN-C3": ("figure 3", lambda f: {**f, "crossover": 134.0}),
    "KAN-C4": ("symmetry", lambda f: {**f, "mirrored_accesses": (1, 2)}),
    "KAN-C7": ("figure 5", lambda f: {**f, "model": [1.0] * len(f["model"])}),
    "KAN-C8": ("examples", lambda f: {**f, "nested": False}),
    "KAN-C10": ("figure 7", lambda f: _swapped(f, "peaks", "HHJ", "HNJ")),
    "KAN-C11": ("figure 7", lambda f: _swapped(f, "at_peak", "HHJ", "HNJ")),
    "KAN-C12": ("figure 7", lambda f: {**f, "fed": f["peaks"]}),
    "KAN-C13": ("figure 7", lambda f: _swapped(f, "lost", "HHJ", "HNJ")),
    "KAN-C14": ("figure 8", lambda f: _swapped(f, "measured", "equal", "window")),
    "KAN-C15": ("examples", lambda f: {**f, "optimum_shortfall": 0.01}),
    "KAN-C16": ("examples", lambda f: {**f, "regulated": (25, 25)}),
    "KAN-C17": ("figure 9", lambda f: {**f, "spark": {**f["model"], "faster": 1e9}}),
    "KAN-C18": ("examples", lambda f: {**f, "equal_rates": {"slower": 51.0}}),
    "KAN-C19": ("examples", lambda f: {**f, "nested_from_fast": 1}),
    "KAN-C20": ("figure 10", lambda f: _swapped(f, "model", "equal", "left/right")),
    "KAN-C21": ("figure 11", lambda f: {**f, "output": f["output"] * 2}),
    "KAN-C22": ("lazy", lambda f: {"rows": [{**r, "held": {"active": 9, "lazy": 9}}
                                            for r in f["rows"]]}),
    "KAN-C23": ("figure 9", lambda f: _swapped(f, "measured", "slower", "faster")),
}  # fmt: skip


@pytest.mark.parametrize("claim", WRONG)
def test_wrong_numbers_are_not_reproduced(quick: Outcome, claim: str) -> None:
    experiment, spoil = WRONG[claim]
    numbers: AllNumbers = {
        **quick.numbers,
        experiment: spoil(dict(quick.numbers[experiment])),
    }
    assert PAPER.judges[claim](quick.numbers).verdict == "reproduced"
    assert PAPER.judges[claim](numbers).verdict == "not reproduced"


def test_wall_clock_claims_would_hold_on_a_machine_like_the_authors(quick: Outcome) -> None:
    """Seconds in proportion to the paper's costs give the paper's verdicts."""
    four, six = dict(quick.numbers["figure 4"]), dict(quick.numbers["figure 6"])
    four |= {"scaled_crossover": 6.7}
    seconds = {"HHJ": [1, 9], "HNJ": [2, 3], "NHJ": [2, 12], "NNJ": [4, 8]}
    six |= {"scaled_ratios": [1, 16], "scaled_seconds": seconds}
    numbers = {**quick.numbers, "figure 4": four, "figure 6": six}
    numbers["ratio"] = {**quick.numbers["ratio"], "k": 1.3, "direct": 50.0}
    verdicts = {
        name: PAPER.judges[name](numbers).verdict for name in ("KAN-C5", "KAN-C6", "KAN-C9")
    }
    assert set(verdicts.values()) == {"reproduced"}


def test_splits_on_spark_are_in_the_order_of_the_model(spark: "SparkSession") -> None:
    """KAN-C20, which limits both CPU and memory; `streamjoin reproduce` has C14 and C17 too."""
    setting = replace(LIMITED_BOTH, spark_every=25, spark_batches=2)  # as long, in fewer batches
    found = spark_output(Context(quick=True, seeds=(1,), spark=LazySpark(spark)), setting)
    assert found is not None
    assert same_order({split: LIMITED_BOTH.model(split) for split in found}, found)
