"""One sorted part of a key index on disk, searched through a map of its files into memory."""

import mmap
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.core.kernels.sorted_keys import fill_runs, find_runs
from streamjoin.tables.key_sort import BLOCK, Run, Written

_SPAN: Final = 1 << 12  # blocks that are looked at before their memory is given back: 16 MiB
_CHUNK: Final = 1 << 20


class Segment:
    """Keys in order, and the place of each.

    Only the first key of each block is kept in memory: 1.6 MB for 100 million keys. Pages of the
    files that a search has touched are given back after it; the system may still have them cached.

    Parameters
    ----------
    path
        Of its files, without their endings.
    written
        What is in them.
    """

    def __init__(self, path: Path, written: Written) -> None:
        self.n = written.n
        self._path = path
        self._maps: list[mmap.mmap] = []
        if self.n:
            self._keys = self._map(".keys", np.int64)
            self._places = self._map(".places", np.int32)
            self._firsts = self._keys[self.n :].copy()
            self._keys = self._keys[: self.n]
            self._give_back()

    def _map(self, ending: str, kind: type[np.generic]) -> NDArray[Any]:
        with self._path.with_suffix(ending).open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        mapped.madvise(mmap.MADV_RANDOM)
        self._maps.append(mapped)
        return np.frombuffer(mapped, kind)

    def _give_back(self) -> None:
        for mapped in self._maps:
            mapped.madvise(mmap.MADV_DONTNEED)

    def locate(self, wanted: Keys) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int32]]]:
        """Pairs of positions in `wanted`, which must ascend, and places; in parts."""
        if not self.n or not len(wanted):
            return
        blocks = np.searchsorted(self._firsts, wanted, "left")
        cuts = np.searchsorted(blocks, np.arange(_SPAN, len(self._firsts) + _SPAN, _SPAN), "right")
        start = 0
        for stop in cuts.tolist():
            if stop > start:
                rows, places = self._search(wanted[start:stop], blocks[start:stop])
                yield rows + start, places
                self._give_back()
                start = stop

    def _search(self, wanted: Keys, blocks: NDArray[np.int64]) -> tuple[Any, Any]:
        starts, counts = np.empty((2, len(wanted)), np.int64)
        total = find_runs(wanted, blocks, self._keys, BLOCK, starts, counts)
        rows, found = np.empty(total, np.int64), np.empty(total, np.int32)
        fill_runs(starts, counts, self._places, rows, found)
        return rows, found

    def run(self) -> Run:
        """Its entries from start to end, to be merged with others."""
        return Run(*_files(self._path), self.n)


def is_whole(path: Path, written: Written) -> bool:
    """Whether a segment's files are there, of the right size and as they were written."""
    sizes = 8 * (written.n + -(-written.n // BLOCK)), 4 * written.n
    sums = written.keys_crc, written.places_crc
    return all(
        file.is_file() and file.stat().st_size == size and _checksum(file) == crc
        for file, size, crc in zip(_files(path), sizes, sums, strict=True)
    )


def remove(path: Path) -> None:
    """Delete a segment's files; those who read it keep what they have."""
    for file in _files(path):
        file.unlink(missing_ok=True)


def _files(path: Path) -> tuple[Path, Path]:
    return path.with_suffix(".keys"), path.with_suffix(".places")


def _checksum(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            crc = zlib.crc32(chunk, crc)
    return crc
