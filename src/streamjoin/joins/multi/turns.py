"""In what order the new tuples of a batch are processed, slice by slice (VAL-A2, VAL-A5..A10).

A stream that *drains* does so at once. Streams that take turns would do so tuple by tuple; here
they do in *rounds* of some thousands, as each turn has its price: within a round the first stream's
tuples are processed first. By time a round is a stretch of it, by position as many tuples of each.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from streamjoin._typing import Times
from streamjoin.planning.many.nary import Groups, Turns
from streamjoin.planning.many.nary_cost import MOST_ROUNDS, ROUND


class Turn(NamedTuple):
    """Tuples of one stream, by position, that are processed together."""

    driver: int
    start: int
    stop: int


def turns_of(groups: Groups, by: Turns, times: Sequence[Times]) -> Iterator[Turn]:
    """All turns of a batch.

    Parameters
    ----------
    groups, by
        Who drains after whom, and how those of one group take turns.
    times
        Of the new tuples of each stream, in order.

    Examples
    --------
    >>> times = [np.arange(5000), np.arange(0, 5000, 5)]
    >>> [tuple(turn) for turn in turns_of(((1,), (0,)), "position", times)]
    [(1, 0, 1000), (0, 0, 5000)]
    >>> [tuple(turn) for turn in turns_of(((0, 1),), "time", [np.arange(8000), np.arange(400)])]
    [(0, 0, 3800), (1, 0, 400), (0, 3800, 8000)]
    """
    for group in groups:
        edges = _edges([times[stream] for stream in group], by)
        for n, ends in enumerate(edges[1:]):
            for stream, start, stop in zip(group, edges[n], ends, strict=True):
                if stop > start:
                    yield Turn(stream, start, stop)


def _edges(times: list[Times], by: Turns) -> list[list[int]]:
    """Where the rounds of some streams begin, and the last ends: positions in each stream."""
    lengths = [len(of) for of in times]
    n_rounds = 1
    if len(times) > 1:
        n_rounds = max(1, min(MOST_ROUNDS, sum(lengths) // ROUND))
    if by == "position":
        longest = max(lengths)
        cuts = [longest * n // n_rounds for n in range(1, n_rounds)]
        inner = [[min(cut, length) for length in lengths] for cut in cuts]
    else:
        merged = np.sort(np.concatenate(times))
        at = [merged[len(merged) * n // n_rounds] for n in range(1, n_rounds)]
        inner = [[int(np.searchsorted(of, t)) for of in times] for t in at]
    return [[0] * len(times), *inner, lengths]
