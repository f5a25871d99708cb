"""The axis of cells: every pair within the windows has a place, counted and chosen exactly."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES
from streamjoin.core.batch import Batch
from streamjoin.core.stream import Stream
from streamjoin.core.window import CELLS, MOST_CELLS, Axis, encode, together
from tests.strategies import FEW

LENGTHS = st.integers(0, 3) | st.integers(0, 2000) | st.just(3600 * 10**6)
WINDOWS = st.tuples(LENGTHS, LENGTHS).filter(any)


@st.composite
def some_times(draw: st.DrawFn, reach: int) -> NDArray[np.int64]:
    """Times in order, with ties, before and after 0, about as far apart as windows are."""
    base = draw(st.sampled_from([0, -7, 1_700_000_000_000_000]))
    most = max(4, 2 * reach)
    times = draw(st.lists(st.integers(-most, most) | st.integers(-3, 3), max_size=12))
    return np.sort(np.array(times, np.int64) + base)


@st.composite
def sides(draw: st.DrawFn) -> tuple[Axis, NDArray[np.int64], NDArray[np.int64]]:
    windows = draw(WINDOWS)
    left, right = (draw(some_times(max(windows))) for _ in SIDES)
    return Axis(windows), left, right


def in_reach(axis: Axis, left: int, right: int) -> bool:
    return -axis.windows_us[0] <= left - right <= axis.windows_us[1]


@given(sides())
def test_pairs_are_counted_where_they_lie(
    case: tuple[Axis, NDArray[np.int64], NDArray[np.int64]],
) -> None:
    axis, left, right = case
    expected = axis.empty()
    for a, b in product(left.tolist(), right.tolist()):
        place = a // axis.cell_us - b // axis.cell_us - axis.lowest
        if in_reach(axis, a, b):  # such a pair has a place, and it is the one that is told
            assert 0 <= place < len(expected)
            assert axis.differences(np.array([a]), np.array([b])).tolist() == [place]
        if 0 <= place < len(expected):
            expected[place] += 1
    assert axis.comparisons(axis.counted(left), axis.counted(right)).tolist() == expected.tolist()
    halves = [axis.counted(half) for half in np.array_split(right, 2)]
    again = axis.comparisons(axis.counted(left), together(halves[::-1]))
    assert again.tolist() == expected.tolist()


@given(sides(), st.integers(0, 2**32))
def test_bounds_hold_for_the_chosen_differences_alone(
    case: tuple[Axis, NDArray[np.int64], NDArray[np.int64]], seed: int
) -> None:
    axis, left, right = case
    rng = np.random.default_rng(seed)
    chosen = rng.random(len(axis.empty())) < rng.choice([0.0, 0.2, 0.9, 1.0])
    for a, b in product(left.tolist(), right.tolist()):
        place = a // axis.cell_us - b // axis.cell_us - axis.lowest
        wanted = 0 <= place < len(chosen) and bool(chosen[place])
        begin = axis.starts(np.array([a, b])).tolist()
        for side, coordinate in ((LEFT, begin[0] - b), (RIGHT, begin[1] - a)):
            found = [low <= coordinate <= high for low, high in axis.between(side, chosen)]
            assert sum(found) == wanted  # by one run of cells, if at all


@FEW
@given(WINDOWS)
def test_basic_windows_cover_the_axis(windows: tuple[int, int]) -> None:
    """GED-A8: those of a side hold its cells, the newest first, and no cell is in two."""
    axis = Axis(windows)
    number = np.arange(axis.lowest, axis.highest + 1).astype(float)
    assert np.abs(axis.of_side(number, LEFT)).tolist() == list(range(1, -axis.lowest + 1))
    assert axis.of_side(number, RIGHT).tolist() == list(range(axis.highest + 1))
    for side in SIDES:
        sums = axis.in_basic(axis.empty() + 1, side)
        assert len(sums) == axis.n_basic(side)
        assert sums.max(initial=0) <= CELLS
    assert sum(axis.n_basic(side) for side in SIDES) <= 42


@pytest.mark.parametrize("last", [5 * MOST_CELLS - 1, 5 * MOST_CELLS])
def test_a_stored_basic_window_knows_its_cells_if_they_are_few(last: int) -> None:
    axis = Axis((800, 0))
    assert axis.cell_us == 5
    times = np.array([0, 0, 7, last])
    stream = Stream(pa.schema({"t": pa.timestamp("us")}), key=(), time=0, window_us=800)
    rows = pa.record_batch([pa.array(times, pa.timestamp("us"))], schema=stream.stored)
    window, _ = encode(0, 0, Batch(rows, stream), 1.0, axis.counts(times))
    cells, counts = axis.of_window(window)
    assert counts.sum() == 4
    assert (cells[0], cells[-1]) == (0, last // 5)
    assert bool(window.cells) == (last < 5 * MOST_CELLS)
    if window.cells:
        assert counts[[0, 1, -1]].tolist() == [2, 1, 1]
