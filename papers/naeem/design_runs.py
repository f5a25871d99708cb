"""Figure 9: design parameters of CMESHJOIN, the table that grows, and the cost model."""

from dataclasses import replace
from typing import Final

import numpy as np

from papers.base import Context, Numbers
from papers.measurement import Measurement
from papers.naeem.foreign_keys import ForeignKeys
from papers.naeem.runs import mean, measure, rates, ratio
from papers.naeem.workload import Setting, foreign_keys, n_table
from papers.operators.semi_stream import DiskTable, SemiStreamRun
from papers.operators.semi_stream_costs import BACK_ENDS, BackEnd

_ITERATIONS: Final = 1000
_STEPS: Final = 40


def figure_9a(context: Context) -> Numbers:
    """Service rate by the share of memory that the front stage has; 75 % for more and more keys."""
    shares = (0.0, 0.05, 0.15, 0.4, 0.75) if context.quick else (
        0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9)  # fmt: skip
    n = n_table(context)
    few = replace(context, seeds=context.seeds[: 1 if context.quick else 3])
    far = {
        size: ratio(
            measure(few, Setting(size, "mesh", 0.75)), measure(few, Setting(size, "mesh", 0.0))
        )
        for size in ((50_000, 400_000) if context.quick else (50_000, 200_000, 800_000))
    }
    return {
        "x": shares,
        "far": far,
        "rates": {
            memory: [rates(measure(context, Setting(n, "mesh", share, memory))) for share in shares]
            for memory in (0.01, 0.1)
        },
        "model": {
            memory: [Setting(n, "mesh", share, memory).model().service_rate for share in shares]
            for memory in (0.01, 0.1)
        },
    }


def figure_9b(context: Context) -> Numbers:
    """Service rate of the front stage alone, by a fixed threshold."""
    thresholds = (1, 5, 10, 40) if context.quick else (1, 2, 4, 6, 8, 10, 15, 20, 30, 40, 60)
    setting = Setting(n_table(context), "mesh")
    found = [_front(context, replace(setting, threshold=t)) for t in thresholds]
    return {
        "x": thresholds,
        "rates": [rate for rate, _ in found],
        "filled": [filled for _, filled in found],
    }


def _front(context: Context, setting: Setting) -> tuple[Measurement, Measurement]:
    """Hits a second, and which part of the cache is in use."""
    hits, filled = [], []
    for seed in context.seeds[:3]:
        end = setting.turns(5)
        run = setting.start(seed, end * 2)
        run.advance(served=setting.turns(3))
        before = run.totals
        run.advance(served=end)
        counted = run.totals - before
        hits.append(counted.hits / counted.seconds)
        filled.append(len(run.cached) / setting.split.cached)
    return Measurement.of(hits), Measurement.of(filled)


def figure_9c(context: Context) -> Numbers:
    """Service rate of the MESHJOIN phase alone, by the size of the disk buffer."""
    shares = (0.001, 0.03, 0.1, 0.5) if context.quick else (
        0.0005, 0.001, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.5, 0.7)  # fmt: skip
    n = 2 * n_table(context)  # a hundredth of the memory has to hold partitions of all these sizes
    settings = [Setting(n, "mesh", memory=0.01, buffer=share) for share in shares]
    return {
        "x": shares,
        "rates": [
            mean(measure(context, s), lambda run: (run.served - run.hits) / run.seconds)
            for s in settings
        ],
        "model": [s.model().back / s.model().seconds for s in settings],
    }


def figure_9d(context: Context) -> Numbers:
    """Share of the stream that the front stage serves in 1000 iterations."""
    setting = Setting(n_table(context), "mesh")
    shares = []
    for seed in context.seeds:
        run = setting.start(seed, setting.turns(9))
        run.advance(served=setting.turns(4))
        before = run.totals
        run.advance(iterations=before.iterations + _ITERATIONS)
        shares.append((run.totals - before).hit_share)
    return {"hits": Measurement.of(shares), "ideal": setting.ideal_hits, "n": setting.n}


def figure_9e(context: Context) -> Numbers:
    """The table is doubled while the join runs: service rate before, just after and later."""
    n = n_table(context)
    small = Setting(n // 2, "mesh", memory=0.2, paper_n=50_000_000)
    large = Setting(n, "mesh")
    series = [_growing(small, n, seed) for seed in context.seeds]
    steady = {
        name: rates(measure(context, s)) for name, s in {"before": small, "after": large}.items()
    }
    return {"series": np.mean(series, axis=0), "runs": series, "steady": steady}


def _growing(small: Setting, n: int, seed: int) -> list[float]:
    """Service rate in equal parts of the run; the table grows in the middle."""
    half = small.turns(6)
    # Tuples that refer to the new ones come when these are there: the queue is full of old ones.
    first = foreign_keys(small.n, 1.0, seed).draw(half + small.split.waiting)
    second = ForeignKeys(n, 1.0, (seed, 9)).draw(3 * half)
    run = SemiStreamRun(
        small.join, DiskTable.of(n), np.concatenate([first, second]), n_table=small.n
    )
    found = []
    for i in range(_STEPS):
        if i == _STEPS // 2:
            run.grow(n)
        before = run.totals
        run.advance(served=before.served + 2 * half // _STEPS)
        found.append((run.totals - before).service_rate)
    return found


def figure_9f(context: Context) -> Numbers:
    """Seconds of an iteration: by the model, with the hit share that was measured, and counted."""
    found: dict[str, dict[str, Measurement | float]] = {}
    for back_end in BACK_ENDS:
        for share in (0.0, 0.15):
            setting = Setting(n_table(context), back_end, share)
            found[setting.join.name] = _validated(context, setting, back_end)
    return {"found": found}


def _validated(
    context: Context, setting: Setting, back_end: BackEnd
) -> dict[str, Measurement | float]:
    runs = measure(context, setting)
    hits = float(np.mean([run.hit_share for run in runs]))
    model = setting.model(hits)
    # A scan has iterations without free slots; a stream tuple's cost does not depend on that.
    return {
        "model": 1e6 * model.seconds / (model.front + model.back),
        "measured": mean(runs, lambda run: 1e6 / run.service_rate),
    }
