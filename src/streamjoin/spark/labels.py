"""Shard labels that Spark spreads evenly over any number of partitions.

Spark sends a group to partition ``hash(label) mod partitions`` with Murmur3: labels 0, 1, 2, ...
would share partitions and leave others empty. So the label of shard i is the number whose hash is
i: whatever the number of partitions is, now or after `rescale`, shards go to them in turn.
"""

from collections.abc import Sequence
from typing import Final

_MASK: Final = 0xFFFFFFFF
_WORD: Final = 1 << 32
_SEED: Final = 42  # of Spark's hash partitioning
_C1, _C2 = 0xCC9E2D51, 0x1B873593
_F1, _F2 = 0x85EBCA6B, 0xC2B2AE35
_ADD: Final = 0xE6546B64
_BYTES: Final = 8  # hashed per label


def shard_labels(n_shards: int) -> list[int]:
    """One label per shard; those of fewer shards are among those of more.

    So the first shard has the same label in all joins, and a checkpoint of another number of shards
    is noticed.

    Examples
    --------
    >>> shard_labels(3)
    [958104307, 3029212710, 2330224183]
    >>> [murmur3_long(label) for label in shard_labels(3)]
    [0, 1, 2]
    """
    return [_label_of(shard) for shard in range(n_shards)]


def shards_of_tasks(labels: Sequence[int], n_partitions: int) -> tuple[tuple[int, ...], ...]:
    """Numbers of the shards that fall into one partition, hence into one task.

    Examples
    --------
    >>> shards_of_tasks(shard_labels(3), 2)
    ((0, 2), (1,))
    """
    tasks: dict[int, list[int]] = {}
    for shard, label in enumerate(labels):
        tasks.setdefault(murmur3_long(label) % n_partitions, []).append(shard)
    return tuple(tuple(shards) for shards in tasks.values())


def murmur3_long(value: int) -> int:
    """Spark's ``hash(value)`` of a non-negative long, as a signed 32-bit number.

    Examples
    --------
    >>> murmur3_long(0), murmur3_long(1)
    (-1670924195, -1712319331)
    """
    h = _SEED
    for word in (value & _MASK, value >> 32 & _MASK):
        h ^= _rotate(word * _C1, 15) * _C2 & _MASK
        h = (_rotate(h, 13) * 5 + _ADD) & _MASK
    h ^= _BYTES
    h = (h ^ h >> 16) * _F1 & _MASK
    h = (h ^ h >> 13) * _F2 & _MASK
    h ^= h >> 16
    return h - _WORD if h >> 31 else h


def _label_of(h: int) -> int:
    """The number below 2^32 whose hash is h: every step of `murmur3_long` undone, last one first.

    The upper word of such a number is 0, which leaves its round without a word to mix in.
    """
    h = _unshift(h, 16) * pow(_F2, -1, _WORD) & _MASK
    h = _unshift(h, 13) * pow(_F1, -1, _WORD) & _MASK
    h = _unshift(h, 16) ^ _BYTES
    for _ in range(2):
        h = _rotate((h - _ADD) * pow(5, -1, _WORD), 32 - 13)
    word = _rotate((h ^ _SEED) * pow(_C2, -1, _WORD), 32 - 15)
    return word * pow(_C1, -1, _WORD) & _MASK


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> 32 - bits) & _MASK


def _unshift(value: int, bits: int) -> int:
    """The x with ``x ^ x >> bits == value``, for bits of at least 11."""
    return value ^ value >> bits ^ value >> 2 * bits
