"""The work of the three methods of a micro-batch, as the engine does it, to be timed.

"nested" makes a list of each basic window, which all arrivals scan. "batch" makes an index of the
arrivals, past which each basic window is streamed. "hash" opens the index of each basic window,
which lies in a file as the engine's do, and looks up all arrivals; and it makes and writes the
index of what comes into the window. What all methods share, such as reading the basic windows, is
left out.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin._typing import Keys, Times
from streamjoin.core.index import HashIndex, ListIndex
from streamjoin.planning.two.algorithm_choice import Load, Method

ALWAYS: Final = 2**62
MAX_PAIRS: Final = 2**18
_DRAWN: Final = 2**16  # arrivals of all batches together, if not more are in one

Work = Callable[[], int]
"""Finds the matches of some arrivals and returns their number."""

_Rows = tuple[Keys, Times]


@dataclass(frozen=True)
class Stored:
    """A window of uniform keys in basic windows.

    Parameters
    ----------
    rows, n_keys, n_windows
        Tuples, keys they are drawn from, and basic windows.
    grows
        Whether as many tuples come into the window as arrive on the other side; else none.
    """

    rows: int
    n_keys: int
    n_windows: int
    grows: bool = False

    def load(self, arrivals: int) -> Load:
        """What the planner knows of a batch."""
        new = arrivals if self.grows else 0
        return Load(arrivals, self.rows, self.n_keys, new, self.n_windows)

    def fill(self, folder: Path, seed: int) -> "Filled":
        """Draw the tuples, and write the indexes to a folder that exists."""
        random = np.random.default_rng([seed, self.rows, self.n_keys, self.n_windows])
        keys, times = random.integers(0, self.n_keys, self.rows), np.arange(self.rows)
        split = (np.array_split(array, self.n_windows) for array in (keys, times))
        windows = list(zip(*split, strict=True))
        files = [folder / f"{'_'.join(map(str, (seed, *vars(self).values(), n)))}"
                 for n in range(self.n_windows)]  # fmt: skip
        for file, window in zip(files, windows, strict=True):
            _keep(file, window)
        return Filled(self, windows, files, random)


@dataclass(frozen=True, eq=False)
class Filled:
    """A window with its tuples, basic window by basic window, and the files of their indexes."""

    about: Stored
    windows: list[_Rows]
    files: list[Path]
    random: np.random.Generator

    def work(self, method: Method, arrivals: int) -> Work:
        """What a method does in a batch; each has other arrivals, which no processor can learn."""
        keys = self.random.integers(0, self.about.n_keys, (max(1, _DRAWN // arrivals), arrivals))
        times, batches = np.full(arrivals, self.about.rows), cycle(keys)
        if method == "hash":
            return lambda: self._hash((next(batches), times))
        if method == "nested":
            return lambda: self._scan((next(batches), times))
        return lambda: self._stream(HashIndex.build(next(batches), times))

    def _hash(self, rows: _Rows) -> int:
        if self.about.grows:
            _keep(self.files[0].with_suffix(".new"), rows)
        return sum(_drain(_opened(file), rows) for file in self.files)

    def _scan(self, rows: _Rows) -> int:
        return sum(_drain(ListIndex.build(*window), rows) for window in self.windows)

    def _stream(self, index: HashIndex) -> int:
        return sum(_drain(index, window) for window in self.windows)


def _keep(file: Path, rows: _Rows) -> None:
    """Make an index and write it to a file, and remove the one before."""
    file.unlink(missing_ok=True)
    draft = file.with_suffix(".draft")
    draft.write_bytes(HashIndex.build(*rows).to_bytes())
    draft.rename(file)


def _opened(file: Path) -> HashIndex:
    return HashIndex.from_buffer(pa.memory_map(str(file)).read_buffer())


def _drain(index: HashIndex | ListIndex, rows: _Rows) -> int:
    """Find all pairs and let them go, as a join that hands its output on does."""
    return sum(len(a) for a, _ in index.probe_chunks(*rows, -ALWAYS, ALWAYS, MAX_PAIRS))
