"""What joining a stream with a table on disk costs under a memory budget (Naeem et al. 2017).

The paper says that its cost models were validated and prints none; this is the model of the family
of joins that it builds on (NAE-A19, A20). An outer iteration serves w_F stream tuples from the
cache and w_B from a partition of the table:

``c_loop = c_io(v_P) + d c_H + w_B (c_O + c_E + c_S + c_A) + (w_F + w_B) c_L + w_F c_O``
"""

from dataclasses import dataclass, field, replace
from math import sqrt
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from streamjoin.errors import ConfigError

BackEnd = Literal["index", "mesh", "hybrid"]
"""How stream tuples meet the table: "index": one access for each (INLJ); "mesh": the table is
scanned again and again (MESHJOIN); "hybrid": a queued key selects what is read (HYBRIDJOIN)."""
BACK_ENDS: Final[tuple[BackEnd, ...]] = get_args(BackEnd)
FRONT_SHARE: Final = 0.15
"""Share of the memory that the paper gives to the front stage (NAE-A20)."""
OVERLOAD: Final = 2
"""A buffer above so many times the expected work means overload (NAE-A11)."""
Shares = NDArray[np.float64]
_GRID: Final = 60


@dataclass(frozen=True)
class Disk:
    """What an access costs: a fixed part, and the bytes.

    Examples
    --------
    >>> MAGNETIC_DISK.access_s(1_200_000), SSD.access_s(8192)
    (0.0247, 0.000116384)
    """

    seek_s: float
    bytes_per_second: float

    def access_s(self, n_bytes: float) -> float:
        """Seconds for one access."""
        return self.seek_s + n_bytes / self.bytes_per_second

    def scaled(self, share: float) -> "Disk":
        """For a table of a share of the size: a whole scan takes as many seeks as before.

        Examples
        --------
        >>> round(MAGNETIC_DISK.scaled(0.01).seek_s, 6)
        0.000127
        """
        return replace(self, seek_s=self.seek_s * share)


MAGNETIC_DISK: Final = Disk(seek_s=0.0127, bytes_per_second=100e6)
"""Of about 2012: 8.5 ms to the track, half a turn at 7200 a minute, 100 MB/s."""
SSD: Final = Disk(seek_s=0.0001, bytes_per_second=500e6)
DATABASE: Final = Disk(seek_s=0.0127, bytes_per_second=12e6)
"""That disk behind a database server, as in the paper: 100,000 tuples of 120 bytes a second."""
NETWORK: Final = Disk(seek_s=0.0, bytes_per_second=125e6)
"""A gigabit a second, and no seek."""


@dataclass(frozen=True)
class Operations:
    """Seconds of processor time by operation (NAE-A19), by default about those of compiled code.

    Parameters
    ----------
    probe_s
        A tuple of the table into H_S (c_H).
    output_s, remove_s, read_s, append_s
        Of a stream tuple: output (c_O), removal from H_S and the queue (c_E), read from the buffer
        (c_S), entry into H_S and the queue (c_A).
    look_up_s
        A stream tuple into the cache (c_L).
    link_s
        A link of a hash chain that is passed when a tuple is removed; the paper's joins do not
        charge it (NAE-C9).
    """

    probe_s: float = 2e-8
    output_s: float = 5e-8
    remove_s: float = 5e-8
    read_s: float = 2e-8
    append_s: float = 5e-8
    look_up_s: float = 5e-8
    link_s: float = 0.0

    @property
    def back_end_s(self) -> float:
        """Of a stream tuple that the back end serves, without the look into the cache."""
        return self.output_s + self.remove_s + self.read_s + self.append_s


@dataclass(frozen=True)
class TupleSizes:
    """Bytes (NAE-A20); a node of the queue has one pointer, for HYBRIDJOIN three.

    Parameters
    ----------
    table, stream
        Of a tuple.
    recorded
        Of what is known of the frequency of a cached tuple: key and number.
    page
        Of what an index access reads.
    """

    table: int = 120
    stream: int = 20
    recorded: int = 8
    page: int = 8192

    def waiting(self, back_end: BackEnd) -> int:
        """A stream tuple in H_S with its node of the queue.

        Examples
        --------
        >>> TupleSizes().waiting("mesh"), TupleSizes().waiting("hybrid")
        (24, 32)
        """
        return self.stream + (12 if back_end == "hybrid" else 4)


