"""News stories as sets of words: Reuters-21578, Distribution 1.0."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

FILE: Final = Path("reuters21578") / "reuters21578.parquet"
LETTERS: Final = 4
"""Shorter words do not count."""

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Stories:
    """Stories in order of time; story i has the words ``offsets[i]`` to ``offsets[i + 1]``.

    Parameters
    ----------
    ids, times
        Of each story: its number, and microseconds since 1970.
    offsets, words
        Where the words of each story begin, and the distinct words as numbers.
    weights
        Of each word in its story: the rarer, the more (logarithm of the inverse frequency), so
        scaled that the inner product of a story with itself is 1.
    """

    ids: IntArray
    times: IntArray
    offsets: IntArray
    words: IntArray
    weights: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)

    def frequencies(self) -> IntArray:
        """In how many stories the word at each place is."""
        return np.bincount(self.words)[self.words]

    def where(self, kept: NDArray[np.bool_]) -> "Stories":
        """Some of the stories."""
        sizes = np.diff(self.offsets)
        words = np.repeat(kept, sizes)
        offsets = np.append(0, np.cumsum(sizes[kept]))
        return Stories(
            self.ids[kept], self.times[kept], offsets, self.words[words], self.weights[words]
        )

    def only(self, kept: NDArray[np.bool_]) -> "Stories":
        """The same stories with some of their words."""
        story = np.repeat(np.arange(len(self)), np.diff(self.offsets))[kept]
        offsets = np.searchsorted(story, np.arange(len(self) + 1))
        return Stories(self.ids, self.times, offsets, self.words[kept], self.weights[kept])

    def halves(self) -> "tuple[Stories, Stories]":
        """Those with an odd and those with an even number."""
        odd = self.ids % 2 == 1
        return self.where(odd), self.where(~odd)

    def table(self) -> pa.Table:
        """Number, time, and the words with their weights as a map."""
        offsets = pa.array(self.offsets.astype(np.int32))
        return pa.table(
            {
                "id": pa.array(self.ids),
                "t": pa.array(self.times, pa.timestamp("us", "UTC")),
                "words": pa.MapArray.from_arrays(
                    offsets, pa.array(self.words), pa.array(self.weights)
                ),
            }
        )


def read_stories() -> Stories | None:
    """All stories that have a time; None if ``STREAMJOIN_DATA`` names no folder with them."""
    path = Path(os.environ.get("STREAMJOIN_DATA", "")) / FILE
    if not path.is_file():
        return None
    return stories_of(pq.read_table(path, columns=["newid", "ts", "title", "body"]))


def stories_of(table: pa.Table) -> Stories:
    """Stories of a table with the columns newid, ts, title and body.

    Examples
    --------
    >>> text = {"title": ["GRAIN ships", "Trade"], "body": ["grain: 3 ships", "no grain"]}
    >>> times = pa.array([9, 5], pa.timestamp("us"))
    >>> found = stories_of(pa.table({"newid": [1, 2], "ts": times, **text}))
    >>> found.ids.tolist(), found.offsets.tolist(), found.words.tolist()
    ([2, 1], [0, 2, 4], [0, 1, 1, 2])
    """
    table = table.filter(pc.is_valid(table["ts"])).sort_by("ts").combine_chunks()
    text = pc.utf8_lower(pc.binary_join_element_wise(table["title"], table["body"], " "))
    split = pc.split_pattern_regex(text.combine_chunks(), "[^a-z]+")
    story, words = pc.list_parent_indices(split), pc.list_flatten(split)
    long = pc.greater_equal(pc.utf8_length(words), LETTERS)
    numbers = words.filter(long).dictionary_encode().indices.to_numpy().astype(np.int64)
    n, n_words = table.num_rows, int(numbers.max(initial=0)) + 1
    of_story = np.asarray(story.filter(long)).astype(np.int64)
    of_story, numbers = np.divmod(np.unique(of_story * n_words + numbers), n_words)
    weights = np.log((n + 1) / np.bincount(numbers))[numbers]
    lengths = np.sqrt(np.bincount(of_story, weights**2, n))
    return Stories(
        ids=np.asarray(table["newid"]).astype(np.int64),
        times=np.asarray(table["ts"].cast(pa.int64())),
        offsets=np.searchsorted(of_story, np.arange(n + 1)),
        words=numbers,
        weights=weights / lengths[of_story],
    )
