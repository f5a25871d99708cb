"""How good the costs of the micro-batch kernels predict, and what choices by them lose.

The settings here have other sizes, other numbers of keys and of basic windows, and other random
tuples than those that the costs were fitted to.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from streamjoin.calibration.fitting import Fit, crossing
from streamjoin.calibration.kernels import Stored
from streamjoin.calibration.micro_batch import SECONDS, Case, cases_of, times_of
from streamjoin.calibration.result import Crossover
from streamjoin.planning.two.algorithm_choice import Method, OperationCosts, costs_of

PAIRS: tuple[tuple[Method, Method], ...] = (
    ("nested", "batch"),
    ("nested", "hash"),
    ("hash", "batch"),
)


class Timed(NamedTuple):
    """A case with its predicted and its measured nanoseconds."""

    case: Case
    predicted: float
    measured: float


class Judgement(NamedTuple):
    """How good predictions are; `loss` is the largest of all settings."""

    fit: Fit
    loss: float
    crossovers: list[Crossover]
    timed: list[Timed]


def judge(operations: OperationCosts, quick: bool) -> Judgement:
    """Compare predictions with measurements."""
    windows, arrivals = _settings(quick)
    cases = cases_of(windows, arrivals)
    with TemporaryDirectory() as folder:
        measured = times_of(cases, 3, Path(folder), SECONDS[quick])
    shared = replace(operations, invalidate=0.0)  # no method differs in it, so it is not timed
    predicted = [costs_of(case.load, shared)[case.method] for case in cases]
    timed = [Timed(*each) for each in zip(cases, predicted, measured, strict=True)]
    settings = groupby(timed, key=lambda each: each.case[:2])
    return Judgement(
        fit=Fit.of(predicted, measured, logs=True),
        loss=max(loss_of(list(methods)) for _, methods in settings),
        crossovers=[found for window in windows for found in _crossovers(window, timed)],
        timed=timed,
    )


def _settings(quick: bool) -> tuple[list[Stored], list[int]]:
    windows = [
        Stored(3_000, 1_500, 2),
        Stored(5_000, 200, 5, grows=True),
        Stored(40_000, 160_000, 3, grows=True),
        Stored(200_000, 50_000, 5),
    ]
    if not quick:
        windows += [
            Stored(15_000, 300, 6),
            Stored(60_000, 5_000, 8),
            Stored(250_000, 1_000_000, 3, grows=True),
            Stored(500_000, 20_000, 3, grows=True),
            Stored(700_000, 300_000, 6),
        ]
    most, steps = (20_000, 8) if quick else (200_000, 14)
    return windows, [round(float(n)) for n in np.geomspace(1, most, steps)]


def loss_of(methods: Sequence[Timed]) -> float:
    """How much more the method with the least predicted cost costs than the best one."""
    chosen = min(methods, key=lambda each: each.predicted)
    return chosen.measured / min(each.measured for each in methods) - 1


def _crossovers(window: Stored, timed: Sequence[Timed]) -> list[Crossover]:
    """Where two methods cost the same for a window, for all pairs of methods that cross."""
    found = []
    for pair in PAIRS:
        first, second = (
            {each.case.arrivals: each for each in timed if each.case[::2] == (window, method)}
            for method in pair
        )
        both = [(first[n], second[n]) for n in sorted(first.keys() & second.keys())]
        at = [a.case.arrivals for a, _ in both]
        predicted = crossing(at, *([each[i].predicted for each in both] for i in (0, 1)))
        measured = crossing(at, *([each[i].measured for each in both] for i in (0, 1)))
        if predicted is not None or measured is not None:
            loss = max(loss_of(each) for each in both)
            found.append(Crossover("|".join(pair), window.rows, predicted, measured, loss))
    return found
