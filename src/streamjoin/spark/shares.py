"""Which shards a row goes to where streams are joined on different attributes at once.

The shards form a grid with one axis for each attribute (the *shares* of Afrati and Ullman). A row
knows its place on the axes of its own attributes, and goes to all cells along the others: so the
rows of a result meet in exactly one cell, that of its values.

```
a.x = b.x, b.y = c.y                  y: 0        1
                              x: 0   cell 0   cell 1     a row of a with x in 0: cells 0 and 1
                                 1   cell 2   cell 3     a row of c with y in 1: cells 1 and 3
```
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from streamjoin.core.batch import Batch
from streamjoin.core.kernels.equi import split_by_shard
from streamjoin.core.keys import column_keys
from streamjoin.spark.routing import Split


@dataclass(frozen=True)
class Shares:
    """A grid of shards.

    Parameters
    ----------
    lengths
        Of each axis.
    attributes
        For each axis, the inputs that have the attribute and the position of its column.

    Examples
    --------
    >>> grid = Shares((2, 2), ({0: 0, 1: 0}, {1: 1, 2: 0}))
    >>> [[grid.fragment(shard, side) for shard in range(4)] for side in range(3)]
    [[0, 0, 1, 1], [0, 1, 2, 3], [0, 1, 0, 1]]
    """

    lengths: tuple[int, ...]
    attributes: tuple[Mapping[int, int], ...]

    @property
    def n_shards(self) -> int:
        """Number of cells."""
        return prod(self.lengths)

    def split(self, batch: Batch, side: int) -> Split:
        """Rows by their places on the axes of their own attributes."""
        places = np.zeros(len(batch), np.int32)
        for axis in self._axes(side):
            column = batch.rows.column(self.attributes[axis][side])
            order, begin = split_by_shard(column_keys(column), self.lengths[axis])
            here = np.empty(len(batch), np.int32)
            here[order] = np.repeat(np.arange(self.lengths[axis]), np.diff(begin))
            places = places * self.lengths[axis] + here
        counts = np.bincount(places, minlength=prod(self.lengths[a] for a in self._axes(side)))
        positions = np.argsort(places, kind="stable").astype(np.int32)
        return Split(positions, np.concatenate([[0], np.cumsum(counts)]))

    def fragment(self, shard: int, side: int) -> int:
        """The cell's places on the axes of a side's attributes, as one number."""
        place = self._place(shard)
        found = 0
        for axis in self._axes(side):
            found = found * self.lengths[axis] + place[axis]
        return found

    def counts(self, shard: int, side: int) -> bool:
        """The first of the cells that a row of a side goes to counts it."""
        mine, place = set(self._axes(side)), self._place(shard)
        return all(axis in mine or not at for axis, at in enumerate(place))

    def describe(self) -> str:
        """In words."""
        return f"grid of {' x '.join(map(str, self.lengths))} by key"

    def copies(self, side: int) -> int:
        """To how many cells a row goes."""
        return self.n_shards // prod(self.lengths[axis] for axis in self._axes(side))

    def _axes(self, side: int) -> list[int]:
        return [axis for axis, one in enumerate(self.attributes) if side in one]

    def _place(self, shard: int) -> list[int]:
        """Place of a cell on each axis."""
        place = []
        for length in reversed(self.lengths):
            shard, at = divmod(shard, length)
            place.append(at)
        return place[::-1]


def shares_for(n_shards: int, attributes: Sequence[Mapping[int, int]], n_inputs: int) -> Shares:
    """A grid that sends few copies, if all streams are as fast.

    One prime factor after the other makes that axis longer which then sends the fewest.

    Examples
    --------
    >>> shares_for(4, ({0: 0, 1: 0}, {1: 1, 2: 0}), n_inputs=3).lengths
    (2, 2)
    """
    lengths = [1] * len(attributes)
    for factor in _primes(n_shards):

        def sent(axis: int, factor: int = factor) -> int:
            longer = [n * factor if i == axis else n for i, n in enumerate(lengths)]
            grid = Shares(tuple(longer), tuple(attributes))
            return sum(grid.copies(side) for side in range(n_inputs))

        lengths[min(range(len(lengths)), key=sent)] *= factor
    return Shares(tuple(lengths), tuple(attributes))


def _primes(n: int) -> list[int]:
    """The prime factors of a number, the largest first."""
    found, factor = [], 2
    while n > 1:
        while n % factor == 0:
            found.append(factor)
            n //= factor
        factor += 1
    return found[::-1]
