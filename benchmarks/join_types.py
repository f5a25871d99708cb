"""Every type of join on Spark against Spark's own where it has one, the band join, and skewed keys.

The streams are those of ``window-join`` at 400,000 rows a micro-batch: 20,000 rows a second and
side, 200,000 keys, joined within 10 seconds, so each row finds two partners on average and one in
seven finds none. Every run is a process of its own, over the same files. Spark has no streaming
anti or as-of join: ours run alone.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.recorded import RATE, record
from benchmarks.systems import Task, Timing, measure
from streamjoin.errors import EngineError

OURS: Final = "streamjoin"
SPARK: Final = "spark-rocksdb"


@dataclass(frozen=True)
class Data:
    """Streams to be recorded: their number of keys, and the share of each side on one key."""

    name: str
    keys: int = 200_000
    hot: tuple[float, float] = (0.0, 0.0)


UNIFORM: Final = Data("uniform")
HOT_LEFT: Final = Data("hot-left", hot=(0.3, 0.0))
# With one hot key on both sides pairs grow with its square: only a window of a millisecond yields
# few enough. The uniform streams to compare with find as many in a second.
HOT_BOTH: Final = Data("hot-both", hot=(0.3, 0.3))
UNIFORM_SHORT: Final = Data("uniform-short", keys=7_400)


@dataclass(frozen=True)
class Case:
    """A join of some streams by our system, and by a rival if there is one."""

    name: str
    data: Data = UNIFORM
    how: str = "inner"
    window_seconds: float = 10
    ours: str = OURS
    rival: str | None = None


CASES: Final = (
    Case("left", how="left", rival=SPARK),
    Case("right", how="right", rival=SPARK),
    Case("full", how="full", rival=SPARK),
    Case("semi", how="semi", rival=SPARK),
    Case("anti", how="anti"),
    Case("asof", how="asof"),
    Case("band", ours="streamjoin-band", rival="spark-band"),
    Case("uniform"),
    Case("skew", HOT_LEFT, rival=SPARK),
    Case("uniform-short", UNIFORM_SHORT, window_seconds=1),
    Case("skew-both", HOT_BOTH, window_seconds=0.001),
)
SKEWED: Final = {
    "skewed/uniform": ("skew", "uniform"),
    "skewed-both/uniform": ("skew-both", "uniform-short"),
}


@dataclass(frozen=True)
class Size:
    """Rows a second of each side; batches that warm a system up, and those that are counted."""

    cold: int
    warm: int
    rate: int = RATE


# Spark's own state has its full size after four batches.
SIZES: Final = {OURS: Size(cold=12, warm=9), "spark": Size(cold=4, warm=3)}
SMALL: Final = {OURS: Size(1, 2, RATE // 10), "spark": Size(1, 2, RATE // 10)}


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Time every case at 400k rows a micro-batch; `quick` only three batches of a tenth of that."""
    sizes = SMALL if quick else SIZES
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    rates: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        for case in CASES:
            timings = {
                system: _measure(case, query, sizes[system], Path(work))
                for system, query in ((OURS, case.ours), ("spark", case.rival))
                if query
            }
            found = [_row(case, system, t, sizes[system]) for system, t in timings.items()]
            for row in found:
                report(
                    f"{case.name:13} {row['system']:10} {row['rows_per_s']:>9,.0f} rows/s, "
                    f"{row['warm_batches']} warm batches with {row['results']:,.0f} results"
                )
            if case.rival:
                _check(case, *timings.values())
                ours, theirs = (row["rows_per_s"] for row in found)
                ratios[f"streamjoin/spark-{case.name}"] = ours / theirs
            rates[case.name] = found[0]["rows_per_s"]
            rows += found
    ratios |= {name: rates[a] / rates[b] for name, (a, b) in SKEWED.items() if {a, b} <= set(rates)}
    return {"bench": "join-types", "rows": rows, "ratios": ratios}


def _measure(case: Case, query: str, size: Size, work: Path) -> Timing:
    files = size.cold + size.warm
    folder = work / f"{case.data.name}-{files}"
    if not folder.exists():
        record(folder, files, case.data.keys, rate=size.rate, hot=case.data.hot)
    return measure(Task(query, str(folder), 1, case.window_seconds, case.how))


def _row(case: Case, system: str, timing: Timing, size: Size) -> dict[str, Any]:
    return {
        "system": system,
        "case": case.name,
        "batch_rows": timing.rows[-1],
        "rows_per_s": timing.rows_per_second(size.cold),
        "results": median(timing.results[size.cold :]),
        "warm_batches": size.warm,
    }


def _check(case: Case, ours: Timing, theirs: Timing) -> None:
    """Refuse to compare systems that find different numbers of results.

    Spark's row without partner comes a batch after the one that brings its watermark, ours with it:
    in its last batch Spark has not yet given those that are new in ours.
    """
    n = min(len(ours.results), len(theirs.results))
    found = sum(ours.results[:n]) - ours.alone[n - 1], sum(theirs.results[:n])
    if found[0] != found[1]:
        raise EngineError(f"bench: {case.name}: results of streamjoin and Spark differ: {found}")
