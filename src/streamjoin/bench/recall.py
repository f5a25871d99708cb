"""Too little CPU, many times: how often the stated interval of the recall holds the true one.

Short streams are joined again and again under a budget, each time with other rows, and the truth is
found by comparing all with all. Operations cost what a table says, so the numbers are the same on
every machine. Of 100 intervals 95 are to hold the truth.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin.budget import Budget
from streamjoin.joins.stopwatch import Costs
from streamjoin.local import run as run_locally
from streamjoin.metrics import JoinCounts
from streamjoin.windows import rows
from streamjoin.workloads.keys import draw_keys

COSTS: Final = Costs(received=0.5, looked_at=1.0, handed_out=1.0)
RATE: Final = 100  # rows a second of each stream
SECONDS: Final = 12
WINDOW_US: Final = 4_000_000
RUNS: Final = 400
FEW_RUNS: Final = 4
LINES: Final = 4
"""That tell how far a kind of run has come."""
Z: Final = 1.96


@dataclass(frozen=True)
class Kind:
    """Streams, and the limits of their join.

    Parameters
    ----------
    limits
        Arguments of the join.
    keys, skew
        Number of keys, and exponent of Zipf's law.
    delay
        Seconds after which nine of ten right rows follow a left one; None: they are by chance.
    """

    limits: dict[str, Any]
    keys: int = 50
    skew: float = 0.0
    delay: float | None = None


@dataclass
class Tally:
    """What the runs of one kind gave, a value for each.

    Parameters
    ----------
    covered
        Whether the interval held the true recall.
    off
        Relative error of the estimated number of all results.
    recall
        The true one.
    width
        Half that of the interval, as a part of the recall.
    """

    covered: list[bool] = field(default_factory=list)
    off: list[float] = field(default_factory=list)
    recall: list[float] = field(default_factory=list)
    width: list[float] = field(default_factory=list)


KINDS: Final = {
    "flat": Kind({"budget": Budget(cpu="1500 us")}),
    "skewed": Kind({"budget": Budget(cpu="1500 us"), "split": "ra+tc"}, skew=1.0),
    "delayed": Kind({"budget": Budget(cpu="1500 us")}, delay=2.5),
    "dropped": Kind({"budget": Budget(cpu="500 us")}, keys=100),
    "memory": Kind({"budget": Budget(cpu="1500 us", memory=rows(400))}),
}


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Join many short streams of each kind; `quick` for a few."""
    runs = FEW_RUNS if quick else RUNS
    found = {name: _runs(name, runs, report) for name in KINDS}
    everything = [covered for tally in found.values() for covered in tally.covered]
    return {
        "bench": "recall",
        "rows": [_row(name, tally) for name, tally in found.items()],
        "ratios": {"covered/runs": float(np.mean(everything))},
    }


def _runs(name: str, runs: int, report: Callable[[str], None]) -> Tally:
    tally = Tally()
    for seed in range(runs):
        streams = _streams(KINDS[name], seed)
        counts, true = _joined(streams, KINDS[name].limits), true_pairs(*streams)
        low, high = counts.recall_interval
        tally.covered.append(low <= counts.pairs / true <= high)
        tally.off.append((counts.pairs + counts.missed) / true - 1)
        tally.recall.append(counts.pairs / true)
        tally.width.append(counts.recall_error / counts.recall)
        done = seed + 1
        if done * LINES // runs > seed * LINES // runs:
            report(f"{name:8} {done:4} of {runs} runs, {np.mean(tally.covered):.1%} covered")
    return tally


def _row(name: str, tally: Tally) -> dict[str, Any]:
    runs = len(tally.off)
    low, high = share_interval(sum(tally.covered), runs)
    return {
        "kind": name,
        "runs": runs,
        "covered": float(np.mean(tally.covered)),
        "from": low,
        "to": high,
        "off": float(np.mean(tally.off)),
        "off_se": float(np.std(tally.off, ddof=1)) / runs**0.5,
        "recall": float(np.mean(tally.recall)),
        "width": float(np.mean(tally.width)),
    }


def share_interval(n: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share that was seen `n` times `of` so many.

    Examples
    --------
    >>> low, high = share_interval(95, 100)
    >>> round(low, 3), round(high, 3)
    (0.888, 0.978)
    """
    middle, spread = n + Z**2 / 2, Z * (n * (of - n) / of + Z**2 / 4) ** 0.5
    return (middle - spread) / (of + Z**2), (middle + spread) / (of + Z**2)


def _joined(streams: tuple[pa.Table, pa.Table], limits: dict[str, Any]) -> JoinCounts:
    said = {"on": "k", "time": "t", "window": "4 s", "lateness": "1 s", **limits}
    total = JoinCounts()
    for step in run_locally(*streams, costs=COSTS, **said):
        total = step.metrics + total.without_state()
    return total


def _streams(kind: Kind, seed: int) -> tuple[pa.Table, pa.Table]:
    rng = np.random.default_rng(seed)
    n, last = RATE * SECONDS, SECONDS * 1_000_000
    times = [np.sort(rng.integers(0, last, n)) for _ in range(2)]
    keys = [draw_keys(rng.random(n), kind.keys, kind.skew) for _ in range(2)]
    if kind.delay is not None:
        follows = rng.random(n) < 0.9
        later = times[0] + (1e6 * rng.normal(kind.delay, 0.3, n)).astype(np.int64)
        times[1] = np.where(follows, later, times[1])
        keys[1] = np.where(follows, keys[0], keys[1])
    left, right = (_table(*side) for side in zip(keys, times, strict=True))
    return left, right


def _table(keys: NDArray[np.int64], times: NDArray[np.int64]) -> pa.Table:
    order = np.argsort(times)
    stamps = pa.array(times[order], pa.timestamp("us"))
    return pa.table({"k": keys[order], "t": stamps, "id": np.arange(len(keys))})


def true_pairs(left: pa.Table, right: pa.Table) -> int:
    """How many pairs there are, by comparing all with all."""
    keys = [np.asarray(side["k"]) for side in (left, right)]
    times = [np.asarray(side["t"].cast(pa.int64())) for side in (left, right)]
    near = np.abs(np.subtract.outer(*times)) <= WINDOW_US
    return int((near & np.equal.outer(*keys)).sum())
