"""A key index as it is at one time: searched, never changed."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Keys
from streamjoin.tables.base import Located
from streamjoin.tables.index_contents import Contents
from streamjoin.tables.key_segment import Segment
from streamjoin.tables.key_sort import Places

Rows = NDArray[np.int64]


class IndexView:
    """What is covered, and where keys are in it.

    Parameters
    ----------
    folder, contents
        The index.
    by_row
        Whether places are numbers of rows, or of partitions.
    before
        A view of another time, whose segments are taken over.
    """

    def __init__(
        self, folder: Path, contents: Contents, by_row: bool, before: "IndexView | None" = None
    ) -> None:
        known: dict[str, Segment] = before.segments if before else {}
        self.contents = contents
        self.segments: dict[str, Segment] = {
            name: known.get(name) or Segment(folder / name, written)
            for name, written in contents.segments
        }
        self._is_live = np.zeros(contents.n_partitions, np.bool_)
        for file in contents.live.values():
            self._is_live[file.first : file.first + len(file.rows)] = True
        sizes = [n for file in contents.files for n in file.rows] if by_row else []
        self._starts = np.cumsum([0, *sizes], dtype=np.int64)[:-1] if by_row else None

    def find(self, keys: Keys) -> tuple[Rows, Places]:
        """Pairs of positions in `keys` and places that have them."""
        rows, places, partitions = self._found(keys)
        here = self._is_live[partitions]
        return rows[here], places[here]

    def locate(self, keys: Keys, with_gone: bool = False) -> Located:
        """Pairs of positions in `keys` and partitions, if asked also of files that are gone."""
        rows, _, partitions = self._found(keys)
        # What is the same is next to each other: it comes from one segment.
        keep = np.ones(len(rows), np.bool_)
        keep[1:] = (rows[1:] != rows[:-1]) | (partitions[1:] != partitions[:-1])
        if not with_gone:
            keep &= self._is_live[partitions]
        return rows[keep], partitions[keep]

    def _found(self, keys: Keys) -> tuple[Rows, Places, NDArray[np.int32]]:
        order = None if np.all(keys[1:] >= keys[:-1]) else np.argsort(keys)
        wanted = np.ascontiguousarray(keys if order is None else keys[order])
        parts = [part for s in self.segments.values() for part in s.locate(wanted)]
        rows = np.concatenate([np.empty(0, np.int64), *(rows for rows, _ in parts)])
        places = np.concatenate([np.empty(0, np.int32), *(places for _, places in parts)])
        return (rows if order is None else order[rows]), places, self._partitions(places)

    def _partitions(self, places: Places) -> NDArray[np.int32]:
        if self._starts is None:
            return places
        # Parts without rows begin where the next one does: the last of them is meant.
        return (np.searchsorted(self._starts, places, "right") - 1).astype(np.int32)
