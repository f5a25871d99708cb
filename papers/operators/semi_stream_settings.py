"""Settings of a join of a stream with a table on a virtual disk, and what a run has counted."""

from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels.semi_stream_types import Costs
from papers.operators.semi_stream_costs import BACK_ENDS, BackEnd, Prices, Split
from streamjoin.errors import ConfigError, DataError

KeyArray = NDArray[np.int32]
Admission = Literal["recorder", "ageing", "sketch"]
"""What the front stage caches. "recorder": the paper's: a loaded tuple that enough waiting tuples
match replaces the least frequent one, by its matches when it came (NAE-A9). "ageing": cached tuples
count their hits, halved after each turn of H_S; a loaded tuple replaces one with fewer than its
matches. "sketch": a count-min sketch of all stream tuples, halved again and again, compares both
(as TinyLFU does)."""
ADMISSIONS: Final[tuple[Admission, ...]] = get_args(Admission)
SheddingKind = Literal["none", "considering", "upfront"]
"""Under overload "considering" sheds the oldest of the queue (NAE-A10), "upfront" tuples that have
just come (NAE-A13)."""
SHEDDINGS: Final[tuple[SheddingKind, ...]] = get_args(SheddingKind)

FIRST_THRESHOLD: Final = 10
INDEX_THRESHOLD: Final = 2
MOVED: Final = 0.3
"""Part of the cache that may be evicted in a turn of H_S before the threshold is raised."""


@dataclass(frozen=True, eq=False)
class DiskTable:
    """A table in the order of its places on disk.

    Parameters
    ----------
    keys
        Key of the tuple at each place.
    n_keys
        Keys are 0 to ``n_keys - 1``; the stream may have some that the table has not.

    Examples
    --------
    >>> table = DiskTable(np.array([2, 0, 2], np.int32), n_keys=4)
    >>> table.places.tolist(), table.copies.tolist(), table.unique
    ([1, -1, 0, -1], [1, 0, 2, 0], False)
    """

    keys: KeyArray
    n_keys: int

    def __post_init__(self) -> None:
        if len(self.keys) and not 0 <= int(self.keys.min()) <= int(self.keys.max()) < self.n_keys:
            raise DataError(
                f"keys: got {self.keys.min()} to {self.keys.max()}; allowed: 0 to n_keys - 1"
            )

    @classmethod
    def of(cls, n: int) -> "DiskTable":
        """A table whose tuple i has key i."""
        return cls(np.arange(n, dtype=np.int32), n)

    @cached_property
    def places(self) -> KeyArray:
        """First place of each key, -1 if it has none."""
        places = np.full(self.n_keys, -1, np.int32)
        places[self.keys[::-1]] = np.arange(len(self.keys) - 1, -1, -1, dtype=np.int32)
        return places

    @cached_property
    def copies(self) -> KeyArray:
        """Tuples of each key."""
        return np.bincount(self.keys, minlength=self.n_keys).astype(np.int32)

    @cached_property
    def unique(self) -> bool:
        """Whether each key has one tuple at most."""
        return bool(self.copies.max(initial=0) <= 1)


@dataclass(frozen=True)
class SemiStreamJoin:
    """A join of a stream with a table (NAE-A4 to A15).

    Parameters
    ----------
    back_end
        "index" (INLJ), "mesh" (MESHJOIN) or "hybrid" (HYBRIDJOIN).
    split
        Memory in tuples; with room for cached ones there is a front stage: CINLJ and so on.
    admission
        What the front stage caches.
    threshold
        Matches that the recorder asks for; by default it adapts, and is 2 for an index join, which
        counts the keys of a short time only (NAE-A15).
    shedding
        What happens under overload.
    position
        Where in the queue the key is that selects a partition: a share of its length from the start
        (NAE-A14); 1 is the oldest. A join that sheds uses it only while there is overload.
    prices
        What things cost.

    Examples
    --------
    >>> SemiStreamJoin("mesh", Split(1000, 100, 50)).name
    'CMESHJOIN'
    """

    back_end: BackEnd
    split: Split
    admission: Admission = "recorder"
    threshold: int | None = None
    shedding: SheddingKind = "none"
    position: float = 1.0
    prices: Prices = field(default_factory=Prices)

    def __post_init__(self) -> None:
        _require_one_of("back_end", self.back_end, BACK_ENDS)
        _require_one_of("admission", self.admission, ADMISSIONS)
        _require_one_of("shedding", self.shedding, SHEDDINGS)
        if not 0 <= self.position <= 1:
            raise ConfigError(f"position: got {self.position}; allowed: 0 to 1")
        if self.back_end != "hybrid" and (self.shedding == "considering" or self.position < 1):
            raise ConfigError(
                f"back_end: got {self.back_end!r} with shedding {self.shedding!r} and position "
                f"{self.position:g}; allowed: 'hybrid', whose queue can be left anywhere"
            )

    @property
    def name(self) -> str:
        """The paper's name."""
        name = {"index": "INLJ", "mesh": "MESHJOIN", "hybrid": "HYBRIDJOIN"}[self.back_end]
        return f"C{name}" if self.split.cached else name

    @property
    def first_threshold(self) -> int:
        """Matches that the recorder asks for at the beginning."""
        if self.threshold is not None:
            return self.threshold
        return INDEX_THRESHOLD if self.back_end == "index" else FIRST_THRESHOLD

    @property
    def costs(self) -> Costs:
        """What the kernel charges."""
        disk, spill, sizes = self.prices.disk, self.prices.spill, self.prices.sizes
        operations = self.prices.operations
        return Costs(
            seek=disk.seek_s,
            tuple_read=sizes.table / disk.bytes_per_second,
            page_read=sizes.page / disk.bytes_per_second,
            spill_seek=spill.seek_s,
            spill_tuple=sizes.stream / spill.bytes_per_second,
            probe=operations.probe_s,
            output=operations.output_s,
            remove=operations.remove_s,
            read=operations.read_s,
            append=operations.append_s,
            look_up=operations.look_up_s,
            link=operations.link_s,
        )


@dataclass(frozen=True)
class Totals:
    """What was counted from the beginning of a run, or between two moments.

    Parameters
    ----------
    seconds, disk_s, waited_s
        Virtual seconds: in all, at the disk, and spent in the join by all tuples that matched.
    iterations
        Partitions or pages that were read.
    served, hits, outputs, entered
        Stream tuples that are through, those of them from the cache, results, and stream tuples
        that went on to the back end.
    shed, reloaded, admitted, evicted
        Tuples that were spilled and that came back; tuples of the table that were cached, and that
        had to go for others.
    """

    seconds: float
    disk_s: float
    waited_s: float
    iterations: int
    served: int
    hits: int
    outputs: int
    entered: int
    shed: int
    reloaded: int
    admitted: int
    evicted: int

    def __sub__(self, earlier: "Totals") -> "Totals":
        return Totals(*(getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)))

    @property
    def service_rate(self) -> float:
        """Stream tuples a second."""
        return self.served / self.seconds if self.seconds else 0.0

    @property
    def hit_share(self) -> float:
        """Share of the served tuples that the cache served."""
        return self.hits / self.served if self.served else 0.0

    @property
    def processing_s(self) -> float:
        """Mean time of a tuple within the join, from loading to matching (NAE-A17)."""
        return self.waited_s / self.outputs if self.outputs else 0.0

    @property
    def matches_per_load(self) -> float:
        """Stream tuples that the back end served each time it read."""
        return (self.served - self.hits) / self.iterations if self.iterations else 0.0


def _require_one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name}: got {value!r}; allowed: {', '.join(allowed)}")
