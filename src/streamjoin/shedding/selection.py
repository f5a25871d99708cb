"""Which tuples are chosen where only some can be: by what they hold, as if at random.

A choice by position would differ when a batch is run again with its rows in another order, and
between shards that are sent the same rows; a choice by contents does not.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Side
from streamjoin.core.batch import Batch
from streamjoin.core.kernels.hashing import fold_words

LET_IN: Final = 0
SAMPLE: Final = 2
GROUP: Final = 4
GATE: Final = 6
TURN: Final = 8
CLOSER_LOOK: Final = 10
"""Salts, so that one choice says nothing of another; the side is added."""

CLOSER: Final = 16
"""A first choice takes so many times the rows of a sample."""


def row_hashes(batch: Batch, side: Side, salt: int) -> NDArray[np.uint64]:
    """A number per row that looks random, by key and time. O(n)."""
    hashes = np.full(len(batch), 0x5EED + salt + side, np.int64)
    fold_words(hashes, batch.keys if batch.stream.key else batch.contents)
    fold_words(hashes, batch.times)
    return hashes.view(np.uint64)


def random_number(side: Side, sequence: int) -> float:
    """A number from 0 to 1 that looks random, for a side and a batch."""
    hashes = np.array([0x5EED + LET_IN + side])
    fold_words(hashes, np.array([sequence]))
    return float(hashes.view(np.uint64)[0]) / 2.0**64


def choose(batch: Batch, side: Side, n: int) -> Batch:
    """`n` rows of a batch, in their order; all of them if there are not more. O(rows)."""
    return batch if n >= len(batch) else batch.where(is_chosen(batch, side, n))


def is_chosen(batch: Batch, side: Side, n: int) -> NDArray[np.bool_]:
    """Which rows of a batch are chosen; `n` of some that were chosen are `n` of all."""
    chosen = np.full(len(batch), n >= len(batch))
    if 0 < n < len(batch):
        hashes = row_hashes(batch, side, LET_IN)
        fold_words(hashes.view(np.int64), batch.contents)  # tells rows of one key and time apart
        chosen[np.argpartition(hashes, n - 1)[:n]] = True
    return chosen


def is_let_in(batch: Batch, side: Side, share: float) -> NDArray[np.bool_]:
    """Which rows of a batch are among a share of all, each by chance and by what it holds."""
    hashes = row_hashes(batch, side, GATE)
    fold_words(hashes.view(np.int64), batch.contents)
    return hashes < _limit(share)


def in_sample(batch: Batch, side: Side, share: float) -> NDArray[np.bool_]:
    """Which rows a sample of that share has; a smaller share has a part of the same rows.

    Rows of one key and time are told apart by their contents, which takes long: so only those are
    asked for theirs that a first choice leaves.
    """
    hashes = row_hashes(batch, side, SAMPLE)
    if share <= 0 or not batch.stream.key:  # without a key they are hashes of the contents
        return hashes < _limit(share)
    first = min(1.0, CLOSER * share)
    chosen = hashes < _limit(first)
    rows = batch.where(chosen)
    closer = row_hashes(rows, side, CLOSER_LOOK)
    fold_words(closer.view(np.int64), rows.contents)
    chosen[chosen] = closer < _limit(share / first)
    return chosen


def in_turn(
    batch: Batch, side: Side, sequence: int, shares: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which rows have their turn, each with a probability of its own, anew in every batch."""
    hashes = row_hashes(batch, side, TURN)
    fold_words(hashes.view(np.int64), batch.contents)
    fold_words(hashes.view(np.int64), np.full(len(batch), sequence))
    chosen: NDArray[np.bool_] = hashes <= np.minimum(shares, 1.0) * 2.0**64
    return chosen


def groups(batch: Batch, side: Side, n_groups: int) -> NDArray[np.int64]:
    """A random group for each row, the same whenever the row is met."""
    return (row_hashes(batch, side, GROUP) % np.uint64(n_groups)).astype(np.int64)


def _limit(share: float) -> np.uint64:
    return np.uint64(min(share, 1.0) * (2.0**64 - 2**12))
