"""How large joins of the streams' tables are, measured on a sample of their keys.

For each sampled key the tuples that each stream's state holds are counted; their product over a set
of streams is exact for the key. A sample of keys overlooks the few that have many rows: those are
found in a sample of rows, and counted all. Of streams that different attributes link, sets are
measured that one attribute links; sizes of others follow from those.
"""

from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels.hashing import fold_words
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState, States
from streamjoin.planning.many.nary import ALL_SETS, Sizes

SAMPLED: Final = 1 << 12
"""About so many rows of each stream are looked at."""
FEWEST: Final = 512
"""At least so many keys, however many rows each has."""
OFTEN: Final = 4
"""A key is frequent if a sample of rows has it so many times."""
Matrix = NDArray[np.float64]


def measure(join: MultiJoin, state: MultiJoinState, states: States) -> Sizes | None:
    """Sizes of joins of what is stored; None if some stream has nothing."""
    tables = tuple(float(states.rows(i)) for i in range(len(join.inputs)))
    if min(tables) == 0:
        return None
    joined: dict[int, float] = {}
    n_keys = 0.0
    for attribute, one in enumerate(join.attributes or [dict.fromkeys(range(len(tables)), 0)]):
        stored = [_stored_keys(join, state, states, number, attribute) for number in one]
        every, counts, frequent = _counted(stored)
        n_keys = max(n_keys, float(every * counts.shape[1] + frequent.shape[1]))
        most = len(one) if len(one) <= ALL_SETS else 2
        for size in range(2, most + 1):
            for chosen in map(list, combinations(range(len(one)), size)):
                mask = sum(1 << list(one)[i] for i in chosen)
                found = float(counts[chosen].prod(axis=0).sum())
                # none in a sample is not none: half a match is what would have been overlooked
                found = every * max(found, 0.5) if every > 1 else found
                found += float(frequent[chosen].prod(axis=0).sum())
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


def _counted(stored: list[Keys]) -> tuple[int, Matrix, Matrix]:
    """Rows that each stream has of one key in so many, and of the frequent ones, which are all."""
    frequent = _frequent(stored)
    exact = np.zeros((len(stored), len(frequent)))
    rest = []
    for line, keys in enumerate(stored):
        at = np.minimum(np.searchsorted(frequent, keys), max(0, len(frequent) - 1))
        hot = frequent[at] == keys if len(frequent) else np.zeros(len(keys), np.bool_)
        exact[line] = np.bincount(at[hot], minlength=len(frequent)) if len(frequent) else 0
        rest.append(keys[~hot])
    every, sampled = _sampled(rest)
    together = np.unique(np.concatenate(sampled))
    return every, np.stack([_counts(together, of) for of in sampled]).astype(np.float64), exact


def _frequent(stored: list[Keys]) -> Keys:
    """Keys that many rows have, in order: those met several times in a sample of rows."""
    found = [np.empty(0, np.int64)]
    for keys in stored:
        if len(keys) > SAMPLED:
            few, times = np.unique(keys[:: len(keys) // SAMPLED], return_counts=True)
            found.append(few[times >= OFTEN])
    return np.unique(np.concatenate(found))


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
