"""Plans that change while they run: nothing is lost, and the best plan is found."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin.budget import Budget
from streamjoin.joins.multi import reordering
from streamjoin.shedding.costs import Costs
from tests.joins.multi_streams import (
    SECOND,
    Batch,
    Numbers,
    expected,
    local,
    numbers,
    poisson,
    restarted,
    table,
)


@pytest.fixture(autouse=True)
def _often() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reordering, "EVERY", 1)
        patch.setattr(reordering, "CLEARLY", 1.0)
        yield


@st.composite
def uneven(draw: st.DrawFn) -> list[Batch]:
    """Streams whose rates change from batch to batch, so that another plan is best each time."""
    names = "abcd"[: draw(st.integers(3, 4))]
    batches = []
    for number in range(7):
        rates = {name: draw(st.sampled_from([0.0, 2.0, 9.0])) for name in names}
        rng = np.random.default_rng(draw(st.integers(0, 99)))
        batch = {}
        for name, rate in rates.items():
            n = int(rng.poisson(rate))
            times = np.sort(rng.integers(number * SECOND, (number + 1) * SECOND, n))
            batch[name] = table(rng.integers(0, 3, n), times, 100 * number)
        batches.append(batch)
    return batches


@settings(deadline=None, max_examples=25)
@given(uneven(), st.booleans(), st.sampled_from(["tree", "auto", "mjoin"]))
def test_results_do_not_depend_on_changes_of_the_plan(
    batches: list[Batch], late: bool, strategy: str
) -> None:
    names, found, wanted = list(batches[0]), Numbers(), expected(batches, 2)
    lateness = "9 seconds" if late else "0 seconds"
    join = local(names, window="2 seconds", lateness=lateness, strategy=strategy)
    for i in (1, 0, *range(2, 7)) if late else range(7):
        found += numbers(join.push(batches[i]), names)
        join = restarted(join)
    assert found == wanted


@settings(deadline=None, max_examples=15)
@given(uneven(), st.sampled_from([0.5, 10.0, 1e9]))
def test_with_a_budget_results_are_some_of_all(batches: list[Batch], rate: float) -> None:
    names, found = list(batches[0]), Numbers()
    join = local(names, window="2 seconds", budget=Budget(rate=rate), costs=Costs())
    for batch in batches:
        found += numbers(join.push(batch), names)
    wanted = expected(batches, 2)
    assert found == wanted if rate == 1e9 else found <= wanted


def test_the_budget_is_kept_when_the_plan_changes() -> None:
    join = local("abc", window="4 seconds", budget=Budget(rate=60), costs=Costs())
    probed: Counter[int] = Counter()
    for i, batch in enumerate(poisson({"a": 80, "b": 20, "c": 40}, keys=60, batches=24)):
        join.push(batch)
        probed[i // 8] += sum(n for name, n in join.counts.items() if name.startswith("probed_"))
    assert join.total["reordered"] > 0
    assert all(n <= 8 * 60 * 1.1 for n in probed.values())


@pytest.mark.parametrize("sampled", [reordering.SAMPLED, 2])
def test_the_pair_that_seldom_matches_is_joined_first(
    monkeypatch: pytest.MonkeyPatch, sampled: int
) -> None:
    """Keys of b and d are few and hardly the same; all others match often."""
    monkeypatch.setattr(reordering, "SAMPLED", sampled)
    rng = np.random.default_rng(3)
    join = local("abcd", window="3 seconds", strategy="tree")
    for number in range(8):
        keys = {
            "a": rng.integers(0, 20, 60),
            "b": rng.integers(0, 11, 60),
            "c": rng.integers(0, 20, 60),
            "d": rng.integers(10, 20, 60),
        }
        times = np.sort(rng.integers(number * SECOND, (number + 1) * SECOND, 60))
        join.push({name: table(of, times) for name, of in keys.items()})
    assert "(b d)" in f"({join.states[0].tree})"
    assert join.total["reordered"] >= 1
