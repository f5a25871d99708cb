"""How a batch is cut into pieces that can be forgotten one by one."""

from hypothesis import given
from hypothesis import strategies as st

from streamjoin.shedding.memory import MemoryLimit, pieces
from tests.strategies import FEW


@FEW
@given(st.lists(st.integers(1, 50), max_size=8), st.integers(1, 60))
def test_pieces_are_the_spans_newest_first(lengths: list[int], most: int) -> None:
    edges = [sum(lengths[:n]) for n in range(len(lengths) + 1)]
    spans = [(7 + n, edges[n], edges[n + 1]) for n in range(len(lengths))]
    found = list(pieces(spans, most))
    covered = [i for _, start, stop in reversed(found) for i in range(start, stop)]
    assert covered == list(range(edges[-1]))
    for slice_, start, stop in found:
        assert 1 <= stop - start <= most
        _, first, last = spans[slice_ - 7]
        assert first <= start < stop <= last


@FEW
@given(st.floats(0, 1e9), st.floats(1, 1e4))
def test_a_piece_is_a_small_part_of_the_limit(limit: float, size: float) -> None:
    rows = MemoryLimit((limit, 0.0), (size, 1.0), "bytes").piece_rows(0, room=limit)
    assert rows == 1 or rows * size <= limit / 16
