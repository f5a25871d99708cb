"""One n-ary join or a tree: joins of three and of five streams, against a chain of Spark's own.

Four workloads, each a join on one key. In two of them most rows are of one stream, and few of the
others' tuples match each other: a tree keeps those few and lets the many probe them, where an n-ary
join would form much for each of the many. In the other two streams match in parts, so there are
many intermediate tuples and hardly any results: a tree stores what is good for nothing.

The systems take turns. Each has a process that keeps its Spark (ours share one), and goes on from
its checkpoint in each turn. At last the orders in which streams may drive, in this process.
"""

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.driver_orders import compare, rows_and_ratios
from benchmarks.mjoin_runs import Runner, Turn
from benchmarks.mjoin_workloads import WINDOW_SECONDS, Workload, orders_streams, workloads
from benchmarks.systems import Task, Timing, agree

AUTO: Final = "auto"
OURS: Final = {"mjoin": "streamjoin-mjoin", "tree": "streamjoin-tree", AUTO: "streamjoin-plan"}
CHAINS: Final = ("spark-chain", "spark-chain-memory")
WANTED: Final = {"auto/better": 0.9, "auto/spark-chain": 10.0}
"""Least ratios: to the better of the two strategies, and to Spark's chain with RocksDB."""


@dataclass(frozen=True)
class Size:
    """How much is run.

    Parameters
    ----------
    rows
        Part of the rows and of the keys of a workload.
    cold
        Batches of ours that are not counted, at least: until the compiler has seen enough.
    warm
        Batches of ours that count in a turn, after one that does not; of the chains it is one.
    turns
        Of ours; the chains have the first and the last.
    orders
        Batches for the orders: not counted, and counted.
    """

    rows: float
    cold: int
    warm: int
    turns: int
    orders: tuple[int, int]