@dataclass(frozen=True)
class Prices:
    """All that is charged: the disk of the table, where tuples are shed to, operations, sizes."""

    disk: Disk = DATABASE
    spill: Disk = MAGNETIC_DISK
    operations: Operations = field(default_factory=Operations)
    sizes: TupleSizes = field(default_factory=TupleSizes)

    def scaled(self, share: float) -> "Prices":
        """For a table of a share of the size; links of chains cost more, as chains are shorter."""
        links = replace(self.operations, link_s=self.operations.link_s / share)
        return replace(
            self, disk=self.disk.scaled(share), spill=self.spill.scaled(share), operations=links
        )


class Split(NamedTuple):
    """Tuples that there is room for: in H_S (h_S), in the cache (h_R), in the disk buffer (d)."""

    waiting: int
    cached: int
    partition: int


def split_memory(
    back_end: BackEnd,
    memory_bytes: float,
    buffer_bytes: float,
    front_share: float = FRONT_SHARE,
    sizes: TupleSizes = TupleSizes(),  # noqa: B008  # a frozen value
) -> Split:
    """Divide memory: the front stage a share, the disk buffer its bytes, H_S and queue the rest.

    Examples
    --------
    The paper's 10 % of 100 million tuples, and a disk buffer of 40 MB.

    >>> split_memory("hybrid", 1.2e9, 40e6)
    Split(waiting=30625000, cached=1406250, partition=333333)
    >>> split_memory("mesh", 1.2e9, 40e6, front_share=0).waiting
    48333333
    """
    if not 0 <= front_share < 1:
        raise ConfigError(f"front_share: got {front_share}; allowed: 0 to less than 1")
    front = memory_bytes * front_share
    rest = memory_bytes - front - buffer_bytes
    split = Split(
        waiting=int(rest / sizes.waiting(back_end)),
        cached=int(front / (sizes.table + sizes.recorded)),
        partition=int(buffer_bytes / sizes.table),
    )
    if back_end != "index" and (split.waiting < 1 or split.partition < 1):
        raise ConfigError(
            f"memory_bytes: got {memory_bytes:g} with a disk buffer of {buffer_bytes:g}; "
            "allowed: room for a tuple of the table in the buffer, and for one waiting beside it"
        )
    return split


def most_speed_up(back_end: BackEnd, hit_share: float, memory_share: float) -> float:
    """How many times faster a front stage can make a join that waits for the disk (NAE-U2).

    Examples
    --------
    >>> round(most_speed_up("index", 0.51, 0.15), 2), round(most_speed_up("mesh", 0.51, 0.15), 2)
    (2.04, 1.73)
    """
    kept = 1.0 if back_end == "index" else 1 - memory_share
    return kept / (1 - hit_share)


def shedding_amounts(
    buffered: int, expected: int, waiting: int, spilled: int, filled_to: int = OVERLOAD
) -> tuple[int, int]:
    """How many tuples to shed, and how many to load back (NAE-A10, NAE-I2, NAE-U3).

    Parameters
    ----------
    buffered
        Tuples in the stream buffer.
    expected
        Tuples that an iteration is expected to process: free slots of H_S (w_B), and hits as in
        those before (w_F) where there is a front stage (NAE-A11).
    waiting, spilled
        Tuples in the queue, and those shed before.
    filled_to
        The buffer is filled up to so many times the expected work: 2 in the paper. With 1 the
        stream's next tuples do not mean overload again, and a third as many tuples are moved.

    Examples
    --------
    >>> shedding_amounts(50, 20, waiting=100, spilled=0)
    (10, 0)
    >>> shedding_amounts(30, 20, waiting=100, spilled=100)
    (0, 10)
    >>> shedding_amounts(40, 20, waiting=100, spilled=100)
    (0, 0)
    """
    excess = max(buffered - OVERLOAD * expected, 0)
    room = max(filled_to * expected - buffered, 0)
    return min(excess, waiting), min(room, spilled)


