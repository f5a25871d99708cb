"""Settings, costs and data of the kernels that join a stream with a table on a virtual disk."""

from typing import Final, NamedTuple

from papers.operators.kernels.semi_stream import Floats, Int32s, Int64s

INDEX: Final = 0
"""First of the back ends: one access to the table for each stream tuple."""
MESH: Final = 1
HYBRID: Final = 2

NO_SHEDDING: Final = 0
CONSIDERING: Final = 1
UPFRONT: Final = 2

NOW: Final = 0
"""First of the clocks, in seconds: now, spent on the disk, waited by all tuples that matched."""
DISK: Final = 1
WAITED: Final = 2
HITS_A_MISS: Final = 3
"""No clock: hits for each tuple that enters H_S, of late."""
N_CLOCKS: Final = 4

ITERATIONS: Final = 0
"""First of the counters: iterations in which the table was read."""
SERVED: Final = 1
"""Stream tuples that are through."""
HITS: Final = 2
OUTPUTS: Final = 3
ENTERED: Final = 4
SHED: Final = 5
RELOADED: Final = 6
ADMITTED: Final = 7
EVICTED: Final = 8
N_COUNTS: Final = 9


class Setup(NamedTuple):
    """Settings. `partition` is in tuples, `turn` in stream tuples that enter H_S; `most_evicted`
    are the evictions of a turn above which the threshold is raised (negative: it is fixed),
    `age_after` counts stream tuples that enter H_S (ageing) or that come (sketch).
    """  # noqa: D205

    back_end: int
    policy: int
    shedding: int
    partition: int
    position: float
    turn: int
    most_evicted: float
    age_after: int
    unique: bool


class Costs(NamedTuple):
    """Seconds: an access to the disk and a tuple, a page or a spilled tuple moved; and operations
    by the names of NAE-A19: c_H, c_O, c_E, c_S, c_A, c_L, and a link of a chain that is passed.
    """  # noqa: D205

    seek: float
    tuple_read: float
    page_read: float
    spill_seek: float
    spill_tuple: float
    probe: float
    output: float
    remove: float
    read: float
    append: float
    look_up: float
    link: float


class Stream(NamedTuple):
    """Keys and arrival times of all stream tuples, and how many outputs each has had."""

    keys: Int32s
    arrivals: Floats
    outputs: Int32s


class Table(NamedTuple):
    """Key of the tuple at each place on disk; of each key its first place (-1: none) and number."""

    keys: Int32s
    places: Int32s
    copies: Int32s


class Progress(NamedTuple):
    """What goes on from call to call: pointers, clocks, counters, the chunks of a scan (first
    partition and size of each) and spilled tuples, both rings.
    """  # noqa: D205

    at: Int64s
    clocks: Floats
    counts: Int64s
    chunks: Int64s
    spilled: Int32s
