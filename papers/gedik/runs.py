"""Runs of several policies on the same streams, and what one gives over another."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from papers.base import Context
from papers.gedik.densities import FloatArray
from papers.gedik.workload import Seconds, Setting, results
from papers.measurement import Measurement
from papers.operators.selective_settings import Policy
from papers.operators.selective_window import SelectiveRun

Runs = Mapping[Policy, Sequence[SelectiveRun]]
"""One run for each seed, by policy."""


def run_all(context: Context, setting: Setting, policies: Iterable[Policy]) -> Runs:
    """Run each policy on the streams of each seed."""
    runs: dict[Policy, list[SelectiveRun]] = {policy: [] for policy in policies}
    for seed in context.seeds:  # outside: the streams of a seed are made once
        for policy, found in runs.items():
            found.append(setting.run(policy, seed))
    return runs


def outputs(runs: Runs, seconds: Seconds) -> dict[Policy, Measurement]:
    """Results a second by policy."""
    return {
        policy: Measurement.of([results(run, seconds) for run in each])
        for policy, each in runs.items()
    }


def gain(runs: Runs, policy: Policy, over: Policy, seconds: Seconds) -> Measurement:
    """Results of a policy over those of another, each seed for itself."""
    pairs = zip(runs[policy], runs[over], strict=True)
    return Measurement.of([results(a, seconds) / results(b, seconds) for a, b in pairs])


def series(runs: Sequence[SelectiveRun], name: str) -> FloatArray:
    """A series by second, the mean over seeds; of counters by window, their sum."""
    arrays = [np.asarray(getattr(run, name), np.float64) for run in runs]
    mean: FloatArray = np.mean(arrays, axis=0)
    return mean


def clearly_more(one: Measurement, other: Measurement) -> bool:
    """Whether the whole interval of one lies above the other's.

    Examples
    --------
    >>> clearly_more(Measurement(3, 2.5, 3.5, 5), Measurement(2, 1.6, 2.4, 5))
    True
    """
    return one.low > other.high


def rising(gains: Sequence[Measurement]) -> bool:
    """Whether each mean is above the one before, and the last clearly above the first."""
    return clearly_more(gains[-1], gains[0]) and all(a.mean < b.mean for a, b in pairwise(gains))
