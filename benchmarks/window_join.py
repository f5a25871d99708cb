"""The window join on Spark against Spark's own join and against pipelines without a join.

Two streams of 20,000 rows a second with 200,000 keys, joined within 10 seconds: each row finds two
partners on average, so results come at the rate of the input. Files are read as fast as they can be
joined, one (400k rows a micro-batch) or five (2M) of each side at a time. Every run is a process of
its own; the join and the shuffle pipeline take turns, so that noise hits them alike.
"""

import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.recorded import ROWS_PER_FILE, record
from benchmarks.systems import Task, measure
from streamjoin.errors import EngineError

KEYS: Final = 200_000
WINDOW_SECONDS: Final = 10
SLOW: Final = ("spark-rocksdb", "spark-memory")
QUICK: Final = ("shuffle-identity", "streamjoin", "scan-identity")


@dataclass(frozen=True)
class Size:
    """How a micro-batch size is measured.

    Batches that warm a system up are not counted: half a minute of the quick systems, until the
    JVM's compiler has seen enough, and of Spark's own join until its state has its full size.
    """

    files: int
    turns: int
    quick_cold: int
    quick_warm: int
    slow_cold: int
    slow_warm: int

    @property
    def rows(self) -> int:
        """Input rows a micro-batch."""
        return 2 * self.files * ROWS_PER_FILE

    def batches(self, system: str) -> tuple[int, int]:
        """Cold and warm batches of a system."""
        if system in SLOW:
            return self.slow_cold, self.slow_warm
        return self.quick_cold, self.quick_warm


SIZES: Final = (
    Size(files=1, turns=2, quick_cold=24, quick_warm=12, slow_cold=4, slow_warm=3),
    Size(files=5, turns=2, quick_cold=3, quick_warm=6, slow_cold=1, slow_warm=2),
)
SMALL: Final = (Size(files=1, turns=1, quick_cold=3, quick_warm=3, slow_cold=1, slow_warm=1),)


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Time all systems at 400k and 2M rows a micro-batch; `quick` only a few small batches."""
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    for size in SMALL if quick else SIZES:
        with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
            report(f"recording streams for {size.rows:,} rows a batch")
            rates = _measure(size, Path(work), report)
        for system, found in rates.items():
            warm = size.batches(system)[1]
            rows.append(
                {
                    "system": system,
                    "batch_rows": size.rows,
                    "rows_per_s": median(found),
                    "warm_batches": warm * len(found),
                    "runs": len(found),
                }
            )
            if system != "streamjoin":
                suffix = "" if size.files == 1 else "-2M"
                ours = median(rates["streamjoin"])
                ratios[f"streamjoin/{system}{suffix}"] = ours / median(found)
    return {"bench": "window-join", "rows": rows, "ratios": ratios}


def _measure(size: Size, work: Path, report: Callable[[str], None]) -> dict[str, list[float]]:
    """Rows a second of every system, run by run."""
    folders = {}
    for system in (*QUICK, *SLOW):
        folders[system] = work / str(sum(size.batches(system)))
        if not folders[system].exists():
            record(folders[system], sum(size.batches(system)) * size.files, KEYS)
    rates: dict[str, list[float]] = defaultdict(list)
    results: dict[str, list[int]] = {}
    for system in [*QUICK, *QUICK[:2] * (size.turns - 1), *SLOW]:
        timing = measure(Task(system, str(folders[system]), size.files, WINDOW_SECONDS))
        cold, warm = size.batches(system)
        rates[system].append(timing.rows_per_second(cold))
        report(
            f"{system:17} {size.rows:>9,} rows a batch: {rates[system][-1]:>9,.0f} rows/s, "
            f"{warm} warm batches"
        )
        if "identity" not in system:
            results[system] = timing.results
    _check(results)
    return rates


def _check(results: dict[str, list[int]]) -> None:
    """Systems that join must agree on the number of results, all batches together."""
    n = min(map(len, results.values()))
    totals = {system: sum(found[:n]) for system, found in results.items()}
    if len(set(totals.values())) > 1:
        raise EngineError(f"bench: the joins disagree on the number of results: {totals}")
