"""How long a micro-batch takes, by cores, map tasks and shards: fitted to measurements.

A batch of `rows` rows on `cores` cores, with M map tasks and S shards, takes

    batch + task * (M + S) + (map_task * M + shard * S + meeting * M * S + row * rows) / cores

seconds. The first two terms are the driver's, which does one thing after the other; the others are
shared by all cores.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np


class Grid(NamedTuple):
    """A measured batch: its map tasks and shards, and its seconds."""

    map_tasks: int
    shards: int
    seconds: float


@dataclass(frozen=True)
class Model:
    """Seconds of one core that each thing takes.

    Parameters
    ----------
    batch
        What the driver does once a batch: planning, offsets, commit.
    task
        What the driver does for a task.
    map_task, shard
        A task's own start and end: Spark's, and that of its Python worker.
    meeting
        What a map task tells each shard, at the least the newest time that it has seen.
    row
        A row's way from the source through the join.

    Examples
    --------
    >>> model = Model(batch=0.2, task=0.001, map_task=0.03, shard=0.05, meeting=1e-4, row=2e-6)
    >>> round(model.seconds(cores=1, map_tasks=1, shards=1, rows=1_000_000), 4)
    2.2821
    >>> model.limit(rows_per_core=1_000_000)
    989
    """

    batch: float
    task: float
    map_task: float
    shard: float
    meeting: float
    row: float

    @classmethod
    def fit(cls, grid: Sequence[Grid], cores: int, task: float, rows: int, large: Grid) -> "Model":
        """Fit to batches of next to no rows on `cores` cores, and to a large one on one core.

        The large batch has `rows` rows. No grid point may have fewer shards than cores, for it
        would leave some idle. A part that noise makes negative is taken to be 0, and the others are
        fitted again.

        Examples
        --------
        >>> true = Model(0.2, 0.001, 0.03, 0.05, 1e-4, 2e-6)
        >>> points = [(2, 2), (2, 16), (2, 64), (16, 16), (16, 64)]
        >>> grid = [Grid(m, s, true.seconds(2, m, s, rows=0)) for m, s in points]
        >>> large = Grid(8, 2, true.seconds(1, 8, 2, 10**6))
        >>> found = Model.fit(grid, 2, 0.001, 10**6, large)
        >>> all(np.isclose(a, b) for a, b in zip(found.values(), true.values()))
        True
        """
        m, s, wall = (np.array(column, float) for column in zip(*grid, strict=True))
        work = np.column_stack([np.full(len(m), cores), m, s, m * s]) / cores
        batch, map_task, shard, meeting = _not_negative(work, wall - task * (m + s))
        empty = cls(batch, task, map_task, shard, meeting, row=0.0)
        left = large.seconds - empty.seconds(1, large.map_tasks, large.shards, rows=0)
        return cls(batch, task, map_task, shard, meeting, max(0.0, left / rows))

    def values(self) -> tuple[float, ...]:
        """All parts, in their order."""
        return tuple(asdict(self).values())

    def driver(self, map_tasks: int, shards: int) -> float:
        """Seconds of a batch in which only the driver works."""
        return self.batch + self.task * (map_tasks + shards)

    def seconds(self, cores: int, map_tasks: int, shards: int, rows: int) -> float:
        """Seconds of a batch."""
        shared = self.map_task * map_tasks + self.shard * shards
        shared += self.meeting * map_tasks * shards + self.row * rows
        return self.driver(map_tasks, shards) + shared / cores

    def at(self, cores: int, rows_per_core: int) -> dict[str, Any]:
        """A row of the table: one map task and one shard a core."""
        seconds = self.seconds(cores, cores, cores, cores * rows_per_core)
        return {
            "cores": cores,
            "rows_per_s": cores * rows_per_core / seconds,
            "batch_s": seconds,
            "driver_share": self.driver(cores, cores) / seconds,
            "of_linear": self.row * rows_per_core / seconds,
        }

    def limit(self, rows_per_core: int) -> int | None:
        """Cores from which on the driver takes as long as all others together; None if never."""
        own = self.map_task + self.shard + self.row * rows_per_core - self.batch
        each = 2 * self.task - self.meeting
        if own <= 0:
            return 1
        return max(1, int(own / each)) if each > 0 else None


def _not_negative(work: np.ndarray, wall: np.ndarray) -> list[float]:
    """Least squares with the most negative factor left out, until none is negative."""
    used = list(range(work.shape[1]))
    found = np.zeros(work.shape[1])
    while used:
        factors, *_ = np.linalg.lstsq(work[:, used], wall, rcond=None)
        if factors.min() >= 0:
            found[used] = factors
            break
        del used[int(factors.argmin())]
    return [float(each) for each in found]