FULL: Final = Size(rows=4, cold=6, warm=3, turns=2, orders=(6, 12))
SMALL: Final = Size(rows=0.02, cold=2, warm=1, turns=1, orders=(1, 2))


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Measure all workloads and orders; `quick` with few rows."""
    size = SMALL if quick else FULL
    rows, ratios = _on_spark(size, report)
    streams = orders_streams(size.rows)
    found = compare(streams, WINDOW_SECONDS, *size.orders)
    agree({order: one.results for order, one in found.items()})
    more, others = rows_and_ratios(found, sum(streams.rows.values()))
    return {"bench": "mjoin", "rows": rows + more, "ratios": {**ratios, **others}}


def _on_spark(
    size: Size, report: Callable[[str], None]
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    rows: list[dict[str, Any]] = []
    ratios: dict[str, float] = {}
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sj-data-")))
        runners = dict.fromkeys(OURS, stack.enter_context(Runner()))
        runners |= {chain: stack.enter_context(Runner()) for chain in CHAINS}
        report("warming up")
        small, once = workloads(size.rows / 10)[0], replace(size, turns=1)
        _in_turns(small, once, runners, work / "warm-up")
        for workload in workloads(size.rows):
            timings = _in_turns(workload, size, runners, work / workload.name.replace(" ", "-"))
            for system, turns in timings.items():
                rows.append(_row(workload, system, turns))
                report(_told(rows[-1]))
            found = _ratios(workload.name, timings)
            for line in _judged(workload.name, found):
                report(line)
            ratios |= found
    return rows, ratios


@dataclass(frozen=True)
class Timed:
    """One turn of a system: what it gave, and how many of its batches do not count."""

    timing: Timing
    cold: int

    @property
    def rows_per_s(self) -> float:
        """Of the median batch that counts."""
        return self.timing.rows_per_second(self.cold)


def _in_turns(
    workload: Workload, size: Size, runners: Mapping[str, Runner], folder: Path
) -> dict[str, list[Timed]]:
    """Let all systems take turns, each time another one first."""
    cold = {system: max(workload.full, size.cold) for system in OURS}
    cold |= dict.fromkeys(CHAINS, workload.full)
    n_files = cold[AUTO] + size.turns * (1 + size.warm)
    workload.streams.record(folder / "recorded", n_files)
    found: dict[str, list[Timed]] = {system: [] for system in runners}
    for turn in range(size.turns):
        systems = list(runners)
        for system in systems[turn:] + systems[:turn]:
            if system in CHAINS and 0 < turn < size.turns - 1:
                continue
            skipped = 1 if found[system] else cold[system]
            warm = 1 if system in CHAINS else size.warm
            _publish(folder, system, workload.names, skipped + warm)
            name = OURS.get(system, system)
            task = Task(name, str(folder / system), 1, WINDOW_SECONDS, streams=workload.names)
            timing = runners[system].run(Turn(task, str(folder / f"{system}-checkpoint")))
            found[system].append(Timed(timing, skipped))
    agree(
        {
            system: [n for turn in turns for n in turn.timing.results]
            for system, turns in found.items()
        }
    )
    return found


def _publish(folder: Path, system: str, names: str, n: int) -> None:
    """Let a system see the next files of each stream."""
    for name in names:
        target = folder / system / name
        target.mkdir(parents=True, exist_ok=True)
        seen = len(list(target.iterdir()))
        for number in range(seen, seen + n):
            file = f"{number:05d}.parquet"
            os.link(folder / "recorded" / name / file, target / file)


def _row(workload: Workload, system: str, turns: Sequence[Timed]) -> dict[str, Any]:
    speeds, last = [turn.rows_per_s for turn in turns], turns[-1].timing
    return {
        "workload": workload.name,
        "system": system,
        "rows_per_s": median(speeds),
        "lowest": min(speeds),
        "highest": max(speeds),
        "cpu_us_per_row": _cpu(turns) or None,
        "results": last.results[-1],
        "state_mb": last.state_bytes / 1e6,
        "state_rows": last.state_rows or None,
    }


def _cpu(turns: Sequence[Timed]) -> float:
    """Microseconds of CPU time of the join itself for a row, where it is known."""
    found = [turn.timing.cpu_us[turn.cold :] for turn in turns]
    return median(us for turn in found for us in turn) / turns[-1].timing.rows[-1]


def _told(row: Mapping[str, Any]) -> str:
    return (
        f"{row['workload']} {row['system']:18} {row['rows_per_s']:>9,.0f} rows/s "
        f"({row['lowest']:,.0f} to {row['highest']:,.0f}), {row['state_mb']:,.1f} MB of state"
    )


def _ratios(name: str, timings: Mapping[str, Sequence[Timed]]) -> dict[str, float]:
    """Ours against the better strategy and the chains, turn by turn."""
    speeds = {system: [turn.rows_per_s for turn in turns] for system, turns in timings.items()}
    better = max(("mjoin", "tree"), key=lambda system: median(speeds[system]))
    turns = sorted({0, len(speeds[AUTO]) - 1})  # those that the chains have
    found = {
        **_interval(f"{name} auto/better", speeds[AUTO], speeds[better]),
        **_interval(f"{name} mjoin/tree", speeds["mjoin"], speeds["tree"]),
    }
    for chain in CHAINS:
        found |= _interval(f"{name} auto/{chain}", [speeds[AUTO][i] for i in turns], speeds[chain])
    cpu = {system: _cpu(timings[system]) for system in OURS}
    found[f"{name} cpu auto/better"] = cpu[AUTO] / min(cpu["mjoin"], cpu["tree"])
    found[f"{name} cpu mjoin/tree"] = cpu["mjoin"] / cpu["tree"]
    states = {system: turns[-1].timing.state_bytes for system, turns in timings.items()}
    found[f"{name} state mjoin/tree"] = states["mjoin"] / states["tree"]
    found[f"{name} state auto/spark-chain"] = states[AUTO] / states["spark-chain"]
    return found


def _interval(name: str, ours: Sequence[float], others: Sequence[float]) -> dict[str, float]:
    found = [x / y for x, y in zip(ours, others, strict=True)]
    return {name: median(found), f"{name} lowest": min(found), f"{name} highest": max(found)}


def _judged(name: str, ratios: Mapping[str, float]) -> list[str]:
    """Whether what is wanted was reached."""
    return [
        f"{name} {goal}: {ratios[f'{name} {goal}']:.2f}, wanted at least {least:g}: "
        + ("reached" if ratios[f"{name} {goal}"] >= least else "NOT reached")
        for goal, least in WANTED.items()
    ]
