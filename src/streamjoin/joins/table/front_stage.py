"""The front stage: a cache of single table rows that the stream asks for often (NAE-A2).

Each stream row looks here first. Which table rows are kept is decided when they are at hand anyway,
because a partition was loaded or a key looked up: a row enters if its key came more often lately
than that of a row it replaces. How often keys come is counted for all of them, in a sketch whose
counts fade; the paper's recorder knows cached keys only, by what they were when loaded (NAE-A9).
The sketch is not part of the state: where it is lost, it is learnt anew.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.index import HashIndex
from streamjoin.core.kernels.counting import Counters, count_keys, estimate_keys
from streamjoin.core.window import BasicWindow
from streamjoin.joins.base import MAX_PAIRS
from streamjoin.joins.table.rows import Columns, row_keys
from streamjoin.joins.table.settings import TABLE
from streamjoin.joins.table.state import ALIVE, CACHED, Work

LARGEST: Final = 8
MOST_SEGMENTS: Final = 24
"""A piece has at most so much of one of the cache, because it is copied when it is written; of more
pieces than these the smallest are written anew."""
BESIDES: Final = 64
"""Bytes that a cached row takes besides its columns: in the index and in the sketch."""
FULL: Final = 0.95
SAMPLED: Final = 8
SKETCH: Final = "frequencies"
TWICE: Final = 2
"""A key that came once is not frequent."""


LINES: Final = 4
SAMPLE: Final = 10
"""After so many keys for each that is of interest all counts are halved: what was frequent long ago
must not stay so."""


@dataclass
class FrequencySketch:
    """A count-min sketch whose counts fade (the one of TinyLFU).

    Parameters
    ----------
    counters
        Lines of counters.
    interest
        How many keys there are to choose: the cache's.
    seen
        Keys counted since the last time that all was halved.

    Examples
    --------
    >>> sketch = FrequencySketch.of(interest=100)
    >>> sketch.see(np.array([7, 7, 8]))
    >>> sketch.estimate(np.array([7, 8, 9])).tolist()
    [2, 1, 0]
    """

    counters: Counters
    interest: int
    seen: int = 0

    @classmethod
    def of(cls, interest: int) -> "FrequencySketch":
        """An empty one, about four counters a line for each key of interest."""
        width = 1 << max(6, (4 * max(1, interest) - 1).bit_length())
        return cls(np.zeros((LINES, width), np.uint8), interest)

    def see(self, keys: Keys) -> None:
        """Count keys."""
        count_keys(keys, self.counters)
        self.seen += len(keys)
        while self.seen >= SAMPLE * max(1, self.interest):
            self.counters >>= 1
            self.seen //= 2

    def estimate(self, keys: Keys) -> NDArray[np.uint8]:
        """How often keys came lately."""
        found = np.empty(len(keys), np.uint8)
        estimate_keys(keys, self.counters, found)
        return found

    def to_bytes(self) -> bytes:
        """As bytes; `from_bytes` reads them."""
        head = np.array([self.interest, self.seen, self.counters.shape[1]], np.int64)
        return head.tobytes() + self.counters.tobytes()

    @classmethod
    def from_bytes(cls, blob: bytes) -> "FrequencySketch":
        """Read `to_bytes` back.

        Examples
        --------
        >>> sketch = FrequencySketch.of(10)
        >>> sketch.see(np.array([5]))
        >>> FrequencySketch.from_bytes(sketch.to_bytes()).estimate(np.array([5])).tolist()
        [1]
        """
        interest, seen, width = np.frombuffer(blob, np.int64, 3).tolist()
        counters = np.frombuffer(blob, np.uint8, offset=24).reshape(LINES, width).copy()
        return cls(counters, interest, seen)


class FrontStage:
    """The cache during one batch.

    Parameters
    ----------
    work
        The batch.

    Attributes
    ----------
    hits
        Stream rows that it answered.
    """

    def __init__(self, work: Work) -> None:
        self._work, self._join, self._state = work, work.join, work.state
        self._store = work.store
        self._segments = [work.read(CACHED, piece) for piece in work.state.cached]
        rows = sum(len(segment) for segment in self._segments)
        self._alive = np.ones(rows, np.bool_)
        alive, hint = work.store.get_blob(ALIVE), work.store.get_hint(SKETCH)
        if alive is not None:
            self._alive = np.unpackbits(np.frombuffer(alive, np.uint8), count=rows).astype(np.bool_)
        capacity = work.room.cache // int(work.parts.table.bytes_per_row + BESIDES)
        self._sketch = FrequencySketch.of(capacity)
        if hint is not None:
            with suppress(ValueError):  # cut short: it is only a hint
                self._sketch = FrequencySketch.from_bytes(hint)
        self._candidates: list[pa.RecordBatch] = []
        self._held = 0
        self._is_counting = False
        self.hits = 0

    @property
    def rows(self) -> int:
        """Table rows that are cached."""
        return int(self._alive.sum())

    @property
    def bytes_per_row(self) -> float:
        """What a cached row takes."""
        return _bytes_per_row(self._segments) if self._segments else 0.0

    def answer(self, rows: pa.RecordBatch, missed: NDArray[np.bool_]) -> Iterator[Columns]:
        """Results of rows whose table row is cached; `missed` says in the end which others are."""
        keys, answers = row_keys(rows), self._work.answers
        # Where batches are small, a sample of them is counted: writing the counts is most of it.
        many = SAMPLED * len(keys) >= self._sketch.interest
        self._is_counting = many or self._state.sequence % SAMPLED == 0
        if self._is_counting:
            self._sketch.see(keys)
        for piece, segment, alive in self._pieces():
            index = self._index(piece, segment)
            for theirs, mine in index.probe_chunks(keys, np.zeros_like(keys), 0, 0, MAX_PAIRS):
                lives = alive[theirs]
                at, at_segment = answers.verified(rows, mine[lives], segment, theirs[lives])
                if len(at):
                    missed[at] = False
                    yield from answers.paired(rows, at, segment, at_segment)
        self.hits += int(len(missed) - missed.sum())

    def _pieces(self) -> Iterator[tuple[BasicWindow, pa.RecordBatch, NDArray[np.bool_]]]:
        """Pieces of the cache, their rows, and which of these still count."""
        begin = 0
        for piece, segment in zip(self._state.cached, self._segments, strict=True):
            yield piece, segment, self._alive[begin : begin + len(segment)]
            begin += len(segment)

    def offer(self, part: pa.RecordBatch, matched: NDArray[np.int64]) -> None:
        """Table rows of a part that was loaded, with how many stream rows each answered.

        All rows of a key are offered together.
        """
        wanted = matched > 0
        bar = self._bar
        if not bar and 2 * self._held > self._work.room.cache:
            bar = TWICE - 1  # more than enough are held already
        if bar:
            wanted &= self._sketch.estimate(row_keys(part)) > bar
        if wanted.any():
            self._candidates.append(part.filter(pa.array(wanted)))
            self._held += int(self._candidates[-1].nbytes)

    @cached_property
    def _bar(self) -> int:
        """How often keys must have come that are worth a second look; 0 while there is room."""
        if self.rows * self.bytes_per_row <= self._work.room.cache * FULL:
            return 0
        return int(self._sketch.estimate(self._keys(self._alive)).min())

    def settle(self) -> None:
        """Decide which of the rows that were offered are kept, and write down what changed."""
        rows = self._offered()
        known = [*self._segments, *([] if rows is None else [rows])]
        if known:
            capacity = self._work.room.cache // _bytes_per_row(known)
            excess = self.rows - capacity
            if excess > 0:  # there is room for fewer than before: the least frequent go
                often = self._sketch.estimate(self._keys(self._alive))
                worst = np.argsort(often, kind="stable")[:excess]
                self._drop(np.flatnonzero(self._alive)[worst])
            if rows is not None:
                self._admit(rows, capacity)
        self._tidy()
        if self._is_counting:
            self._store.put_hint(SKETCH, self._sketch.to_bytes())
        self._store.put_blob(ALIVE, np.packbits(self._alive).tobytes())

    def _offered(self) -> pa.RecordBatch | None:
        """What was offered and is not known, each row once."""
        if not self._candidates:
            return None
        rows = pa.concat_batches(self._candidates)
        offers = np.repeat(np.arange(len(self._candidates)), [len(c) for c in self._candidates])
        self._candidates = []
        keys, at = np.unique(row_keys(rows), return_inverse=True)
        first = np.full(len(keys), len(offers))
        np.minimum.at(first, at, offers)
        known = np.zeros(len(keys), np.bool_)
        for piece, segment, alive in self._pieces():
            theirs, mine = self._index(piece, segment).probe(keys, np.zeros_like(keys), 0, 0)
            known[mine[alive[theirs]]] = True
        return rows.filter(pa.array((first[at] == offers) & ~known[at]))

    def forget(self, changed: Callable[[list[pa.Array]], NDArray[np.bool_]]) -> None:
        """Forget rows whose keys may have others now."""
        for _, segment, alive in self._pieces():
            alive &= ~changed([segment.column(i) for i in self._join.keys[TABLE]])

    def clear(self) -> None:
        """Forget all rows, as the table has changed."""
        for piece in list(self._state.cached):
            self._work.remove(CACHED, piece)
        self._segments, self._alive = [], np.zeros(0, np.bool_)

    def _admit(self, rows: pa.RecordBatch, capacity: int) -> None:
        """Let the frequent ones in, each in the place of one that is less so.

        While there is room for all that are offered, all are let in (NAE-A9: the threshold falls
        while the cache is not full).
        """
        keys = row_keys(rows)
        often = self._sketch.estimate(keys).astype(np.int16)
        best = np.argsort(-often, kind="stable")
        room = max(0, capacity - self.rows)
        if len(best) > room:
            best = best[often[best] >= TWICE]
        chosen, others = best[:room], best[room:]
        lives = np.flatnonzero(self._alive)
        if len(others) and len(lives):
            known = self._sketch.estimate(self._keys(self._alive)).astype(np.int16)
            worst = np.argsort(known, kind="stable")
            n = min(len(others), len(worst))
            better = int((often[others[:n]] > known[worst[:n]]).sum())
            self._drop(lives[worst[:better]])
            chosen = np.concatenate([chosen, others[:better]])
        if not self._join.unique:  # a key is cached with all its rows or not at all
            left_out = np.ones(len(keys), np.bool_)
            left_out[chosen] = False
            chosen = chosen[~np.isin(keys[chosen], keys[left_out])]
        if len(chosen):
            self._append(rows.take(pa.array(chosen)))

    def _drop(self, which: NDArray[np.int64]) -> None:
        """Cached rows go, with all others of their keys."""
        if self._join.unique or not len(which):
            self._alive[which] = False
            return
        keys = self._keys(np.ones(len(self._alive), np.bool_))
        self._alive &= ~np.isin(keys, keys[which])

    def _append(self, rows: pa.RecordBatch) -> None:
        most = max(1, self._work.room.cache // (LARGEST * _bytes_per_row([rows])))
        for start in range(0, len(rows), most):
            self._segments.append(rows.slice(start, most))
            self._work.write(CACHED, self._segments[-1])
        self._alive = np.concatenate([self._alive, np.ones(len(rows), np.bool_)])

    def _tidy(self) -> None:
        """Rewrite pieces that are mostly dropped rows, and small ones if there are many."""
        pieces = list(self._pieces())
        lives = np.array([alive.sum() for _, _, alive in pieces], np.int64)
        stale = 2 * lives < np.array([len(rows) for _, rows, _ in pieces], np.int64)
        if len(pieces) > MOST_SEGMENTS:
            stale[np.argsort(lives, kind="stable")[: MOST_SEGMENTS // 2 + 1]] = True
        if not stale.any():
            return
        rewritten, self._segments, kept = [], [], [np.zeros(0, np.bool_)]
        for (piece, rows, alive), is_stale in zip(pieces, stale, strict=True):
            if is_stale:
                rewritten.append(rows.filter(pa.array(alive)))
                self._work.remove(CACHED, piece)
            else:
                self._segments.append(rows)
                kept.append(alive)
        self._alive = np.concatenate(kept)
        self._append(pa.concat_batches(rewritten))

    def _keys(self, which: NDArray[np.bool_]) -> Keys:
        parts = [row_keys(segment) for segment in self._segments]
        keys: Keys = np.concatenate([np.empty(0, np.int64), *parts])[which]
        return keys

    def _index(self, piece: BasicWindow, segment: pa.RecordBatch) -> HashIndex:
        index = self._store.get_index(CACHED, piece)
        if index is None:
            keys = row_keys(segment)
            index = HashIndex.build(keys, np.zeros_like(keys))
            self._store.put_index(CACHED, piece, index)
        return index


def _bytes_per_row(known: Sequence[pa.RecordBatch]) -> int:
    """What a cached row takes, on average of those that are known."""
    rows = sum(len(one) for one in known)
    return 1 + sum(int(one.nbytes) for one in known) // max(1, rows) + BESIDES
