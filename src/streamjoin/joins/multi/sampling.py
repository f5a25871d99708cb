"""How large joins of the streams' tables are, measured on a sample of their keys.

For each sampled key the tuples that each stream's state holds are counted; their product over a set
of streams is exact for the key. Of streams that different attributes link, sets are measured that
one attribute links; sizes of others follow from those.
"""

from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels.hashing import fold_words
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState, States
from streamjoin.planning.nary import Sizes

SAMPLED: Final = 1 << 12
"""About so many rows of each stream are looked at."""
FEWEST: Final = 512
"""At least so many keys, however many rows each has."""
ALL_SETS: Final = 8
"""Up to so many streams, all sets of them are measured; of more, those of two and three."""


def measure(join: MultiJoin, state: MultiJoinState, states: States) -> Sizes | None:
    """Sizes of joins of what is stored; None if some stream has nothing."""
    tables = tuple(float(states.rows(i)) for i in range(len(join.inputs)))
    if min(tables) == 0:
        return None
    joined: dict[int, float] = {}
    n_keys = 0.0
    for attribute, one in enumerate(join.attributes or [dict.fromkeys(range(len(tables)), 0)]):
        stored = [_stored_keys(join, state, states, number, attribute) for number in one]
        every, keys = _sampled(stored)
        together = np.unique(np.concatenate(keys))
        counts = np.stack([_counts(together, of) for of in keys]).astype(np.float64)
        n_keys = max(n_keys, float(every * len(together)))
        most = len(one) if len(one) <= ALL_SETS else 3
        for size in range(2, most + 1):
            for chosen in combinations(range(len(one)), size):
                mask = sum(1 << list(one)[i] for i in chosen)
                found = float(counts[list(chosen)].prod(axis=0).sum())
                # none in a sample is not none: half a match is what would have been overlooked
                found = every * max(found, 0.5) if every > 1 else found
                joined[mask] = min(found, joined.get(mask, found))
    return Sizes(tables, joined, n_keys)


def _stored_keys(
    join: MultiJoin, state: MultiJoinState, states: States, number: int, attribute: int
) -> Keys:
    pieces = state.pieces[number]
    if join.attributes:
        parts = [states.attribute_keys(number, piece.slice, attribute) for piece in pieces]
    else:
        parts = [states.tuples(number, piece).keys for piece in pieces]
    return np.concatenate([np.empty(0, np.int64), *parts])


def _sampled(stored: list[Keys]) -> tuple[int, list[Keys]]:
    """What each stream has of one key in so many, the same of all; of more if these are too few."""
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
            return every, sampled
        every //= 2


def _counts(keys: Keys, of: Keys) -> NDArray[np.int64]:
    return np.bincount(np.searchsorted(keys, of), minlength=len(keys))
