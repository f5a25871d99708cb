"""How a join scales: one executor and two on a cluster, and what grows with shards and streams.

- ``executors``: the join of `window-join` on a Spark standalone cluster of this machine, with one
  executor of one core and with two; same files, same shards. Each executor is held to a processor
  of its own. The driver shares these processors; its Java compiles simply and collects serially, as
  otherwise it would compile for minutes what it runs some hundred times. The two take turns, in
  another order each time; the figure is the median batch of all turns, without the first batches of
  each. `predicted_s` is what the model below says of such a
  batch: it is fitted to one executor, and two are its test.
- ``shards``: batches of next to no rows in local mode on two cores, by shards and map tasks. All
  are run there and back again, so that who runs late has no advantage; the mean of the two.
- ``streams``: the same with joins of two to eight streams.
- ``tasks``: CPU time of the driver for jobs of tasks that do nothing, on the cluster.
- ``model``: what follows for up to 1,000 cores; see `scale_model`.
"""

import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import mean, median
from typing import Any, Final

from benchmarks.queries import Task
from benchmarks.recorded import ROWS_PER_FILE, SECONDS_PER_FILE, record
from benchmarks.scale_cluster import Cluster
from benchmarks.scale_model import Grid, Model
from benchmarks.scale_runs import Plan
from benchmarks.systems import Timing, agree, in_process

