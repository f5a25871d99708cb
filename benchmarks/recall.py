"""Too little CPU, memory or rate, many times: how often the stated interval holds the true recall.

Short streams are joined again and again under a budget, each time with other rows, and the truth is
counted. Operations cost what a table says, so the numbers are the same on every machine. Of 100
intervals 95 are to hold the truth.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.budget import Budget
from streamjoin.local import LocalJoin
from streamjoin.metrics import JoinCounts
from streamjoin.shedding.costs import Costs
from streamjoin.windows import rows
from streamjoin.workloads.drawing import draw_keys

COSTS: Final = Costs(received=0.5, looked_at=1.0, handed_out=1.0)
WINDOW_US: Final = 4_000_000
RUNS: Final = 1000
FEW_RUNS: Final = 4
LINES: Final = 4
"""That tell how far a kind of run has come."""
Z: Final = 1.96
Times = NDArray[np.int64]
Streams = tuple[pa.Table, pa.Table]


@dataclass(frozen=True)
class Kind:
    """Streams, how they are cut into batches, and the limits of their join.

    Parameters
    ----------
    limits
        Arguments of the join.
    rate, seconds
        Rows a second of each stream, and for how long.
    keys, skew
        Number of keys, and exponent of Zipf's law.
    delay, follows
        Seconds after which right rows follow a left one, and which part of them does; None: they
        are by chance.
    flood
        Rows that the left stream brings besides, all within a hundredth of a second.
    every, cuts
        Seconds of a batch; or how many batches each stream is cut into, wherever chance has it.
    """

    limits: dict[str, Any]
    rate: int = 100
    seconds: int = 12
    keys: int = 50
    skew: float = 0.0
    delay: float | None = None
    follows: float = 0.9
    flood: int = 0
    every: float = 1.0
    cuts: int | None = None


@dataclass
class Tally:
    """What the runs of one kind gave, a value for each.

    Parameters
    ----------
    covered
        Whether the interval held the true recall, where there was one.
    off
        Relative error of the estimated number of all results.
    recall, said
        The true one; and what was said, where it was known.
    width
        Half that of the interval, as a part of the recall.
    """

    covered: list[bool] = field(default_factory=list)
    off: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    said: list[float] = field(default_factory=list)
    width: list[float] = field(default_factory=list)

    def add(self, counts: JoinCounts, true: int) -> None:
        """Take in a run."""
        self.off.append((counts.pairs + counts.missed) / true - 1)
        self.recall.append(counts.pairs / true)
        if counts.recall is None or counts.recall_interval is None:
            return
        low, high = counts.recall_interval
        self.covered.append(low <= counts.pairs / true <= high)
        self.said.append(counts.recall)
        self.width.append((high - low) / 2 / max(counts.recall, 1e-9))


_FAST: Final = {"rate": 2000, "seconds": 8, "keys": 2000}
KINDS: Final = {
    "flat": Kind({"budget": Budget(cpu="1500 us")}),
    "skewed": Kind({"budget": Budget(cpu="1500 us"), "split": "ra+tc"}, skew=1.0),
    "delayed": Kind({"budget": Budget(cpu="1500 us")}, delay=2.5),
    "dropped": Kind({"budget": Budget(cpu="500 us")}, keys=100),
    "memory": Kind({"budget": Budget(cpu="1500 us", memory=rows(400))}),
    "unseen": Kind({"budget": Budget(cpu="1500 us")}, keys=20_000, delay=2.5, follows=0.5),
    "few": Kind({"budget": Budget(cpu="1200 us")}, keys=10**9, delay=1.0, follows=0.3),
    "drop": Kind({"budget": Budget(cpu="2 ms"), "shed": "drop"}, **_FAST),
    "cpu flood": Kind(
        {"budget": Budget(cpu="2 ms"), "shed": "drop"}, 150, 24, 4000, flood=10_000, cuts=12
    ),
    "half": Kind({"budget": Budget(rate=2000)}, **_FAST),
    "tenth": Kind({"budget": Budget(rate=400)}, **_FAST),
    "tiny": Kind({"budget": Budget(rate=4)}, **_FAST),
    "hot keys": Kind({"budget": Budget(rate=400)}, skew=1.0, **_FAST),
    "small": Kind({"budget": Budget(rate=400)}, 2000, 5, 2000, every=0.2),
    "flood": Kind({"budget": Budget(rate=200)}, 150, 24, 4000, flood=10_000, cuts=12),
}


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Join many short streams of each kind; `quick` for a few."""
    runs = FEW_RUNS if quick else RUNS
    found = {name: _runs(name, runs, report) for name in KINDS}
    everything = [covered for tally in found.values() for covered in tally.covered]
    return {
        "bench": "recall",
        "rows": [_row(name, tally) for name, tally in found.items()],
        "ratios": {"covered/known": float(np.mean(everything))},
    }


