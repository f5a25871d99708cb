"""The plan that fits best, chosen by what the streams turned out to be.

Tuples of joins can be made again from the rows of the streams, which live longer. So a plan can be
changed between two batches: what joins have formed is forgotten, and formed anew as the new plan
wants it.

How many results any set of streams would form is measured on a sample of the keys: for each of
these, the tuples that each stream's state holds are counted; their product over the set is exact
for the key.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin.core.kernels.hashing import fold_words
from streamjoin.joins.base import WindowStore
from streamjoin.joins.multi.halfway import HalfwayJoin
from streamjoin.joins.multi.limits import first_part, turn_us
from streamjoin.joins.multi.rows import Rows
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState, States
from streamjoin.joins.multi.tuples import Tuples
from streamjoin.planning.join_order import choose_tree, produced_rate
from streamjoin.planning.tree import Tree

EVERY: Final = 16
"""Batches between two looks at the plan; the first comes after a quarter of them."""
SAMPLED: Final = 1 << 12
"""About so many rows of each stream are looked at."""
FEWEST: Final = 32
"""At least so many keys, however many rows each has."""
CLEARLY: Final = 1.2
"""Another plan takes over if it forms so many times fewer intermediate tuples."""


def reorder(join: MultiJoin, state: MultiJoinState, store: WindowStore) -> bool:
    """Change the plan if another is clearly better; whether it was."""
    if len(join.inputs) < 3 or state.sequence % EVERY != EVERY // 4:
        return False
    states = States(join, state, store)
    rates, cardinality = _measured(join, state, states)
    if rates is None:
        return False
    names = [one.name for one in join.inputs]
    best = choose_tree(names, rates, cardinality).numbered(names)
    costs = [_intermediate(tree, rates, cardinality) for tree in (states.tree, best)]
    if costs[0] <= CLEARLY * costs[1]:
        return False
    states.drop_joins()
    state.tree = str(best)
    part = 1.0
    if state.limits is not None:
        part = state.limits.part
        state.limits.forget()
    _form_again(join, state, store, part)
    return True


Cardinality = Callable[[frozenset[int]], float]


def _intermediate(tree: Tree, rates: list[float], cardinality: Cardinality) -> float:
    """Intermediate tuples per second that a plan forms."""
    return sum(
        produced_rate(frozenset(tree.streams(node)), rates, cardinality)
        for node in tree.susceptible
    )


def _measured(
    join: MultiJoin, state: MultiJoinState, states: States
) -> tuple[list[float] | None, Cardinality]:
    """Rates of the streams, and how many results any set of them forms; for a sample of keys."""
    rows = [states.rows(i) for i in range(len(join.inputs))]
    keys = _sampled([_stored_keys(state, states, i) for i in range(len(rows))])
    together = np.unique(np.concatenate(keys))
    counts = np.stack([_counts(together, of) for of in keys]).astype(np.float64)

    def cardinality(streams: frozenset[int]) -> float:
        return float(counts[sorted(streams)].prod(axis=0).sum())

    spans = [_span_seconds(join, state, i) for i in range(len(rows))]
    if min(rows) == 0 or min(spans) <= 0:
        return None, cardinality
    return [len(of) / span for of, span in zip(keys, spans, strict=True)], cardinality


def _span_seconds(join: MultiJoin, state: MultiJoinState, number: int) -> float:
    """How long a stream's state reaches back."""
    pieces = state.pieces[number]
    if not pieces or state.newest is None:
        return 0.0
    return max((state.newest - min(piece.first for piece in pieces)) / 1e6, 1e-6)


def _stored_keys(state: MultiJoinState, states: States, number: int) -> NDArray[np.int64]:
    parts = [states.tuples(number, piece).keys for piece in state.pieces[number]]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _sampled(stored: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    """What each stream has of some keys, the same of all; of more where these are too few."""
    places = [np.full(len(keys), 0x0DE5, np.int64) for keys in stored]
    for place, keys in zip(places, stored, strict=True):
        fold_words(place, keys)
    every = max(1, max(map(len, stored)) // SAMPLED)
    while True:
        sampled = [
            keys[place.view(np.uint64) % np.uint64(every) == 0]
            for place, keys in zip(places, stored, strict=True)
        ]
        if every == 1 or len(np.unique(np.concatenate(sampled))) >= FEWEST:
            return sampled
        every //= 2


def _counts(keys: NDArray[np.int64], of: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.bincount(np.searchsorted(keys, of), minlength=len(keys))


def _form_again(join: MultiJoin, state: MultiJoinState, store: WindowStore, part: float) -> None:
    """Form what the joins of a new plan would remember, of a part of the keys."""
    states = States(join, state, store)
    tree = states.tree
    for node in tree.susceptible:
        left, _ = tree.children(node)
        stored = [states.tuples(left, piece) for piece in state.pieces[left]]
        tuples = Tuples.joined(stored, join.n_axes, len(tree.streams(left)))
        if part < 1:
            tuples = first_part(tuples, part, turn_us(join, tree))
        half = HalfwayJoin(join, states, left, tuples, tuples)
        formed = list(half.with_stored())
        found = Tuples.joined(formed, join.n_axes, len(tree.streams(node)))
        states.keep_tuples(node, found, Rows(join, states).record_batch)
