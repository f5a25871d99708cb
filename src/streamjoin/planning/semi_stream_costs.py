"""What the steps of a join of a stream with a table cost, and what tuples take (NAE-A19, A20)."""

from dataclasses import dataclass, field, replace
from typing import Final, Literal, get_args

BackEnd = Literal["index", "mesh", "hybrid"]
"""How stream tuples meet the table: "index": one access for each (INLJ); "mesh": the table is
scanned again and again (MESHJOIN); "hybrid": a queued key selects what is read (HYBRIDJOIN)."""
BACK_ENDS: Final[tuple[BackEnd, ...]] = get_args(BackEnd)


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
