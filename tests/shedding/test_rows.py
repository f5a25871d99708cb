"""Which rows are chosen: by what they hold, in any order, without favour."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamjoin.core.batch import Batch, arrange
from streamjoin.core.stream import Stream
from streamjoin.shedding.rows import choose, groups, in_sample, in_turn
from tests.shedding.streams import stream
from tests.strategies import FEW

N = 2000


def batch(*, keyed: bool = True, order: NDArray[np.int64] | None = None) -> Batch:
    rows = stream(100, N / 100, keys=40, seed=3).combine_chunks()
    rows = rows if order is None else rows.take(order)
    settings = Stream(rows.schema, key=(0,) if keyed else (), time=1, window_us=5)
    return Batch(arrange(rows.to_batches()[0], settings).rows, settings)


def names(chosen: Batch) -> list[int]:
    found: list[int] = chosen.rows.column(2).to_pylist()
    return found


@pytest.mark.parametrize("keyed", [True, False])
@FEW
@given(n=st.integers(-1, N + 5), more=st.integers(0, 50))
def test_so_many_rows_are_chosen_in_their_order(keyed: bool, n: int, more: int) -> None:
    rows = batch(keyed=keyed)
    chosen = names(choose(rows, 0, n))
    assert len(chosen) == min(max(n, 0), N)
    assert chosen == sorted(chosen)
    assert set(chosen) <= set(names(choose(rows, 0, n + more)))


@pytest.mark.parametrize("keyed", [True, False])
def test_the_order_of_rows_does_not_matter(keyed: bool) -> None:
    order = np.random.default_rng(1).permutation(N)
    straight, mixed = batch(keyed=keyed), batch(keyed=keyed, order=order)
    assert set(names(choose(straight, 0, 700))) == set(names(choose(mixed, 0, 700)))
    mine = in_sample(mixed, 0, 0.3)
    assert set(names(straight.where(in_sample(straight, 0, 0.3)))) == set(names(mixed.where(mine)))
    assert groups(mixed, 0, 32).tolist() == groups(straight, 0, 32)[order].tolist()


def test_choices_are_even_and_say_nothing_of_each_other() -> None:
    rows = batch()
    sample, let_in = in_sample(rows, 0, 0.5), names(choose(rows, 0, N // 2))
    chosen = np.isin(names(rows), let_in)
    for share in (sample.mean(), sample[chosen].mean(), chosen[: N // 2].mean()):
        assert share == pytest.approx(0.5, abs=0.05)
    other = in_sample(rows, 1, 0.5)  # the other side chooses for itself
    assert (sample == other).mean() == pytest.approx(0.5, abs=0.05)
    sizes = np.bincount(groups(rows, 0, 32), minlength=32)
    assert len(sizes) == 32
    assert sizes.min() > 0.5 * N / 32


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0, 2.0])
def test_a_smaller_sample_is_a_part_of_a_larger(share: float) -> None:
    rows = batch()
    mine = in_sample(rows, 0, share)
    assert mine.mean() == pytest.approx(min(share, 1.0), abs=0.04)
    assert not (in_sample(rows, 0, share / 2) & ~mine).any()


def test_each_batch_gives_other_rows_their_turn() -> None:
    """By chance anew, whoever is in a sample; and the same if the batch is run again."""
    rows, shares = batch(), np.full(N, 0.5)
    one, two = (in_turn(rows, 0, sequence, shares) for sequence in (1, 2))
    assert (one == in_turn(rows, 0, 1, shares)).all()
    assert one.mean() == pytest.approx(0.5, abs=0.05)
    assert (one & two).mean() == pytest.approx(0.25, abs=0.05)
    assert (one & in_sample(rows, 0, 0.5)).mean() == pytest.approx(0.25, abs=0.05)
    assert in_turn(rows, 0, 1, 3 * shares).all()
