"""Two made-up streams for joins with a budget, and what a run of them counts in all."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from streamjoin import local
from streamjoin.metrics import JoinCounts
from streamjoin.workloads.drawing import draw_keys

SECOND = 1_000_000


def stream(
    rate: float, seconds: float, *, keys: int, seed: int, skew: float = 0.0, start: float = 0.0
) -> pa.Table:
    """Rows ``k, t, id`` at random times between `start` and `seconds` later."""
    rng = np.random.default_rng([seed, int(start)])
    n = round(rate * seconds)
    first, last = round(start * SECOND), round((start + seconds) * SECOND)
    times = np.sort(rng.integers(first, last, n))
    drawn = draw_keys(rng.random(n), keys, skew)
    ids = np.arange(n) + round(start) * 1_000_000
    return pa.table({"k": drawn, "t": pa.array(times, pa.timestamp("us")), "id": ids})


def pair(
    rates: tuple[float, float], seconds: float, *, seed: int = 0, **said: Any
) -> tuple[pa.Table, pa.Table]:
    """A left and a right stream."""
    left, right = (
        stream(rate, seconds, seed=2 * seed + side, **said) for side, rate in enumerate(rates)
    )
    return left, right


def jump(
    before: tuple[float, float], after: tuple[float, float], seconds: float, **said: Any
) -> tuple[pa.Table, pa.Table]:
    """Streams whose rates change after some seconds, for as many more."""
    parts = pair(before, seconds, **said), pair(after, seconds, start=seconds, **said)
    left, right = map(pa.concat_tables, zip(*parts, strict=True))
    return left, right


def steps(left: pa.Table, right: pa.Table, **said: Any) -> Iterator[local.Step]:
    """Run a join by key over windows of eight seconds, two seconds a step."""
    return local.run(
        left, right, **{"on": "k", "time": "t", "every": "2 s", "window": "8 s", **said}
    )


def counted(left: pa.Table, right: pa.Table, **said: Any) -> JoinCounts:
    """What all steps count together."""
    total = JoinCounts()
    for step in steps(left, right, **said):
        total = step.metrics + total.without_state()
    return total
