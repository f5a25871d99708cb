"""Sort keys with the places that hold them, in bounded memory: runs on disk, then a merge."""

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._private import open_private
from streamjoin._typing import Keys

BLOCK: Final = 512
"""Keys of a block: one page of memory."""
MAX_TWICE: Final = 16
"""So many keys that are there more than once are remembered as examples."""
_BYTES_PER_ENTRY: Final = 80  # an entry, where it goes, its copy, and parts that await sorting
_LEAST: Final = 1 << 14

Places = NDArray[np.int32]
"""Numbers of places, or of rows."""
Entries = tuple[Keys, Places]


@dataclass(frozen=True)
class Written:
    """What is in a segment's two files.

    Parameters
    ----------
    n
        Entries: pairs of a key and a place that has it, each once.
    keys_crc, places_crc
        Checksums.
    """

    n: int
    keys_crc: int
    places_crc: int


class KeySort:
    """Keys as they come, with their places, and all of them in order at the end.

    Parameters
    ----------
    scratch
        Path that names of temporary files begin with.
    memory
        Bytes to use, about.

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
        self._limit = max(_LEAST, memory // _BYTES_PER_ENTRY)
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
        if not self._waiting:
            return np.empty(0, np.int64), np.empty(0, np.int32)
        parts, self._waiting, self._n_waiting = self._waiting, [], 0
        return in_order(parts)

    def _spill(self) -> None:
        if not self._n_waiting:
            return
        path = self._scratch.with_name(f"{self._scratch.name}-{len(self._runs)}")
        keys, places = self._sorted()
        run = Run(path.with_suffix(".keys"), path.with_suffix(".places"), len(keys))
        for file, array in ((run.keys, keys), (run.places, places)):
            with open_private(file, "wb") as opened:
                opened.write(array.data)
        self._runs.append(run)


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
    n, crc, places_crc = 0, 0, 0
    firsts: list[Keys] = []
    last: int | None = None
    with (
        open_private(path.with_suffix(".keys"), "wb") as keys_file,
        open_private(path.with_suffix(".places"), "wb") as places_file,
    ):
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
        index = np.concatenate(firsts) if firsts else np.empty(0, np.int64)
        crc = zlib.crc32(index.data, crc)
        keys_file.write(index.data)
    return Written(n, crc, places_crc)