class Iteration(NamedTuple):
    """One outer iteration: stream tuples from the cache and from the back end, and seconds."""

    front: float
    back: float
    seconds: float
    disk_s: float

    @property
    def service_rate(self) -> float:
        """Stream tuples a second."""
        return (self.front + self.back) / self.seconds


def iteration(
    back_end: BackEnd,
    split: Split,
    n_table: int,
    prices: Prices,
    hit_share: float | None = None,
    shares: Shares | None = None,
) -> Iteration:
    """What an outer iteration does and costs (NAE-A19).

    Parameters
    ----------
    back_end, split
        The join and its memory.
    n_table
        Tuples of the table.
    prices
        What things cost.
    hit_share
        Share of the stream that the front stage serves; None if there is none.
    shares
        Of the stream tuples that pass the front stage, which share falls to each partition; equal
        ones by default. It matters for "hybrid" only.

    Examples
    --------
    >>> split = split_memory("mesh", 1.2e9, 40e6, front_share=0)
    >>> round(iteration("mesh", split, 100_000_000, Prices()).service_rate)
    47508
    """
    disk, operations, sizes = prices.disk, prices.operations, prices.sizes
    front = 0.0 if hit_share is None else hit_share / (1 - hit_share)  # for each of the back end
    if back_end == "index":
        back, disk_s, probes = 1.0, disk.access_s(sizes.page), 1.0
        each = operations.output_s + operations.read_s
    else:
        size = min(split.partition, n_table)
        n_partitions = -(-n_table // size)
        disk_s, probes = disk.access_s(size * sizes.table), float(size)
        each = operations.back_end_s
        if back_end == "mesh":
            back = split.waiting / n_partitions
        else:
            back = (
                matches_of_equals(n_partitions, split.waiting)
                if shares is None
                else matches_per_load(shares, split.waiting)
            )
    front *= back
    seconds = disk_s + probes * operations.probe_s + back * each + front * operations.output_s
    if hit_share is not None:
        seconds += (front + back) * operations.look_up_s
    return Iteration(front, back, seconds, disk_s)


def matches_per_load(shares: Shares, waiting: float) -> float:
    """Stream tuples that a partition matches when the oldest of a full queue selects it.

    A partition of share p is read T tuples after the first one that came for it since it was last
    read: once in ``1 / p + T`` tuples, and ``1 + p T`` are served then. T is such that all together
    fill the queue.

    Examples
    --------
    Twice as many as a scan serves: tuples leave when they match, after half a scan.

    >>> round(matches_per_load(np.full(100, 0.01), waiting=10_000), 1)
    200.0
    """
    p = shares[shares > 0]
    low, high = 0.0, 4.0 * waiting + 4.0 * len(p)
    for _ in range(100):
        wait = (low + high) / 2
        held = float(np.sum(p * wait * (1 + p * wait / 2) / (1 + p * wait)))
        low, high = (wait, high) if held < waiting else (low, wait)
    return 1 / float(np.sum(p / (1 + p * low)))


def matches_of_equals(n_partitions: int, waiting: float) -> float:
    """The same where all partitions have the same share.

    Examples
    --------
    >>> round(matches_of_equals(100, waiting=10_000), 3)
    200.005
    """
    each = waiting / n_partitions
    return each + sqrt((each - 1) ** 2 + 2 * each)


def best_buffer_bytes(
    back_end: BackEnd,
    memory_bytes: float,
    n_table: int,
    prices: Prices,
    front_share: float = FRONT_SHARE,
    hit_share: float | None = None,
) -> float:
    """Bytes of the disk buffer that give the highest service rate, of a range of sizes.

    Examples
    --------
    >>> round(best_buffer_bytes("mesh", 1.2e9, 100_000_000, Prices(), front_share=0) / 1e6)
    14
    """
    sizes = prices.sizes
    least, most = 2.0 * sizes.table, memory_bytes * (1 - front_share) / 2
    if most <= least:
        return least
    sizes_tried = np.geomspace(least, min(most, n_table * sizes.table), _GRID)

    def rate(buffer_bytes: float) -> float:
        split = split_memory(back_end, memory_bytes, buffer_bytes, front_share, sizes)
        return iteration(back_end, split, n_table, prices, hit_share).service_rate

    return float(max(sizes_tried, key=rate))
