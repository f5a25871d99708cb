"""The interval of the recall: what is said of what was seen, and when nothing is."""

import numpy as np
import pytest

from streamjoin.dashboard.points import Point
from streamjoin.metrics import InputMetrics, JoinMetrics
from streamjoin.metrics.catalogue import recall_interval
from streamjoin.metrics.prometheus.families import JOIN_FAMILIES
from streamjoin.metrics.prometheus.seen import JoinSeen
from streamjoin.metrics.words import lines_of

FOUND = 2000
BLIND = JoinMetrics(
    inputs=(InputMetrics("left", rows=9, compared=1, skipped=99), InputMetrics("right")),
    pairs=5, unmet=1e6, unmet_weight=1e9,
)  # fmt: skip


@pytest.mark.parametrize("missed", [0, 1, 4, 15, 40, 100, 400])
def test_bounds_hold_the_truth_whether_the_sample_sees_something_or_not(missed: int) -> None:
    """One pair in ten is seen, and stands for nine others."""
    seen = np.random.default_rng(missed).binomial(missed, 0.1, 2000)
    held = []
    for n in seen:
        found = recall_interval(FOUND + n, 9 * n, 90 * n, unmet=1e5, unmet_weight=9e5)
        assert found is not None
        held.append(found[0] <= (FOUND + n) / (FOUND + missed) <= found[1])
    assert np.mean(held) >= 0.94


def test_where_nothing_was_seen_to_be_missed_something_may_be() -> None:
    """A rule of three: the less of the effort is sampled, the more."""
    lows = []
    for weight in (0.0, 1.0, 9.0, 99.0):
        found = recall_interval(FOUND, 0, 0.0, unmet=1e5, unmet_weight=weight * 1e5)
        assert found is not None
        assert found[1] == 1.0
        lows.append(found[0])
    assert lows == sorted(lows, reverse=True)
    assert lows[0] == 1.0
    assert lows[2] == pytest.approx(FOUND / (FOUND + 3.84 * 9), abs=1e-4)


def test_what_a_sample_has_whole_is_exact() -> None:
    assert recall_interval(75, 25, 0.0, unmet=500.0, unmet_weight=0.0) == (0.75, 0.75)


def test_bounds_that_are_far_apart_are_not_said() -> None:
    assert recall_interval(5, 0, 0.0, unmet=1e6, unmet_weight=1e9) is None
    assert recall_interval(0, 0, 0.0, unmet=10.0, unmet_weight=10.0) is None
    assert recall_interval(10, 1000, 1000.0**2) is None  # one lump


def test_a_recall_that_is_not_known_is_said_so_everywhere() -> None:
    assert (BLIND.recall, BLIND.recall_interval, BLIND.recall_error) == (None, None, None)
    assert "  recall       not known" in list(lines_of(BLIND, BLIND))
    assert "recall" not in BLIND.to_dict()
    assert JoinMetrics.from_dict(BLIND.to_dict()) == BLIND
    assert Point.from_batch(BLIND, span=1.0).recall() is None
    seen = JoinSeen()
    seen.add(BLIND)
    for family in JOIN_FAMILIES:
        if family.name.startswith("streamjoin_recall"):
            assert list(family.samples(seen)) == []


def test_shards_and_batches_add_up_to_a_recall_that_is_known() -> None:
    sure = JoinMetrics(pairs=9000, missed=1000, missed_variance=4000.0, unmet=1e6, unmet_weight=3e6)
    both = (BLIND + sure).recall_interval
    assert both is not None
    assert sure.recall_interval is not None
    assert both[0] < sure.recall_interval[0]
