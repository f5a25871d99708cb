"""Which input drives: in what order the tuples of a batch are processed (VAL-A5..A10).

A tuple that is processed enters the table of its stream and probes those of the others; so of two
tuples of one batch that match, the later one finds the earlier. What the results are does not
depend on the order. When they come does, and so does a little of the work.

Five policies are the paper's. They know how many tuples of each stream wait (the *buffers*), how
many are in the *tables*, and how many each stream has brought in all. A policy says which streams
*drain* their buffers one after the other, and which take turns.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Final, Literal, get_args

Order = Literal[
    "adaptive", "timestamp", "round-robin", "consumption-rate", "initial-output-size", "output-rate"
]
ORDERS: Final[tuple[Order, ...]] = get_args(Order)
ALIKE: Final = 0.95
"""Streams that brought at least so much of what another one did are equal to it."""
Turns = Literal["time", "position"]
Groups = tuple[tuple[int, ...], ...]
"""Streams: those of one group take turns until their buffers are empty, then comes the next."""


@dataclass(frozen=True)
class Waiting:
    """What is known when a batch begins.

    Parameters
    ----------
    buffers
        Tuples of each stream that wait: |buffer_j|.
    tables
        Tuples of each that are remembered: |ht_j|.
    totals
        Tuples of each stream in all, |S_j|, as far as they are known.
    """

    buffers: tuple[int, ...]
    tables: tuple[int, ...]
    totals: tuple[int, ...]


def output_estimates(waiting: Waiting, tables: Sequence[int], selectivity: float) -> list[float]:
    """Results that draining each buffer now would bring (VAL-A8, Eq. 1).

    Examples
    --------
    VAL-U2.

    >>> waiting = Waiting((10, 30, 50), (100, 200, 400), (0, 0, 0))
    >>> output_estimates(waiting, waiting.tables, selectivity=1e-4)
    [80.0, 120.0, 100.0]
    """
    return [
        buffer * selectivity * prod(table for i, table in enumerate(tables) if i != j)
        for j, buffer in enumerate(waiting.buffers)
    ]


def groups_of(order: Order, waiting: Waiting) -> tuple[Groups, Turns]:
    """Who drains after whom, and how those that take turns do so.

    The selectivity of the join is a factor of all estimates alike, so no policy needs it (VAL-U3).

    Examples
    --------
    >>> waiting = Waiting((10, 30, 50), (100, 200, 400), (1000, 1000, 9000))
    >>> groups_of("initial-output-size", waiting)
    (((1,), (2,), (0,)), 'position')
    >>> groups_of("output-rate", waiting)
    (((0,), (1,), (2,)), 'position')
    >>> groups_of("consumption-rate", waiting)
    (((2,), (0, 1)), 'position')
    """
    streams = range(len(waiting.buffers))
    if order == "timestamp":
        return (tuple(streams),), "time"
    if order == "round-robin":
        return (tuple(streams),), "position"
    if order == "consumption-rate":
        return _by_selectivity(waiting), "position"
    if order == "adaptive":
        msg = "adaptive: what it chooses follows from costs, not from here"
        raise ValueError(msg)
    return tuple((j,) for j in _greedy(waiting, per_tuple=order == "output-rate")), "position"


def _by_selectivity(waiting: Waiting) -> Groups:
    """Ascending sigma_Sj = |Mjoin| / |S_j|: the largest stream first; equal ones take turns.

    The paper calls that round-robin and drains nevertheless (VAL-A7, VAL-I8). Of live streams no
    two have brought exactly as much: they are equal if little is between them.
    """
    totals, groups = waiting.totals, list[list[int]]()
    for j in sorted(range(len(totals)), key=lambda j: (-totals[j], j)):
        if groups and totals[j] >= ALIKE * totals[groups[-1][0]]:
            groups[-1].append(j)
        else:
            groups.append([j])
    return tuple(tuple(group) for group in groups)


def _greedy(waiting: Waiting, *, per_tuple: bool) -> list[int]:
    """The stream that brings most, again and again; tables grow meanwhile (VAL-A9, VAL-A10).

    Of those that bring the same the one with the larger buffer comes first, then the first one.
    """
    tables, left, order = list(waiting.tables), set(range(len(waiting.buffers))), list[int]()
    while left:

        def rank(j: int) -> tuple[int, int, int]:
            buffer = waiting.buffers[j]
            # whole numbers have no limit: many large tables would be too much for floats
            met = prod(table for i, table in enumerate(tables) if i != j)
            return -(met if per_tuple and buffer else met * buffer), -buffer, j

        chosen = min(left, key=rank)
        tables[chosen] += waiting.buffers[chosen]
        left.remove(chosen)
        order.append(chosen)
    return order
