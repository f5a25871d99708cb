"""What a half-way join costs: of these an n-ary join and a tree of joins consist, both.

In a *half-way join* p tuples look for partners in a table of s tuples, which lies in w pieces.
Where a piece is not small and has more than 8 times p tuples, it has an index that is kept, and
each of the p looks into it; else one index is made of the p tuples, past which the piece is
streamed. Then each pair that is found becomes a tuple: its values are gathered.

What both do alike is left out: rows that come in, are stored and read, and results that go out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from typing import Final, NamedTuple

from streamjoin.planning.algorithm_choice import FAR_ROWS, OperationCosts
from streamjoin.planning.nary import Sizes

FEW: Final = 8
"""Where so many times the probing tuples are fewer than those of a piece, its index is kept."""
SMALL: Final = 1 << 12
"""Pieces of fewer tuples are visited together; they have no index."""
ROUND: Final = 1 << 12
"""Tuples of a round, at least, where streams take turns."""
MOST_ROUNDS: Final = 32
INTERVAL: Final = 5
"""Values besides the names of rows that are gathered for a tuple: a key, two starts, two ends."""


@dataclass(frozen=True)
class Situation:
    """What is known when a batch comes.

    Parameters
    ----------
    arrivals
        Tuples of each stream that a batch brings.
    tables
        Tuples of each stream that are remembered.
    pieces
        Basic windows that these lie in.
    sizes
        How large joins are.
    operations
        What operations cost.
    """

    arrivals: tuple[float, ...]
    tables: tuple[float, ...]
    pieces: tuple[float, ...]
    sizes: Sizes
    operations: OperationCosts

    @property
    def n_streams(self) -> int:
        """Streams."""
        return len(self.arrivals)

    @property
    def keys(self) -> float:
        """Distinct keys, at least one."""
        return max(self.sizes.keys, 1.0)

    @cached_property
    def after(self) -> tuple[float, ...]:
        """Tables with what the batch brings."""
        return tuple(t + a for t, a in zip(self.tables, self.arrivals, strict=True))

    def stored(self, streams: Sequence[int]) -> float:
        """Tuples that a join of some streams remembers."""
        return self.sizes.of(frozenset(streams), self.tables)

    def formed(self, streams: Sequence[int]) -> float:
        """Tuples of a join of some streams that a batch brings."""
        return self.sizes.of(frozenset(streams), self.after) - self.stored(streams)


@dataclass(frozen=True)
class Cost:
    """What one batch needs.

    Parameters
    ----------
    probes
        Tuples that look for partners in a table.
    intermediate, results
        Tuples formed of some streams, and of all.
    switches
        How often another stream becomes the driver.
    us
        Microseconds of one core.
    """

    probes: float
    intermediate: float
    results: float
    switches: float
    us: float

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.probes + other.probes,
            self.intermediate + other.intermediate,
            self.results + other.results,
            self.switches + other.switches,
            self.us + other.us,
        )

    def times(self, n: float) -> "Cost":
        """Of so many alike."""
        return Cost(
            n * self.probes, n * self.intermediate, n * self.results, n * self.switches, n * self.us
        )


NOTHING: Final = Cost(0.0, 0.0, 0.0, 0.0, 0.0)


class Halfway(NamedTuple):
    """A half-way join.

    `probing` tuples, which are in order of time if `ordered` (as rows are), look for partners among
    `stored` tuples in so many `pieces` and among `new` ones of this batch, which have no index.
    They find `formed` pairs, and for each of these so many `values` are gathered.
    """

    probing: float
    ordered: bool
    stored: float
    pieces: float
    new: float
    formed: float
    values: int

    @property
    def is_indexed(self) -> bool:
        """Whether the table's own indexes are looked into."""
        return 0 < self.pieces * max(SMALL, FEW * self.probing) <= self.stored

    @property
    def happens(self) -> float:
        """In which part of the batches there is something to do."""
        return min(1.0, self.probing)

    def ns(self, keys: float, ops: OperationCosts) -> float:
        """Nanoseconds."""
        probing, _, stored, pieces, new, formed, values = self
        visits = 1.0 if stored < pieces * SMALL else pieces
        fixed = ops.visit * (visits + 1 if new else visits)
        found, streamed = (ops.touch + ops.gather * values) * formed, new
        if self.is_indexed:
            found += _lookups(probing * pieces, stored / pieces, stored, keys, ops)
        else:
            streamed += stored
        if streamed:
            fixed += ops.build + _lookups(streamed, probing, probing, keys, ops)
            found += _made(probing, keys, ops) + (0.0 if self.ordered else ops.sort * probing)
        return found + self.happens * fixed


def _lookups(n: float, rows: float, all_rows: float, keys: float, ops: OperationCosts) -> float:
    """Lookups in an index over some rows, one of several that have so many together."""
    hits, far = 1 - exp(-rows / keys), all_rows / (all_rows + FAR_ROWS)
    return n * (ops.probe + ops.found * hits * (2 - hits) + ops.far_probe * far * (1 + 4 * hits))


def _made(rows: float, keys: float, ops: OperationCosts) -> float:
    """The rows of an index."""
    hits, far = 1 - exp(-rows / keys), rows / (rows + FAR_ROWS)
    return rows * (ops.insert + ops.far_insert * far) + ops.key * keys * hits


def indexes_ns(
    rows: float, new_pieces: float, pieces: float, keys: float, ops: OperationCosts
) -> float:
    """The indexes of a table: of its new rows they are made and written, and all are opened."""
    made = _made(rows, keys, ops) + ops.keep * rows + new_pieces * (ops.build + ops.file)
    return made + ops.window * pieces


def values_of(n_streams: int, *, is_last: bool) -> int:
    """What is gathered for a tuple: names of rows; key and interval; and to see that it is one.

    That the intervals of two rows overlap is known when they are found.
    """
    return n_streams + (0 if is_last else INTERVAL) + (0 if n_streams == 2 else INTERVAL - 1)
