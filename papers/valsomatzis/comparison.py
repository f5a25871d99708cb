"""One order against timestamp order on the same streams: how long, and what came by when.

The first fifth of the batches is left out; the rest is looked at as a whole and in halves (VAL-A11,
VAL-D6). A batch's time, or work, is told in units of what timestamp order needs for the same batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from papers.measurement import Measurement
from papers.operators.nary_window import NaryRun

FloatArray = NDArray[np.float64]
Span = Literal["all", "first", "second"]
SPANS: Final[tuple[Span, ...]] = ("all", "first", "second")
GRID: Final[FloatArray] = np.linspace(0, 1.2, 49)
"""Normalised times of the curves."""
_HALF: Final = np.array([0.5])


def batches(n: int, span: Span) -> slice:
    """The batches of a span.

    Examples
    --------
    >>> [batches(100, span) for span in SPANS]
    [slice(20, 100, None), slice(20, 60, None), slice(60, 100, None)]
    """
    begin, middle = n // 5, n // 5 + (n - n // 5) // 2
    return slice(middle if span == "second" else begin, middle if span == "first" else n)


def share_by(
    cost: FloatArray, came: NDArray[np.int64], whole: FloatArray, at: FloatArray
) -> FloatArray:
    """Share of what comes in a batch by some times, of which `whole` is one; mean over batches.

    Parameters
    ----------
    cost, came
        Of each batch (rows) and step.
    whole
        Of each batch, the unit of time.
    at
        The times.

    Examples
    --------
    >>> share_by(np.array([[1.0, 3.0]]), np.array([[30, 10]]), np.array([4.0]), np.array([0.5]))
    array([0.83333333])
    """
    total = came.sum(axis=1)
    shares = [
        np.interp(at * whole[i], np.cumsum([0.0, *cost[i]]), np.cumsum([0, *came[i]])) / total[i]
        for i in np.flatnonzero(total)
    ]
    mean: FloatArray = np.mean(shares, axis=0)
    return mean


@dataclass(frozen=True)
class Model:
    """Work as probes, results and changes of the driver at their cost (VAL-I5)."""

    per_change: float

    @classmethod
    def fitted(cls, runs: Sequence[NaryRun], base: Sequence[NaryRun], ratio: float) -> "Model":
        """The cost of a change with which runs take this share of the work of others."""
        work, changes = _counted(runs)
        base_work, base_changes = _counted(base)
        return cls((ratio * base_work - work) / (changes - ratio * base_changes))

    def ratio(self, runs: Sequence[NaryRun], base: Sequence[NaryRun]) -> float:
        """Work of runs over that of others."""
        (work, changes), (base_work, base_changes) = _counted(runs), _counted(base)
        c = self.per_change
        return (work + c * changes) / (base_work + c * base_changes)

    def curve(self, run: NaryRun, base: NaryRun, span: Span, at: FloatArray) -> FloatArray:
        """Share of a batch's results by some shares of the other's work."""
        part = batches(len(run.tuples), span)
        whole = base.work(self.per_change)[part].sum(axis=1)
        return share_by(run.work(self.per_change)[part], run.results[part], whole, at)

    def half(self, runs: Sequence[NaryRun], base: Sequence[NaryRun]) -> Measurement:
        """Share of the results by half of the other's work."""
        pairs = zip(runs, base, strict=True)
        return Measurement.of([float(self.curve(a, b, "all", _HALF)[0]) for a, b in pairs])


COUNTED: Final = Model(per_change=0.0)
"""Probes and results only."""


def _counted(runs: Sequence[NaryRun]) -> tuple[float, float]:
    """Work without changes, and changes."""
    parts = [(run, batches(len(run.tuples), "all")) for run in runs]
    work = sum(float(run.work()[part].sum()) for run, part in parts)
    return work, sum(float(run.changes[part].sum()) for run, part in parts)


def time_ratio(run: NaryRun, base: NaryRun, span: Span) -> float:
    """Seconds over the other's."""
    part = batches(len(run.tuples), span)
    return float(run.seconds[part].sum() / base.seconds[part].sum())


def time_curve(run: NaryRun, base: NaryRun, span: Span, at: FloatArray) -> FloatArray:
    """Share of a batch's results by some shares of the other's seconds."""
    part = batches(len(run.tuples), span)
    return share_by(run.seconds[part], run.results[part], base.seconds[part].sum(axis=1), at)


def waited(run: NaryRun, base: NaryRun) -> float:
    """How long a tuple waits on average once its batch begins, the other's time being 1."""
    part = batches(len(run.tuples), "all")
    seconds, left = run.seconds[part], run.left[part].sum(axis=2) + run.tuples[part] / 2
    n, whole = run.tuples[part].sum(axis=1), base.seconds[part].sum(axis=1)
    busy = n > 0
    mean = (seconds * left).sum(axis=1)[busy] / (n * whole)[busy]
    return float(mean.mean())


@dataclass(frozen=True, eq=False)
class Compared:
    """An order against timestamp order, means and intervals over repetitions.

    Parameters
    ----------
    time
        Seconds, by span.
    half
        Share of the results by half of the time.
    waited
        How long a tuple waits.
    curve
        Share of the results by the times of `GRID`, by span.
    probes
        Looks into tables over those of timestamp order.
    changes
        Changes of the driver, after the first fifth of the batches.
    time_model, half_model, curve_model, half_counted
        The same by the model of work; and without a cost of changes.
    """

    time: dict[Span, Measurement]
    half: Measurement
    waited: Measurement
    curve: dict[Span, FloatArray]
    probes: Measurement
    changes: float
    time_model: float
    half_model: Measurement
    curve_model: dict[Span, FloatArray]
    half_counted: Measurement

    @classmethod
    def of(cls, runs: Sequence[NaryRun], base: Sequence[NaryRun], model: Model) -> "Compared":
        """Compare runs with those of timestamp order, each with that of its repetition."""
        pairs = list(zip(runs, base, strict=True))
        part = batches(len(runs[0].tuples), "all")
        return cls(
            time={s: Measurement.of([time_ratio(a, b, s) for a, b in pairs]) for s in SPANS},
            half=Measurement.of([float(time_curve(a, b, "all", _HALF)[0]) for a, b in pairs]),
            waited=Measurement.of([waited(a, b) for a, b in pairs]),
            curve={s: np.mean([time_curve(a, b, s, GRID) for a, b in pairs], 0) for s in SPANS},
            probes=Measurement.of(
                [float(a.probes[part].sum() / b.probes[part].sum()) for a, b in pairs]
            ),
            changes=float(np.mean([run.changes[part].sum() for run in runs])),
            time_model=model.ratio(runs, base),
            half_model=model.half(runs, base),
            curve_model={s: model.curve(*pairs[0], s, GRID) for s in SPANS},
            half_counted=COUNTED.half(runs, base),
        )
