"""Sorted parts of a key index: keys with the places that hold them, in files.

They are sorted in bounded memory (runs on disk, then a merge) and searched through a map of their
files into memory.
"""

import mmap
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._private import open_private
from streamjoin._typing import Keys
from streamjoin.core.kernels.sorted_keys import fill_runs, find_runs

BLOCK: Final = 512
"""Keys of a block: one page of memory."""
MAX_TWICE: Final = 16
"""So many keys that are there more than once are remembered as examples."""
_BYTES_PER_ENTRY: Final = 80  # an entry, where it goes, its copy, and parts that await sorting
_LEAST_ENTRIES: Final = 1 << 14

Places = NDArray[np.int32]
"""Numbers of places, or of rows."""
Entries = tuple[Keys, Places]
_SEARCHED_BLOCKS: Final = 1 << 12  # that are looked at before their memory is given back: 16 MiB
_CHUNK_BYTES: Final = 1 << 20


@dataclass(frozen=True)
class Written:
    """What is in a segment's two files: pairs of a key and a place that has it, each once."""

    n: int
    keys_crc: int
    places_crc: int


class KeySort:
    """Keys as they come, with their places, and all of them in order at the end.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sort = KeySort(Path(folder) / "run", memory=1_000_000)
    ...     sort.add(np.array([7, 3, 7]), places=0)
    ...     sort.add(np.array([5, 3]), places=1)
    ...     written = write_segment(Path(folder) / "keys", sort.merged(), sort.twice)
    >>> written.n, sorted(sort.twice)
    (4, [3, 7])
    """

    def __init__(self, scratch: Path, memory: int) -> None:
        self._scratch = scratch
        self._limit = max(_LEAST_ENTRIES, memory // _BYTES_PER_ENTRY)
        self._waiting: list[Entries] = []
        self._n_waiting = 0
        self._runs: list[Run] = []
        self.twice: set[int] = set()
        """Some keys that more than one row has."""

    def add(self, keys: Keys, places: Places | int) -> None:
        """Keys in any order, and the place of each or of all."""
        if isinstance(places, int):
            keys = np.sort(keys)
        else:
            order = np.argsort(keys)
            keys, places = keys[order], places[order]
        again = np.zeros(len(keys), np.bool_)
        again[1:] = keys[1:] == keys[:-1]
        if again.any():
            note(self.twice, keys[again])
        if isinstance(places, int):
            keys = keys[~again]
            places = np.full(len(keys), places, np.int32)
        self._waiting.append((keys, places))
        self._n_waiting += len(keys)
        if self._n_waiting >= self._limit:
            self._spill()

    def merged(self, others: Iterable["Run"] = ()) -> Iterator[Entries]:
        """All entries in order of their keys, in parts; those of other sorted files too."""
        if not self._runs and not (others := list(others)):
            yield self._sorted()
        else:
            self._spill()
            yield from merge([*self._runs, *others], self._limit)
        for run in self._runs:
            run.remove()

    def _sorted(self) -> Entries:
        nothing = np.empty(0, np.int64), np.empty(0, np.int32)
        parts, self._waiting, self._n_waiting = self._waiting or [nothing], [], 0
        return in_order(parts)

    def _spill(self) -> None:
        if not self._n_waiting:
            return
        path = self._scratch.with_name(f"{self._scratch.name}-{len(self._runs)}")
        entries: tuple[NDArray[Any], ...] = self._sorted()
        for file, array in zip(_files(path), entries, strict=True):
            with open_private(file, "wb") as opened:
                opened.write(array.data)
        self._runs.append(Run(*_files(path), len(entries[0])))


@dataclass
class Run:
    """Entries in order, in two files that are read from start to end."""

    keys: Path
    places: Path
    n: int
    at: int = 0

    def read(self, n: int) -> Entries:
        """The next n entries."""
        n = min(n, self.n - self.at)
        keys = np.fromfile(self.keys, np.int64, n, offset=8 * self.at)
        places = np.fromfile(self.places, np.int32, n, offset=4 * self.at)
        self.at += n
        return keys, places

    def remove(self) -> None:
        """Delete its files."""
        self.keys.unlink(missing_ok=True)
        self.places.unlink(missing_ok=True)


def merge(runs: list[Run], limit: int) -> Iterator[Entries]:
    """Entries of all runs in order, in parts; at most about `limit` are in memory."""
    size = max(BLOCK, limit // max(1, len(runs)))
    heads = [run.read(size) for run in runs]
    while any(len(keys) for keys, _ in heads):
        # Up to this key, nothing that has not been read yet can come before what has been.
        last = [keys[-1] for (keys, _), run in zip(heads, runs, strict=True) if run.at < run.n]
        cuts = [
            int(np.searchsorted(keys, min(last), "right")) if last else len(keys)
            for keys, _ in heads
        ]
        yield in_order([(k[:cut], p[:cut]) for (k, p), cut in zip(heads, cuts, strict=True)])
        ends = zip(heads, cuts, runs, strict=True)
        heads = [_refill(head, cut, run, size) for head, cut, run in ends]


def _refill(head: Entries, cut: int, run: Run, size: int) -> Entries:
    keys, places = head
    if run.at >= run.n or cut == 0:
        return keys[cut:], places[cut:]
    more = run.read(min(cut, size))
    return np.concatenate((keys[cut:], more[0])), np.concatenate((places[cut:], more[1]))


def in_order(parts: list[Entries]) -> Entries:
    """Entries of several parts by key, then place, each once."""
    keys = np.concatenate([keys for keys, _ in parts])
    places = np.concatenate([places for _, places in parts])
    order = np.argsort(keys)
    keys, places = keys[order], places[order]
    same = keys[1:] == keys[:-1]
    if same.any():
        order = np.lexsort((places, keys))
        keys, places = keys[order], places[order]
        keep = np.ones(len(keys), np.bool_)
        keep[1:] = ~same | (places[1:] != places[:-1])
        keys, places = keys[keep], places[keep]
    return keys, places


def note(twice: set[int], keys: Keys) -> None:
    """Remember some keys that more than one row has."""
    if len(twice) < MAX_TWICE:
        twice.update(keys[: MAX_TWICE - len(twice)].tolist())


def write_segment(path: Path, parts: Iterable[Entries], twice: set[int]) -> Written:
    """Write entries that come in order of their keys, and note keys that come twice.

    Two files: ``.keys`` with all keys and then the first one of each block, and ``.places``.
    """
    n = crc = places_crc = 0
    firsts, last = [np.empty(0, np.int64)], None
    names = _files(path)
    with open_private(names[0], "wb") as keys_file, open_private(names[1], "wb") as places_file:
        for keys, places in parts:
            if not len(keys):
                continue
            note(twice, keys[1:][keys[1:] == keys[:-1]])
            if last == keys[0]:
                note(twice, keys[:1])
            last = int(keys[-1])
            firsts.append(keys[-n % BLOCK :: BLOCK].copy())
            n += len(keys)
            crc = zlib.crc32(keys.data, crc)
            places_crc = zlib.crc32(places.data, places_crc)
            keys_file.write(keys.data)
            places_file.write(places.data)
        index = np.concatenate(firsts)
        crc = zlib.crc32(index.data, crc)
        keys_file.write(index.data)
    return Written(n, crc, places_crc)


class Segment:
    """Keys in order, and the place of each.

    Only the first key of each block is kept in memory: 1.6 MB for 100 million keys. Pages of the
    files that a search has touched are given back after it; the system may still have them cached.
    """

    def __init__(self, path: Path, written: Written) -> None:
        self.n, self._path = written.n, path
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
        step = _SEARCHED_BLOCKS
        cuts = np.searchsorted(blocks, np.arange(step, len(self._firsts) + step, step), "right")
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
        rows, places = np.empty(total, np.int64), np.empty(total, np.int32)
        fill_runs(starts, counts, self._places, rows, places)
        return rows, places

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


def _files(path: Path) -> tuple[Path, Path]:
    return path.with_suffix(".keys"), path.with_suffix(".places")


def _checksum(path: Path) -> int:
    crc = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            crc = zlib.crc32(chunk, crc)
    return crc
