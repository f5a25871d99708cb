"""Tuples of a plan's nodes, from rows of a stream to results, as arrays.

A tuple is an *interval*: it begins when the last of its rows came and ends when the first of them
leaves its window. Two tuples match iff their intervals overlap, and the tuple that they form is the
overlap. So neither the plan nor the order of arrival matters.

```
a        |t_a ------------- t_a + w_a|
b                 |t_b ------------------------- t_b + w_b|
ab                |start ---- end|
```

Rows themselves stay where they are: a tuple names them by the piece of its stream's state and the
position in it. They live at least as long as any tuple made of them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys, Positions
from streamjoin.core.batch import Batch
from streamjoin.core.kernels.hashing import fold_words
from streamjoin.joins.multi.settings import FAR, MultiJoin

Longs = NDArray[np.int64]
ROW_BITS = 32
"""A row's name: the number of its piece, then its position in these bits."""
KEY_TIES = (1 << 24) - 1
"""Bits of a tuple's turn that tell tuples of one key apart."""


@dataclass(frozen=True)
class Tuples:
    """Tuples of one node.

    Parameters
    ----------
    keys
        Of each.
    starts, ends
        On each axis (first index).
    ids
        Names of the rows, one line for each stream of the node.
    weights
        For how many tuples of an exact join each stands; None for one.
    """

    keys: Keys
    starts: Longs
    ends: Longs
    ids: Longs
    weights: NDArray[np.float64] | None = None

    def __len__(self) -> int:
        return len(self.keys)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> "Tuples":
        """Some of them."""
        weights = None if self.weights is None else self.weights[rows]
        return Tuples(
            self.keys[rows], self.starts[:, rows], self.ends[:, rows], self.ids[:, rows], weights
        )

    def to_batch(self) -> pa.RecordBatch:
        """As columns, to be stored."""
        arrays = [self.keys, *self.starts, *self.ends, *self.ids]
        columns = [pa.array(np.ascontiguousarray(array)) for array in arrays]
        if self.weights is not None:
            columns.append(pa.array(self.weights))
        return pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(len(columns))])

    @classmethod
    def from_blob(cls, blob: pa.Buffer, n_axes: int, n_streams: int, weighed: bool) -> "Tuples":
        """Read `to_batch` back from its serialised form, without a copy where there is one axis."""
        n = 1 + 2 * n_axes + n_streams
        kinds = [pa.int64()] * n + [pa.float64()] * weighed
        schema = pa.schema([(f"c{i}", kind) for i, kind in enumerate(kinds)])
        rows = pa.ipc.read_record_batch(blob, schema)
        arrays = [column.to_numpy() for column in rows.columns]
        cuts = pairwise([1, 1 + n_axes, 1 + 2 * n_axes, n])
        starts, ends, ids = (_lines(arrays[start:stop]) for start, stop in cuts)
        return cls(arrays[0], starts, ends, ids, arrays[n] if weighed else None)

    @classmethod
    def joined(cls, parts: "list[Tuples]", n_axes: int = 1, n_streams: int = 1) -> "Tuples":
        """All of them, one after the other; `n_axes` and `n_streams` matter if there are none."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            empty = np.empty((max(n_axes, n_streams), 0), np.int64)
            return cls(np.empty(0, np.int64), empty[:n_axes], empty[:n_axes], empty[:n_streams])
        weighed = any(part.weights is not None for part in parts)
        return cls(
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.starts for part in parts], axis=1),
            np.concatenate([part.ends for part in parts], axis=1),
            np.concatenate([part.ids for part in parts], axis=1),
            np.concatenate([_weights(part, slice(None)) for part in parts]) if weighed else None,
        )

    @property
    def weight(self) -> float:
        """For how many they stand together."""
        return float(len(self) if self.weights is None else self.weights.sum())

    def weighed(self, part: float) -> "Tuples":
        """The same, as what is left of more: of a part of all keys."""
        return replace(self, weights=np.maximum(_weights(self, slice(None)), 1 / part))

    def turns(self, turn_us: int) -> NDArray[np.uint64]:
        """The place of each in an order of all keys that looks random.

        It is another one in each turn of time, so that no key is always last. Tuples of one key are
        next to each other, ordered by what they hold and not by where they stand.
        """
        starts = np.ascontiguousarray(self.starts[0])
        places = np.full(len(self), 0x5EED, np.int64)
        for words in (self.keys, starts // turn_us):
            fold_words(places, np.ascontiguousarray(words))
        within = places.copy()
        for words in (starts, self.ends[0]):
            fold_words(within, np.ascontiguousarray(words))
        low = np.uint64(KEY_TIES)
        found: NDArray[np.uint64] = (places.view(np.uint64) & ~low) | (within.view(np.uint64) & low)
        return found


def gathered(parts: Iterable[Tuples], enough: int) -> Iterator[list[Tuples]]:
    """The same parts, some at a time: so many that they have enough tuples together."""
    few: list[Tuples] = []
    n = 0
    for part in parts:
        few.append(part)
        n += len(part)
        if n >= enough:
            yield few
            few, n = [], 0
    if few:
        yield few


def _lines(arrays: list[Longs]) -> Longs:
    return arrays[0].reshape(1, -1) if len(arrays) == 1 else np.stack(arrays)


def of_rows(join: MultiJoin, number: int, batch: Batch, piece: int) -> Tuples:
    """The tuples of a stream's rows, which are those of one piece.

    Where windows count, the rows have their places on those axes as last columns.
    """
    one, n = join.inputs[number], len(batch)
    starts = np.empty((join.n_axes, n), np.int64)
    ends = np.full((join.n_axes, n), FAR, np.int64)
    starts[0] = batch.times
    if one.end is not None:
        ends[0] = np.asarray(batch.rows.column(one.end))
    elif one.stream.window_rows is None:
        ends[0] = _later(batch.times, one.stream.window_us)
    first = batch.rows.num_columns - len(join.counted)
    for axis, counted in enumerate(join.counted, start=1):
        starts[axis] = np.asarray(batch.rows.column(first + axis - 1))
        if counted == number:
            ends[axis] = starts[axis] + one.stream.window_rows
    ids = (piece << ROW_BITS) + np.arange(n, dtype=np.int64)
    weights = None if one.weight is None else np.asarray(batch.rows.column(one.weight))
    return Tuples(batch.keys, starts, ends, ids.reshape(1, -1), weights)


def _later(times: Longs, by: int) -> Longs:
    """Times and a window after them, which may be beyond what 64 bits hold."""
    limit = np.iinfo(np.int64).max - by
    return np.where(times > limit, np.iinfo(np.int64).max, np.minimum(times, limit) + by)


def overlap(x: Tuples, at_x: Positions, y: Tuples, at_y: Positions) -> NDArray[np.bool_]:
    """Whether the intervals of pairs overlap, on every axis."""
    holds = np.ones(len(at_x), np.bool_)
    for axis in range(len(x.starts)):
        holds &= x.starts[axis].take(at_x) <= y.ends[axis].take(at_y)
        holds &= y.starts[axis].take(at_y) <= x.ends[axis].take(at_x)
    return holds


def combine(
    x: Tuples, at_x: Positions, y: Tuples, at_y: Positions, *, names_only: bool = False
) -> Tuples:
    """The tuples that pairs form; the streams of `x` come first.

    With `names_only` they are results: nobody asks for their keys and intervals.
    """
    weights = None
    if x.weights is not None or y.weights is not None:
        # both are there for the first keys of one order, so for the fewer of them
        weights = np.maximum(_weights(x, at_x), _weights(y, at_y))
    ids = np.empty((len(x.ids) + len(y.ids), len(at_x)), np.int64)
    for line, (names, at) in enumerate([(n, at_x) for n in x.ids] + [(n, at_y) for n in y.ids]):
        names.take(at, out=ids[line], mode="clip")  # no position is wrong; "raise" makes a copy
    if names_only:
        nothing = np.broadcast_to(np.int64(0), (len(x.starts), len(at_x)))
        return Tuples(nothing[0], nothing, nothing, ids, weights)
    starts, ends = (np.empty((len(x.starts), len(at_x)), np.int64) for _ in range(2))
    for axis in range(len(starts)):
        np.maximum(x.starts[axis].take(at_x), y.starts[axis].take(at_y), out=starts[axis])
        np.minimum(x.ends[axis].take(at_x), y.ends[axis].take(at_y), out=ends[axis])
    return Tuples(x.keys.take(at_x), starts, ends, ids, weights)


def _weights(tuples: Tuples, at: Positions | slice) -> NDArray[np.float64]:
    return np.ones(len(tuples.keys[at])) if tuples.weights is None else tuples.weights[at]
