"""What an exact join, and one that drops rows at random, would have found of a run's own rows.

Generated rows can be made again. So after a run they are joined once more in this process, without
a budget: that is the exact result, and which of its pairs a drop join would have found follows from
which rows it would have kept. It keeps so many of each batch, chosen at random, that it makes as
many comparisons as the run made in that batch.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.durations import parse_duration
from streamjoin.local import LocalJoin
from streamjoin.metrics import JoinMetrics
from streamjoin.workloads import GeneratedStream

if TYPE_CHECKING:
    from streamjoin.spark.pipeline import Pipeline

Times = NDArray[np.int64]

SEED: Final = 0
ROW: Final = "_row"
SAME_ARGUMENTS: Final = ("on", "where", "time", "lateness", "window", "freshness")


class RandomDrop:
    """A join that drops the same share of both sides of a batch, and compares all it keeps.

    Rows have numbers from 0 on, as they come. Left and right rows are remembered for `windows`, in
    microseconds. `share` is the part of the last batch that was kept, `kept` the times of rows that
    may still be met, `pairs` what is left of the exact result.

    Examples
    --------
    >>> drop = RandomDrop((10, 10))
    >>> drop.choose(np.arange(400), np.arange(400), compared=2000)
    >>> round(drop.share, 2)
    0.49
    >>> drop.see(np.arange(400), np.arange(400))
    >>> drop.pairs
    84
    """

    def __init__(self, windows: tuple[int, int]) -> None:
        self._windows, self._rng = windows, np.random.default_rng(SEED)
        self.kept: list[Times] = [np.empty(0, np.int64)] * 2
        self._is_kept = [np.empty(0, np.bool_)] * 2
        self.share, self.pairs = 1.0, 0

    def choose(self, left: Times, right: Times, compared: int | None) -> None:
        """Choose among the rows of a batch, given their times; None: all may be compared."""
        keep, reach = self._windows
        arrived = np.sort(left), np.sort(right)
        before = _within(arrived[0], self.kept[1], reach, keep)
        before += _within(arrived[1], self.kept[0], keep, reach)
        together = _within(arrived[0], arrived[1], reach, keep)
        self.share = 1.0 if compared is None else _share(before, together, compared)
        for side, times in enumerate((left, right)):
            chosen = self._rng.random(len(times)) < self.share
            self._is_kept[side] = np.concatenate((self._is_kept[side], chosen))
            kept = np.concatenate((self.kept[side], times[chosen]))
            newest = max((each[-1] for each in arrived if len(each)), default=0)
            # twice as long as a window: rows may come out of order
            self.kept[side] = np.sort(kept[kept >= newest - 2 * (keep + reach)])

    def see(self, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
        """Count which pairs of the exact result are left, given the numbers of their rows."""
        self.pairs += int(np.sum(self._is_kept[0][left] & self._is_kept[1][right]))


def _within(times: Times, others: Times, before: int, after: int) -> int:
    """Pairs of a time and another that is at most so much earlier or later; others in order."""
    last = np.searchsorted(others, times + after, side="right")
    return int(np.sum(last - np.searchsorted(others, times - before, side="left")))


def _share(before: int, together: int, compared: int) -> float:
    """The share of new rows with which there are so many comparisons.

    Each new row meets the kept ones that came before; and those that come with it, of which as
    many are kept: compared = before * share + together * share ** 2.

    Examples
    --------
    >>> _share(before=100, together=0, compared=50), _share(100, 100, 75), _share(5, 5, 99)
    (0.5, 0.5, 1.0)
    """
    if compared >= before + together:
        return 1.0
    if not together:
        return compared / before
    return float(np.sqrt(before**2 + 4 * together * compared) - before) / (2 * together)


class Outcome(NamedTuple):
    """Pairs that the exact join finds, and that a random drop would have left of them."""

    exact: int
    dropping: int


class Comparison:
    """Remembers how a run was cut into batches, and joins its rows again.

    `join` are arguments of `streamjoin.join`.
    """

    def __init__(
        self, streams: tuple[GeneratedStream, GeneratedStream], join: Mapping[str, Any]
    ) -> None:
        self._streams = streams
        schemas = [stream.settings.schema.append(pa.field(ROW, pa.int64())) for stream in streams]
        same = {name: join[name] for name in SAME_ARGUMENTS if join.get(name) is not None}
        self._join = LocalJoin(*schemas, suffixes=("_left", "_right"), **same)
        window = join["window"]
        left, right = window if isinstance(window, tuple) else (window, window)
        self._windows = parse_duration(left, "window"), parse_duration(right, "window")
        # Of each batch the rows of both sides, and comparisons made; None if all were.
        self._cuts: list[tuple[int, int, int | None]] = []

    @classmethod
    def prepare(cls, pipeline: "Pipeline") -> "Comparison":
        """That of a pipeline with two generated streams."""
        from streamjoin.spark.generator import stream_of

        left, right = (
            stream_of(source.options, round(float(source.options["start"]) * 1e6))
            for source in pipeline.streams.values()
        )
        return cls((left, right), pipeline.arguments)

    def add(self, batch: JoinMetrics) -> None:
        """Remember a batch of the run."""
        left, right = (one.rows for one in batch.inputs) if batch.inputs else (0, 0)
        self._cuts.append((left, right, batch.compared if batch.skipped else None))

    def measure(self, on_batch: Callable[[int, int], None]) -> Outcome:
        """Join all rows again; tells the number of each batch and of all."""
        dropping = RandomDrop(self._windows)
        exact, first = 0, (0, 0)
        for number, (n_left, n_right, compared) in enumerate(self._cuts, start=1):
            on_batch(number, len(self._cuts))
            last = first[0] + n_left, first[1] + n_right
            left, right = (self._rows(side, first[side], last[side]) for side in (0, 1))
            dropping.choose(self._times(0, left), self._times(1, right), compared)
            pairs = self._join.push(left, right)
            exact += pairs.num_rows
            dropping.see(*(pairs[f"{ROW}_{side}"].to_numpy() for side in ("left", "right")))
            first = last
        return Outcome(exact, dropping.pairs)

    def _rows(self, side: int, first: int, last: int) -> pa.Table:
        rows = pa.Table.from_batches([self._streams[side].rows(first, last)])
        return rows.append_column(ROW, pa.array(np.arange(first, last)))

    def _times(self, side: int, rows: pa.Table) -> Times:
        name = self._streams[side].settings.time
        times: Times = rows[name].cast(pa.int64()).to_numpy()
        return times
