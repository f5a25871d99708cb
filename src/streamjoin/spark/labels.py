"""Shard labels that Spark sends to partitions of their own.

Spark groups by the Murmur3 hash of the grouping key: labels 0, 1, 2, ... would share partitions and
leave others empty. So a shard's label is the smallest number whose hash falls into a free
partition.
"""

from collections.abc import Sequence

_MASK = 0xFFFFFFFF
_SEED = 42  # of Spark's hash partitioning


def shard_labels(n_shards: int, n_partitions: int) -> list[int]:
    """One label per shard, each in another partition as long as there are free ones.

    Label 0 is always among them, so that a checkpoint of another number of shards is noticed.

    Examples
    --------
    >>> shard_labels(2, 2)
    [0, 2]
    """
    labels: list[int] = []
    taken: set[int] = set()
    candidate = 0
    while len(labels) < n_shards:
        if len(taken) == n_partitions:
            taken.clear()
        partition = murmur3_long(candidate) % n_partitions
        if partition not in taken:
            taken.add(partition)
            labels.append(candidate)
        candidate += 1
    return labels


def shards_of_tasks(labels: Sequence[int], n_partitions: int) -> tuple[tuple[int, ...], ...]:
    """Numbers of the shards that fall into one partition, hence into one task.

    Examples
    --------
    >>> shards_of_tasks(shard_labels(3, 2), 2)
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
        k = word * 0xCC9E2D51 & _MASK
        k = (k << 15 | k >> 17) & _MASK
        h ^= k * 0x1B873593 & _MASK
        h = (h << 13 | h >> 19) & _MASK
        h = (h * 5 + 0xE6546B64) & _MASK
    h ^= 8  # bytes hashed
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h
