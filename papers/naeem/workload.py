"""Set-ups of the experiments of Naeem et al.: the paper's sizes, scaled down as a whole (NAE-D1).

Memory, disk buffer, table and the time of a seek all shrink by the same factor, so that shares of
memory, matches in a partition and the part that seeks have in the time stay as they are. What does
not stay is the share of the stream that the most frequent keys have (NAE-I8).
"""

from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from papers.base import Context
from papers.naeem.foreign_keys import ForeignKeys, KeyArray
from papers.operators.semi_stream import DiskTable, SemiStreamJoin, SemiStreamRun, Totals
from papers.operators.semi_stream_costs import (
    FRONT_SHARE,
    BackEnd,
    Iteration,
    Prices,
    Shares,
    Split,
    best_buffer_bytes,
    iteration,
    split_memory,
)
from papers.operators.semi_stream_settings import Admission, SheddingKind
from streamjoin.planning.table import ideal_hit_share

PAPER_TABLE: Final = 100_000_000
"""Tuples of the paper's table (NAE-A20)."""
WARM_UP, MEASURED = 3, 2
"""Turns of H_S; up to four times as many where H_S is smaller than with memory of 10 %."""
_PAIRED: Final = 1.3  # stream tuples at hand for each that is wanted


def n_table(context: Context) -> int:
    """Tuples of the table that stand for the paper's 100 million."""
    return 50_000 if context.quick else 200_000


@dataclass(frozen=True)
class Setting:
    """A join, its table, its stream.

    Parameters
    ----------
    n
        Tuples of our table.
    back_end, front_share
        The join, and the share of memory of its front stage; 0 for none.
    memory
        Share of the table.
    skew, clustered, used
        Of the stream's keys.
    paper_n
        Tuples of the paper's table, which decide what a seek costs here.
    admission, threshold, shedding, position, buffer
        Of the join; `buffer` is the disk buffer as a share of memory, by default the model's best.
    prices
        At the paper's size.
    """

    n: int
    back_end: BackEnd = "hybrid"
    front_share: float = FRONT_SHARE
    memory: float = 0.1
    skew: float = 1.0
    clustered: bool = False
    used: float = 1.0
    paper_n: int = PAPER_TABLE
    admission: Admission = "recorder"
    threshold: int | None = None
    shedding: SheddingKind = "none"
    position: float = 1.0
    buffer: float | None = None
    prices: Prices = field(default_factory=Prices)

    @property
    def scale(self) -> float:
        """Our table over the paper's."""
        return self.n / self.paper_n

    @property
    def memory_bytes(self) -> float:
        """Memory here."""
        return self.memory * self.n * self.prices.sizes.table

    @cached_property
    def split(self) -> Split:
        """Memory in tuples; the disk buffer is chosen at the paper's size."""
        memory = self.memory_bytes / self.scale
        buffer = memory * self.buffer if self.buffer is not None else self._best_buffer(memory)
        return split_memory(
            self.back_end, self.memory_bytes, buffer * self.scale, self.front_share,
            self.prices.sizes,
        )  # fmt: skip

    def _best_buffer(self, memory: float) -> float:
        sizes = self.prices.sizes
        cached = int(memory * self.front_share / (sizes.table + sizes.recorded))
        hits = ideal_hit_share(cached, self.paper_n, self.skew) if cached else None
        return best_buffer_bytes(
            self.back_end, memory, self.paper_n, self.prices, self.front_share, hits
        )

    @property
    def ideal_hits(self) -> float:
        """Hit share of the most frequent keys, here."""
        return ideal_hit_share(self.split.cached, round(self.n * self.used), self.skew)

    @property
    def join(self) -> SemiStreamJoin:
        """Settings of the operator."""
        # An index join reads a page for each tuple at any size: nothing to scale.
        scale = 1.0 if self.back_end == "index" else self.scale
        return SemiStreamJoin(
            self.back_end, self.split, self.admission, self.threshold, self.shedding,
            self.position, self.prices.scaled(scale),
        )  # fmt: skip

    def model(self, hit_share: float | None = None) -> Iteration:
        """What the cost model gives, with the ideal hit share unless another is known."""
        hits = self.ideal_hits if hit_share is None else hit_share
        hits_or_none = hits if self.split.cached else None
        return iteration(
            self.back_end, self.split, self.n, self.join.prices, hits_or_none, self.partition_shares
        )

    @property
    def partition_shares(self) -> Shares | None:
        """Share of each partition in what passes an ideal cache, with keys of seed 1."""
        if self.back_end != "hybrid":
            return None
        keys = foreign_keys(self.n, self.skew, 1, self.clustered, self.used)
        return shares_of_partitions(keys, self.split)

    def keys(self, seed: int, n: int, part: int = 0) -> KeyArray:
        """A stream."""
        return foreign_keys(self.n, self.skew, seed, self.clustered, self.used).draw(n, part)

    def start(
        self, seed: int, n: int, arrivals: NDArray[np.float64] | None = None
    ) -> SemiStreamRun:
        """A run over n stream tuples."""
        return SemiStreamRun(self.join, DiskTable.of(self.n), self.keys(seed, n), arrivals)

    def turns(self, n: float) -> int:
        """Stream tuples that pass in n turns of H_S; an index join has some for its cache."""
        if self.back_end == "index":
            return int(n * (4 * self.split.cached * (1 + np.log(self.n)) + 1000))
        return int(n * self.split.waiting / (1 - self.ideal_hits)) + 1

    def measure(self, seed: int) -> Totals:
        """What happens after the warm-up, with a stream that is always there."""
        more = min(4.0, max(1.0, 0.1 / self.memory))
        begin, end = self.turns(WARM_UP), self.turns(WARM_UP + MEASURED * more)
        run = self.start(seed, int(end * _PAIRED) + self.split.waiting)
        run.advance(served=begin)
        before = run.totals
        run.advance(served=end)
        return run.totals - before

    def uncached(self) -> "Setting":
        """The same without a front stage."""
        return replace(self, front_share=0.0)


@lru_cache(maxsize=1024)
def measured(setting: Setting, seed: int) -> Totals:
    """What a setting counts after its warm-up; several figures share some."""
    return setting.measure(seed)


@lru_cache(maxsize=4)
def foreign_keys(
    n: int, skew: float, seed: int, clustered: bool = False, used: float = 1.0
) -> ForeignKeys:
    """Keys of a set-up, kept while settings with the same ones are run."""
    return ForeignKeys(n, skew, seed, clustered, used)


def shares_of_partitions(keys: ForeignKeys, split: Split) -> Shares:
    """Share of each partition in what passes an ideal cache."""
    shares = keys.shares.copy()
    shares[keys.by_rank[: split.cached]] = 0
    sums = np.add.reduceat(shares, np.arange(0, keys.n_keys, split.partition))
    found: Shares = sums / sums.sum()
    return found
