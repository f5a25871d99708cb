"""Joins of a stream with a table on a virtual disk, for recorded streams (Naeem et al. 2017).

INLJ, MESHJOIN and HYBRIDJOIN with and without the paper's front stage, tuple by tuple, with all
memory in tuples and all time virtual, so that they can be compared on any machine.
"""

from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import semi_stream as memory
from papers.operators.kernels import semi_stream_joins as kernel
from papers.operators.kernels import semi_stream_types as types
from papers.operators.semi_stream_costs import BACK_ENDS
from papers.operators.semi_stream_settings import (
    ADMISSIONS,
    MOVED,
    SHEDDINGS,
    DiskTable,
    KeyArray,
    SemiStreamJoin,
    Totals,
)
from streamjoin.errors import DataError

__all__ = ["DiskTable", "SemiStreamJoin", "SemiStreamRun", "Totals", "semi_stream_join"]

_NEVER: Final = 2**62
_CELLS: Final = 8  # of each row of the sketch, for each cached tuple
_SAMPLE: Final = 32  # stream tuples for each cached one after which the sketch is halved


class SemiStreamRun:
    """A join at work; what it does between two moments is what its `totals` grow by.

    Parameters
    ----------
    join
        Settings.
    table
        The table.
    keys
        Keys of the stream.
    arrivals
        When each stream tuple arrives, in seconds; by default all are there at the beginning.
    n_table
        Tuples of the table that are there at the beginning; by default all.

    Examples
    --------
    >>> from papers.operators.semi_stream_costs import Split
    >>> join = SemiStreamJoin("hybrid", Split(waiting=4, cached=0, partition=2))
    >>> run = SemiStreamRun(join, DiskTable.of(6), np.array([1, 5, 0, 1, 3], np.int32))
    >>> run.advance()
    True
    >>> run.totals.iterations, run.totals.outputs, run.outputs.tolist()
    (3, 5, [1, 1, 1, 1, 1])
    """

    def __init__(
        self,
        join: SemiStreamJoin,
        table: DiskTable,
        keys: KeyArray,
        arrivals: NDArray[np.float64] | None = None,
        n_table: int | None = None,
    ) -> None:
        if len(keys) and not 0 <= int(keys.min()) <= int(keys.max()) < table.n_keys:
            raise DataError(
                f"keys: got {keys.min()} to {keys.max()}; allowed: 0 to {table.n_keys - 1}"
            )
        if join.back_end != "mesh" and not table.unique:
            raise DataError(
                "table: got several tuples of a key; allowed: one, unless the back end is 'mesh'"
            )
        self.join = join
        self._stream = types.Stream(
            np.ascontiguousarray(keys, np.int32),
            np.zeros(len(keys)) if arrivals is None else arrivals,
            np.zeros(len(keys), np.int32),
        )
        self._table = types.Table(table.keys, table.places, table.copies)
        self._waiting = _waiting(join, table.n_keys)
        self._cache = _cache(join, table)
        n_partitions = -(-len(table.keys) // max(1, join.split.partition))
        at = np.zeros(memory.N_POINTERS, np.int64)
        at[[memory.Q_NEW, memory.Q_OLD, memory.MARK]] = -1
        at[memory.N_FREE] = len(self._waiting.free)
        at[memory.N_TABLE] = len(table.keys) if n_table is None else n_table
        at[memory.THRESHOLD] = join.first_threshold
        self._progress = types.Progress(
            at=at,
            clocks=np.zeros(types.N_CLOCKS),
            counts=np.zeros(types.N_COUNTS, np.int64),
            chunks=np.zeros((n_partitions + 2, 2), np.int64),
            spilled=np.zeros(max(1, len(keys)), np.int32),
        )
        self._setup = self._settings(table)

    def _settings(self, table: DiskTable) -> types.Setup:
        join, n_cached = self.join, len(self._cache.keys)
        turn = _span(n_cached, table.n_keys) if join.back_end == "index" else join.split.waiting
        return types.Setup(
            back_end=BACK_ENDS.index(join.back_end),
            policy=ADMISSIONS.index(join.admission),
            shedding=SHEDDINGS.index(join.shedding),
            partition=join.split.partition,
            position=float(join.position),
            turn=turn,
            most_evicted=MOVED * n_cached if join.threshold is None else -1.0,
            age_after=_SAMPLE * max(1, n_cached) if join.admission == "sketch" else turn,
            unique=table.unique,
        )

    def advance(self, until_s: float = inf, served: int = _NEVER, iterations: int = _NEVER) -> bool:
        """Go on until a time, so many served tuples or iterations; True if all is done."""
        return bool(
            kernel.advance(
                self._setup, self.join.costs, self._stream, self._table, self._waiting,
                self._cache, self._progress, until_s, served, iterations,
            )
        )  # fmt: skip

    def grow(self, n_table: int) -> None:
        """Let the table have so many tuples from now on: its first ones."""
        self._progress.at[memory.N_TABLE] = n_table

    @property
    def totals(self) -> Totals:
        """What was counted so far."""
        now, disk_s, waited_s = self._progress.clocks[: types.HITS_A_MISS].tolist()
        return Totals(now, disk_s, waited_s, *self._progress.counts.tolist())

    @property
    def outputs(self) -> NDArray[np.int32]:
        """Results of each stream tuple so far."""
        return self._stream.outputs

    @property
    def queued(self) -> KeyArray:
        """Keys in the queue, the newest first."""
        n_free = self._progress.at[memory.N_FREE]
        taken = np.ones(len(self._waiting.free), np.bool_)
        taken[self._waiting.free[:n_free]] = False
        slots = np.flatnonzero(taken)
        slots = slots[np.argsort(-self._waiting.numbers[slots])]
        keys: KeyArray = self._stream.keys[self._waiting.slots[slots, memory.TUPLE]]
        return keys

    @property
    def cached(self) -> KeyArray:
        """Keys in the cache."""
        return self._cache.keys[: self._progress.at[memory.N_CACHE]]

    @property
    def spilled(self) -> int:
        """Stream tuples that are spilled now."""
        at = self._progress.at
        return int(at[memory.SPILLED] - at[memory.BACK])


def semi_stream_join(
    join: SemiStreamJoin,
    table: DiskTable,
    keys: KeyArray,
    arrivals: NDArray[np.float64] | None = None,
) -> SemiStreamRun:
    """Join a whole stream, spilled tuples included.

    Examples
    --------
    >>> from papers.operators.semi_stream_costs import Split
    >>> join = SemiStreamJoin("mesh", Split(waiting=6, cached=2, partition=2))
    >>> run = semi_stream_join(join, DiskTable.of(6), np.array([1, 5, 0, 1, 2], np.int32))
    >>> run.totals.served, run.outputs.tolist()
    (5, [1, 1, 1, 1, 1])
    """
    run = SemiStreamRun(join, table, keys, arrivals)
    run.advance()
    return run


def _waiting(join: SemiStreamJoin, n_keys: int) -> memory.Waiting:
    n = 0 if join.back_end == "index" else join.split.waiting
    chains = np.zeros((n_keys, memory.N_CHAIN), np.int32)
    chains[:, memory.OLDEST] = -1
    return memory.Waiting(
        chains=chains,
        slots=np.zeros((n, memory.N_SLOT), np.int32),
        numbers=np.zeros(n, np.int64),
        since=np.zeros(n),
        free=np.arange(n, dtype=np.int32),
    )


def _cache(join: SemiStreamJoin, table: DiskTable) -> memory.Cache:
    # A key that has several tuples takes as many places.
    copies = 1.0 if table.unique else float(table.copies[table.copies > 0].mean())
    n = int(join.split.cached / copies)
    if join.admission == "sketch":
        n = int(join.split.cached * _sketched(join) / copies)
    cached = np.zeros((table.n_keys if n else 0, memory.N_CACHED), np.int32)
    cached[:, memory.PLACE] = -1
    width = 1 << max(4, (_CELLS * n).bit_length() - 1)
    recent = np.zeros((table.n_keys if n and join.back_end == "index" else 0, 2), np.int32)
    recent[:, 0] = -1
    return memory.Cache(
        cached=cached,
        keys=np.zeros(n, np.int32),
        frequencies=np.zeros(n, np.int32),
        sketch=np.zeros((4, width if join.admission == "sketch" and n else 16), np.uint8),
        recent=recent,
    )


def _sketched(join: SemiStreamJoin) -> float:
    """Part of the cached tuples that are left when the sketch takes its bytes."""
    each = join.prices.sizes.table + join.prices.sizes.recorded
    return each / (each + 4 * _CELLS)


def _span(n_cached: int, n_keys: int) -> int:
    """Stream tuples in which the least frequent of the ideal cache is expected twice (NAE-A15)."""
    return int(2 * max(1, n_cached) * (1 + np.log(max(1, n_keys))))
