"""Figures 8 to 10: splits of CPU, memory and both, by the model and in the running join."""

import math
from concurrent.futures import ThreadPoolExecutor

from papers.base import Context, Numbers
from papers.kang.cost_model import PAPER
from papers.kang.operator import run_join
from papers.kang.settings import LIMITED_BOTH, LIMITED_CPU, LIMITED_MEMORY, Setting
from papers.kang.spark_runs import spark_output
from papers.measurement import Measurement
from papers.operators.moving_window import TupleRun, cost
from streamjoin import local
from streamjoin.planning.two.split import Allocation, plan


def figure_8(context: Context) -> Numbers:
    """CPU for 10 of 100 tuples a second (KAN-C14)."""
    return _compare(context, LIMITED_CPU)


def figure_9(context: Context) -> Numbers:
    """Memory for 1000 tuples (KAN-C17)."""
    return _compare(context, LIMITED_MEMORY)


def figure_10(context: Context) -> Numbers:
    """Both (KAN-C20)."""
    return _compare(context, LIMITED_BOTH)


def resources(context: Context) -> Numbers:
    """Tuple accesses a result under each split of memory, windows hashed (KAN-C23)."""
    found = {}
    for split in LIMITED_MEMORY.strategies:
        allocation = plan(split, LIMITED_MEMORY.demand, LIMITED_MEMORY.limits)
        run = _with_windows(context, allocation)
        found[split] = {
            "cost_per_result": cost(run, PAPER) / run.outputs,
            "other_window": (run.insert[0], run.invalidate[0]),
        }
    return {"splits": found}


def _with_windows(context: Context, allocation: Allocation) -> TupleRun:
    """The paper's operator with windows cut to an allocation; one way where one gets nothing."""
    held = allocation.memory or (math.inf, math.inf)
    windows = held[0] / allocation.rates[0], held[1] / allocation.rates[1]
    traces, keys = LIMITED_MEMORY.streams(160, context.seeds[0]).traces(), LIMITED_MEMORY.keys
    if windows[1] == 0:  # B only probes
        return run_join("HJ", traces[::-1], keys[::-1], (110, 160), windows[::-1])
    return run_join("HJ" if windows[0] == 0 else "HHJ", traces, keys, (110, 160), windows)


def _compare(context: Context, setting: Setting) -> Numbers:
    seconds = setting.quick_seconds if context.quick else setting.seconds
    measured = {}
    context.spark.session()  # here, as it sends this process's error output elsewhere meanwhile
    with ThreadPoolExecutor(1) as pool:  # Spark has its own process: both at once
        on_spark = pool.submit(spark_output, context, setting)
        for split in setting.strategies:
            context.progress(f"split {split!r} in virtual time")
            found = [_virtual(setting, split, seconds, seed) for seed in context.seeds]
            measured[split] = Measurement.of(found)
        context.progress("all splits on Spark")
    return {
        "names": setting.strategies,
        "model": {split: setting.model(split) for split in setting.strategies},
        "measured": measured,
        "spark": on_spark.result(),
        "no_spark": context.spark.absent,
        "every": setting.every,
        "spark_every": setting.spark_every,
    }


def _virtual(setting: Setting, split: str, seconds: int, seed: int) -> float:
    """Results a second of the running join, windows full."""
    left, right = setting.streams(setting.warm + seconds, seed).tables()
    every = f"{setting.every} seconds"
    steps = local.run(left, right, every=every, **setting.arguments(split))
    warm_us = setting.warm * 1_000_000
    return sum(step.metrics.pairs for step in steps if step.now_us > warm_us) / seconds