def _runs(name: str, runs: int, report: Callable[[str], None]) -> Tally:
    tally = Tally()
    for seed in range(runs):
        tally.add(*drawn(KINDS[name], seed))
        done = seed + 1
        if done * LINES // runs > seed * LINES // runs:
            held = f"{sum(tally.covered)} of {len(tally.covered)} intervals hold"
            report(f"{name:8} {done:4} of {runs} runs, {held}")
    return tally


def drawn(kind: Kind, seed: int) -> tuple[JoinCounts, int]:
    """What one run counts, and how many pairs there are."""
    rng = np.random.default_rng(seed)
    streams = _streams(kind, rng)
    said = {"on": "k", "time": "t", "window": "4 s", "lateness": _lateness(kind), **kind.limits}
    join = LocalJoin(streams[0].schema, streams[1].schema, COSTS, **said)
    for left, right in _batches(kind, streams, rng):
        join.push(left, right)
    return join.total, true_pairs(*streams)


def _row(name: str, tally: Tally) -> dict[str, Any]:
    runs, known = len(tally.off), len(tally.covered)
    low, high = share_interval(sum(tally.covered), known)
    return {
        "kind": name,
        "runs": runs,
        "known": known,
        "covered": _mean(tally.covered),
        "from": low,
        "to": high,
        "off": _mean(tally.off),
        "off_se": float(np.std(tally.off, ddof=1)) / runs**0.5,
        "recall": _mean(tally.recall),
        "said": _mean(tally.said),
        "width": _mean(tally.width),
    }


def _mean(values: list[float] | list[bool]) -> float:
    return float(np.mean(values)) if values else 0.0


def share_interval(n: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share that was seen `n` times `of` so many.

    Examples
    --------
    >>> low, high = share_interval(95, 100)
    >>> round(low, 3), round(high, 3)
    (0.888, 0.978)
    """
    if not of:
        return 0.0, 1.0
    middle, spread = n + Z**2 / 2, Z * (n * (of - n) / of + Z**2 / 4) ** 0.5
    return (middle - spread) / (of + Z**2), (middle + spread) / (of + Z**2)


def _lateness(kind: Kind) -> str:
    """A stream that is cut by chance is behind the other, but never late."""
    return "1 s" if kind.cuts is None else f"{kind.seconds} s"


def _batches(
    kind: Kind, streams: Streams, rng: np.random.Generator
) -> Iterator[tuple[pa.Table, pa.Table]]:
    edges = []
    for table in streams:
        if kind.cuts is None:
            ends = np.arange(kind.every, kind.seconds, kind.every) * 1e6
            places = np.searchsorted(_times(table), ends)
        else:
            places = np.sort(rng.integers(0, table.num_rows, kind.cuts - 1))
        edges.append([0, *places.tolist(), table.num_rows])
    for (a, b), (c, d) in zip(*map(pairwise, edges), strict=True):
        yield streams[0].slice(a, b - a), streams[1].slice(c, d - c)


def _streams(kind: Kind, rng: np.random.Generator) -> Streams:
    n, last = kind.rate * kind.seconds, kind.seconds * 1_000_000
    times = [np.sort(rng.integers(0, last, n)) for _ in range(2)]
    keys = [draw_keys(rng.random(n), kind.keys, kind.skew) for _ in range(2)]
    if kind.delay is not None:
        follows = rng.random(n) < kind.follows
        later = times[0] + (1e6 * rng.normal(kind.delay, 0.3, n)).astype(np.int64)
        times[1] = np.where(follows, later, times[1])
        keys[1] = np.where(follows, keys[0], keys[1])
    if kind.flood:
        times[0] = np.append(times[0], last // 2 + rng.integers(0, 10_000, kind.flood))
        keys[0] = np.append(keys[0], draw_keys(rng.random(kind.flood), kind.keys, kind.skew))
    left, right = (_table(*side) for side in zip(keys, times, strict=True))
    return left, right


def _table(keys: NDArray[np.int64], times: Times) -> pa.Table:
    order = np.argsort(times)
    stamps = pa.array(times[order], pa.timestamp("us"))
    return pa.table({"k": keys[order], "t": stamps, "id": np.arange(len(keys))})


def true_pairs(left: pa.Table, right: pa.Table) -> int:
    """How many pairs there are: of each left row, the right ones of its key that are near."""
    keys = [np.asarray(side["k"]) for side in (left, right)]
    times = [_times(side) for side in (left, right)]
    step = int(max(side.max() for side in times)) + 2 * WINDOW_US + 1  # from key to key
    at = np.sort(keys[1] * step + times[1])
    mine = keys[0] * step + times[0]
    first = np.searchsorted(at, mine - WINDOW_US, side="left")
    return int((np.searchsorted(at, mine + WINDOW_US, side="right") - first).sum())


def _times(table: pa.Table) -> Times:
    return np.asarray(table["t"].cast(pa.int64()))
