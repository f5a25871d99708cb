"""The way to find results that fits best, chosen by what the streams turned out to be.

Tuples of joins can be made again from the rows of the streams, which live longer. So a plan can be
changed between two batches, and a tree can take over from an n-ary join: what joins have formed is
forgotten, and formed anew as the new plan wants it. An n-ary join has nothing of that kind.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels.hashing import fold_words
from streamjoin.joins.base import WindowStore
from streamjoin.joins.multi.halfway import HalfwayJoin
from streamjoin.joins.multi.regulator import first_part, turn_us
from streamjoin.joins.multi.rows import Rows
from streamjoin.joins.multi.settings import MultiJoin
from streamjoin.joins.multi.states import MultiJoinState, States
from streamjoin.planning.many.nary import ALL_SETS, Sizes
from streamjoin.planning.many.nary_cost import Situation
from streamjoin.planning.many.strategy import choose, choose_tree, produced_rate
from streamjoin.planning.many.tree import Tree

EVERY: Final = 16
"""Batches between two looks at the plan; the first comes after a quarter of them."""
MOST_STREAMS: Final = 16
"""With more, how streams are joined does not change: to compare the ways would take too long."""
CLEARLY: Final = 1.2
"""Another tree takes over if it forms so many times fewer intermediate tuples."""
SAMPLED: Final = 1 << 12
"""About so many rows of each stream are looked at."""
FEWEST: Final = 512
"""At least so many keys, however many rows each has."""
OFTEN: Final = 4
"""A key is frequent if a sample of rows has it so many times."""
Matrix = NDArray[np.float64]


def reorder(join: MultiJoin, state: MultiJoinState, store: WindowStore) -> bool:
    """Change to another plan or strategy if it is clearly better, or asked for; whether it was."""
    if join.strategy != "auto" and state.nary != (join.strategy == "mjoin"):
        # stored under another strategy
        return _change(States(join, state, store), nary=not state.nary, tree=state.tree)
    is_due = state.sequence % EVERY == EVERY // 4 or (state.nary and state.sequence == 1)
    if not 3 <= len(join.inputs) <= MOST_STREAMS or not is_due:
        return False
    states = States(join, state, store)
    sizes = join.sizes or measure(states)
    if sizes is None:
        return False
    state.sizes = sizes
    if join.strategy == "mjoin":
        return False
    if join.strategy == "auto":
        chosen = choose(
            states.tree.names,
            situation(states, sizes, state.arrivals),
            stay="mjoin" if state.nary else "tree",
        )
        nary = chosen.strategy == "mjoin"
        if nary != state.nary:
            return _change(states, nary=nary, tree=str(chosen.tree))
        if nary:
            return False
    return _better_tree(states, sizes)


def without_limits(join: MultiJoin, state: MultiJoinState, store: WindowStore) -> None:
    """Go on exactly where a budget was kept before: form what joins have left out.

    States of a limited number of tuples stay as they are: they hold what they were given.
    """
    state.limits = None
    if not state.nary and not any(join.states):
        _change(States(join, state, store), nary=False, tree=state.tree)


def situation(states: States, sizes: Sizes, arrivals: Sequence[float]) -> Situation:
    """What costs depend on."""
    return Situation(
        arrivals=tuple(map(float, arrivals)),
        tables=states.tables,
        pieces=tuple(float(len(pieces)) for pieces in states.state.pieces[: states.tree.n_streams]),
        sizes=sizes,
        operations=states.join.operations,
    )


def _better_tree(states: States, sizes: Sizes) -> bool:
    names, rates, tables = states.tree.names, states.state.arrivals, states.tables
    if min(rates) <= 0 or min(tables) <= 0:
        return False

    def cardinality(streams: frozenset[int]) -> float:
        return sizes.of(streams, tables)

    def cost(tree: Tree) -> float:
        joined = (frozenset(tree.streams(node)) for node in tree.susceptible)
        return sum(produced_rate(streams, rates, cardinality) for streams in joined)

    best = choose_tree(names, rates, cardinality)
    if cost(states.tree) <= CLEARLY * cost(best):
        return False
    return _change(states, nary=False, tree=str(best))


def _change(states: States, *, nary: bool, tree: str) -> bool:
    """Go on with another plan: forget what joins have formed, and form what the new ones want."""
    states.drop_joins()
    join, state = states.join, states.state
    state.nary, state.tree = nary, tree
    part = 1.0
    if state.limits is not None:
        part = state.limits.part
        state.limits.forget()
    if not nary:
        _form_again(States(join, state, states.store), part)
    return True


def _form_again(states: States, part: float) -> None:
    """Form what the joins of a new plan would remember, of a part of the keys."""
    tree = states.tree
    for node in tree.susceptible:
        left, _ = tree.children(node)
        stored = [states.tuples(left, piece) for piece in states.state.pieces[left]]
        tuples = states.joined(left, stored)
        if part < 1:
            tuples = first_part(tuples, part, turn_us(states))
        formed = list(HalfwayJoin(states, left, tuples, tuples).with_stored())
        states.keep_tuples(node, states.joined(node, formed), Rows(states).record_batch)


def measure(states: States) -> Sizes | None:
    """Sizes of joins of what is stored; None if some stream has nothing.

    For each sampled key the tuples that each stream's state holds are counted; their product over a
    set of streams is exact for the key. A sample of keys overlooks the few that have many rows:
    those are found in a sample of rows, and counted all. Of streams that different attributes link,
    sets are measured that one attribute links; sizes of others follow from those.
    """
    tables = states.tables
    if min(tables) == 0:
        return None
    joined: dict[int, float] = {}
    n_keys = 0.0
    one_key = [dict.fromkeys(range(len(tables)), 0)]
    for attribute, one in enumerate(states.join.attributes or one_key):
        stored = [_stored_keys(states, number, attribute) for number in one]
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


def _stored_keys(states: States, number: int, attribute: int) -> Keys:
    pieces = states.state.pieces[number]
    if states.join.attributes:
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
    counts = [np.bincount(np.searchsorted(together, of), minlength=len(together)) for of in sampled]
    return every, np.stack(counts).astype(np.float64), exact


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
