"""What an exact join, and one that drops rows at random, would have found of a run's own rows.

Generated rows can be made again. So after a run they are joined once more in this process, without
a budget: that is the exact result, and which of its pairs a drop join would have found follows from
which rows it would have kept. It keeps so many of each batch, chosen at random, that it makes as
many comparisons as the run made in that batch.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.cli.random_drop import RandomDrop
from streamjoin.durations import parse_duration
from streamjoin.local import LocalJoin
from streamjoin.metrics import JoinMetrics
from streamjoin.workloads import GeneratedStream

if TYPE_CHECKING:
    from streamjoin.spark.pipeline import JoinPipeline

ROW: Final = "_row"
SAME: Final = ("on", "where", "time", "lateness", "window", "freshness")


@dataclass(frozen=True)
class Found:
    """Pairs that the exact join finds, and that a random drop would have left of them."""

    exact: int
    dropping: int


@dataclass(frozen=True)
class _Cut:
    """A batch of the run: rows of both sides, and comparisons made; None if all were."""

    rows: tuple[int, int]
    compared: int | None


class Comparison:
    """Remembers how a run was cut into batches, and joins its rows again.

    Parameters
    ----------
    streams
        The two generated streams.
    join
        Arguments of `streamjoin.join`.
    """

    def __init__(
        self, streams: tuple[GeneratedStream, GeneratedStream], join: Mapping[str, Any]
    ) -> None:
        self._streams = streams
        schemas = [stream.settings.schema.append(pa.field(ROW, pa.int64())) for stream in streams]
        same = {name: join[name] for name in SAME if join.get(name) is not None}
        self._join = LocalJoin(*schemas, suffixes=("_left", "_right"), **same)
        window = join["window"]
        left, right = window if isinstance(window, tuple) else (window, window)
        self._windows = parse_duration(left, "window"), parse_duration(right, "window")
        self._cuts: list[_Cut] = []

    @classmethod
    def of(cls, pipeline: "JoinPipeline") -> "Comparison":
        """That of a pipeline with two generated streams."""
        from streamjoin.spark.generator import stream_of

        left, right = (
            stream_of(source.options, round(float(source.options["start"]) * 1e6))
            for source in (pipeline.left, pipeline.right)
        )
        return cls((left, right), pipeline.join)

    def add(self, batch: JoinMetrics) -> None:
        """Remember a batch of the run."""
        left, right = (one.rows for one in batch.inputs) if batch.inputs else (0, 0)
        self._cuts.append(_Cut((left, right), batch.compared if batch.skipped else None))

    def measure(self, on_batch: Callable[[int, int], None]) -> Found:
        """Join all rows again; tells the number of each batch and of all."""
        dropping = RandomDrop(self._windows)
        exact, first = 0, (0, 0)
        for number, cut in enumerate(self._cuts, start=1):
            on_batch(number, len(self._cuts))
            last = first[0] + cut.rows[0], first[1] + cut.rows[1]
            left, right = (self._rows(side, first[side], last[side]) for side in (0, 1))
            dropping.choose(self._times(0, left), self._times(1, right), cut.compared)
            pairs = self._join.push(left, right)
            exact += pairs.num_rows
            dropping.see(*(pairs[f"{ROW}_{side}"].to_numpy() for side in ("left", "right")))
            first = last
        return Found(exact, dropping.found)

    def _rows(self, side: int, first: int, last: int) -> pa.Table:
        rows = pa.Table.from_batches([self._streams[side].rows(first, last)])
        return rows.append_column(ROW, pa.array(np.arange(first, last)))

    def _times(self, side: int, rows: pa.Table) -> NDArray[np.int64]:
        times: NDArray[np.int64] = (
            rows[self._streams[side].settings.time].cast(pa.int64()).to_numpy()
        )
        return times