KEYS: Final = 200_000
SHARDS: Final = 2
WINDOW_SECONDS: Final = 10
MODEL_CORES: Final = (1, 2, 10, 32, 100, 320, 1000)
_RUNS: Final = "benchmarks.scale_runs"
_STREAMS: Final = "abcdefgh"
_CLUSTER: Final = {
    "spark.executor.memory": "2g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
_TINY_ROWS: Final = 1000
"""Of a stream in a batch whose rows are not to matter."""


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Parameters
    ----------
    files, rate
        Files of each side in a batch on the cluster, and rows a second in them.
    turns
        Each runs one executor and two.
    cold, warm
        Batches of a run on the cluster that do not count, and those that do.
    small_cold, small_warm
        The same of runs with next to no rows.
    grid
        Map tasks and shards.
    streams
        Numbers of streams.
    tasks
        Sizes of jobs that do nothing.
    """

    files: int
    rate: int
    turns: int
    cold: int
    warm: int
    small_cold: int
    small_warm: int
    grid: tuple[tuple[int, int], ...]
    streams: tuple[int, ...]
    tasks: tuple[int, ...]


FULL: Final = Size(
    files=8, rate=ROWS_PER_FILE // SECONDS_PER_FILE, turns=2, cold=10, warm=5,
    small_cold=2, small_warm=3,
    grid=((2, 2), (2, 8), (2, 32), (16, 2), (16, 8), (16, 32)),
    streams=(2, 3, 4, 6, 8), tasks=(100, 1000),
)  # fmt: skip
SMALL: Final = Size(
    files=1, rate=1000, turns=1, cold=1, warm=2, small_cold=1, small_warm=2,
    grid=((2, 2), (2, 8), (4, 2), (4, 8)), streams=(2, 3), tasks=(10, 200),
)  # fmt: skip


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Measure all parts; `quick` few and small batches."""
    size = SMALL if quick else FULL
    with tempfile.TemporaryDirectory(prefix="sj-data-", ignore_cleanup_errors=True) as work:
        report("recording streams")
        executors, task_s = _executors(Path(work), size, report)
        grid = _grid(Path(work), size)
        streams = _by_streams(Path(work), size)
    one, two = executors
    large = Grid(2 * size.files, SHARDS, one["batch_s"])  # a file is a map task, on either side
    model = Model.fit(grid, SHARDS, task_s, one["batch_rows"], large)
    for row in executors:
        row["predicted_s"] = model.seconds(
            row["executors"], large.map_tasks, SHARDS, row["batch_rows"]
        )
    report(f"two executors/one: {two['rows_per_s'] / one['rows_per_s']:.2f}")
    rows = [
        *executors,
        *({"part": "shards", **point._asdict()} for point in grid),
        *({"part": "streams", "streams": n, "seconds": s} for n, s in streams.items()),
        {"part": "tasks", "seconds": task_s},
        {"part": "model", **asdict(model), "driver_limit_cores": model.limit(_per_core(one))},
        *({"part": "model", **model.at(cores, _per_core(one))} for cores in MODEL_CORES),
    ]
    ratios = {"two-executors/one": two["rows_per_s"] / one["rows_per_s"]}
    return {"bench": "scale", "quick": quick, "rows": rows, "ratios": ratios}


def _per_core(one: dict[str, Any]) -> int:
    """Rows of a batch on each core, as two executors have them."""
    return int(one["batch_rows"]) // 2


def _executors(
    work: Path, size: Size, report: Callable[[str], None]
) -> tuple[list[dict[str, Any]], float]:
    """Rows a second with one executor and with two, and the driver's seconds for a task."""
    n_batches = size.cold + size.warm
    record(work / "cluster", n_batches * size.files, KEYS, rate=size.rate)
    task = Task("streamjoin", str(work / "cluster"), size.files, WINDOW_SECONDS, shards=SHARDS)
    timings: dict[int, list[Timing]] = {1: [], 2: []}
    driver: list[float] = []
    fewest, most = size.tasks
    with Cluster.start(work / "spark", memory="3g", pinned=True) as cluster:
        for turn in range(size.turns):
            for n in (1, 2) if turn % 2 == 0 else (2, 1):
                conf = {"spark.cores.max": str(n), **_CLUSTER}
                plan = Plan(cluster.master, conf, [task], [fewest, most], executors=n)
                found = in_process(_RUNS, asdict(plan), f"{n} executors")
                few, many = found["driver_cpu"]
                driver.append((many - few) / (most - fewest))
                timings[n].append(Timing(**found["timings"][0]))
                report(f"{n} executors: {timings[n][-1].rows_per_second(size.cold):,.0f} rows/s")
    agree({str(n): [sum(one.results) for one in of] for n, of in timings.items()})
    return [_row(n, of, size) for n, of in timings.items()], max(0.0, median(driver))


def _row(n: int, timings: list[Timing], size: Size) -> dict[str, Any]:
    batch_s = median(second for one in timings for second in one.seconds[size.cold :])
    rows = timings[0].rows[-1]
    return {
        "part": "executors",
        "executors": n,
        "rows_per_s": rows / batch_s,
        "batch_rows": rows,
        "batch_s": batch_s,
        "batches": sum(len(one.seconds[size.cold :]) for one in timings),
        "join_cpu_s": median(us / 1e6 for one in timings for us in one.cpu_us[size.cold :]),
    }


def _grid(work: Path, size: Size) -> list[Grid]:
    """Seconds of small batches by map tasks and shards, in local mode."""
    n_batches = size.small_cold + size.small_warm
    for map_tasks in {m for m, _ in size.grid}:
        files = map_tasks // 2  # of each side
        rate = max(1, _TINY_ROWS // SECONDS_PER_FILE // files)
        record(work / f"{map_tasks}", n_batches * files, KEYS, rate=rate)
    tasks = [
        Task("streamjoin", str(work / f"{m}"), m // 2, WINDOW_SECONDS, shards=shards)
        for m, shards in size.grid
    ]
    return [
        Grid(*point, seconds) for point, seconds in zip(size.grid, _small(tasks, size), strict=True)
    ]


def _by_streams(work: Path, size: Size) -> dict[int, float]:
    """Seconds of small batches by the number of streams, in local mode."""
    n_batches = size.small_cold + size.small_warm
    rate, sides = _TINY_ROWS // SECONDS_PER_FILE, (0.0,) * max(size.streams)
    record(work / "streams", n_batches, KEYS, rate=rate, hot=sides)
    every = Task("streamjoin-plan", str(work / "streams"), 1, WINDOW_SECONDS, shards=SHARDS)
    tasks = [replace(every, streams=_STREAMS[:n]) for n in size.streams]
    return dict(zip(size.streams, _small(tasks, size), strict=True))


def _small(tasks: list[Task], size: Size) -> list[float]:
    """Seconds of each task's median batch: the mean of a run and of one in the opposite order.

    The first task is run once more before them, for Java to get warm.
    """
    plan = Plan(f"local[{SHARDS}]", {}, [tasks[0], *tasks, *reversed(tasks)])
    found = in_process(_RUNS, asdict(plan), "small batches")["timings"][1:]
    seconds = [median(one["seconds"][size.small_cold :]) for one in found]
    return [mean(both) for both in zip(seconds, reversed(seconds), strict=True)][: len(tasks)]
