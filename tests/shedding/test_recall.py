"""The estimator of missed pairs alone, with samples that are drawn here."""

import json
from dataclasses import asdict

import numpy as np
import pytest

from streamjoin._typing import LEFT
from streamjoin.core.window import JoinedWindow
from streamjoin.shedding.recall import N_GROUPS, RecallEstimate
from streamjoin.shedding.rows import SheddingState

LEFT_KEYS = np.arange(600) % 40
RIGHT_KEYS = np.concatenate([np.arange(300) % 40, np.zeros(100, np.int64)])  # one key is hot
PAIRS = np.argwhere(LEFT_KEYS[:, None] == RIGHT_KEYS[None, :])


def drawn(seed: int, shares: tuple[float, float]) -> tuple[RecallEstimate, int]:
    """The estimate from rows that take part by chance, and how many pairs these have."""
    rng = np.random.default_rng(seed)
    taken = [rng.random(n) < share for n, share in zip((600, 400), shares, strict=True)]
    group = [rng.integers(0, N_GROUPS, n) for n in (600, 400)]
    seen = PAIRS[taken[0][PAIRS[:, 0]] & taken[1][PAIRS[:, 1]]]
    estimate = RecallEstimate()
    for some in np.array_split(seen, 3):  # as batches bring them
        estimate.add((group[0][some[:, 0]], group[1][some[:, 1]]), shares, found=True)
    return estimate, len(seen)


@pytest.mark.parametrize("shares", [(0.5, 0.5), (1.0, 0.3), (0.2, 0.2), (0.1, 1.0)])
def test_estimate_and_variance_are_right_on_average(shares: tuple[float, float]) -> None:
    runs = [drawn(seed, shares) for seed in range(200)]
    off = np.array([estimate.missed + found - len(PAIRS) for estimate, found in runs])
    variance = np.mean([estimate.variance for estimate, _ in runs])
    assert abs(off.mean()) < 4 * off.std() / len(runs) ** 0.5
    assert variance**0.5 == pytest.approx(off.std(), rel=0.2)
    if shares[0] == 0.1:
        # Of the 15 left rows with the hot key one or two are seen: where there is none, nothing
        # tells of it, and an interval of two deviations is too short in one run of six.
        return
    within = [abs(o) <= 1.96 * e.variance**0.5 for o, (e, _) in zip(off, runs, strict=True)]
    assert np.mean(within) >= 0.9


def test_where_all_take_part_nothing_is_missed() -> None:
    estimate, found = drawn(1, (1.0, 1.0))
    assert found == len(PAIRS)
    assert (estimate.missed, estimate.variance) == (0, 0)


def test_pairs_that_were_only_counted_are_missed_whole() -> None:
    estimate, groups = RecallEstimate(), (np.arange(3), np.arange(3))
    estimate.add(groups, (np.array([1.0, 0.5, 0.25]), 1.0), found=False)
    assert estimate.missed == 1 + 2 + 4


def of_a_fixed_number(seed: int, n: int) -> tuple[RecallEstimate, RecallEstimate]:
    """The estimate from so many left rows, whoever they are; and one that is not told so."""
    rng = np.random.default_rng(seed)
    group = [rng.integers(0, N_GROUPS, size) for size in (600, 400)]
    rows = rng.permutation(600)[:n]
    seen = PAIRS[np.isin(PAIRS[:, 0], rows) & (RIGHT_KEYS[PAIRS[:, 1]] > 0)]
    told, other = RecallEstimate(), RecallEstimate()
    told.choose(LEFT, group[0][rows], n / 600)
    for estimate in (told, other):
        estimate.add((group[0][seen[:, 0]], group[1][seen[:, 1]]), (n / 600, 1.0), found=True)
    return told, other


def test_rows_of_a_fixed_number_vary_less() -> None:
    """That a group has more of them is no sign that there might be more in all."""
    runs = [of_a_fixed_number(seed, 150) for seed in range(200)]
    every = np.array([told.missed for told, _ in runs]) * 4 / 3  # with those that were found
    told, other = (np.mean([pair[i].variance for pair in runs]) ** 0.5 for i in (0, 1))
    assert told == pytest.approx(every.std(), rel=0.2)
    assert other > 1.5 * told


def test_a_state_without_the_newer_fields_is_read() -> None:
    """As version 0.2.0 wrote it: all that it let in is all that is seen."""
    known = asdict(SheddingState(recall=drawn(2, (0.5, 0.5))[0]))
    del known["recall"]["rows"]
    shedding = SheddingState.from_dict(known)
    assert shedding.recall.variance == drawn(2, (0.5, 0.5))[0].variance
    window = JoinedWindow.of([0, 0, 5, 1, 9, 400, 77, 0.25, []])
    assert (window.share, window.chance) == (0.25, 0.25)


def test_it_goes_on_from_what_was_stored() -> None:
    estimate, _ = drawn(2, (0.5, 0.5))
    again = RecallEstimate(**json.loads(json.dumps(asdict(estimate))))
    assert (again.missed, again.variance) == (estimate.missed, estimate.variance)
