"""Runs of a setting over seeds, and what a front stage gives."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from papers.base import Context
from papers.measurement import Measurement
from papers.naeem.workload import Setting, measured
from papers.operators.semi_stream import Totals
from papers.operators.semi_stream_costs import most_speed_up


def measure(context: Context, setting: Setting) -> list[Totals]:
    """One run for each seed."""
    return [measured(setting, seed) for seed in context.seeds]


def mean(runs: Sequence[Totals], value: Callable[[Totals], float]) -> Measurement:
    """Something of each run, over seeds."""
    return Measurement.of([value(run) for run in runs])


def rates(runs: Sequence[Totals]) -> Measurement:
    """Service rates."""
    return mean(runs, lambda run: run.service_rate)


def ratio(one: Sequence[Totals], other: Sequence[Totals]) -> Measurement:
    """Service rate of one over that of the other, each seed for itself."""
    pairs = zip(one, other, strict=True)
    return Measurement.of([a.service_rate / b.service_rate for a, b in pairs])


@dataclass(frozen=True)
class Gain:
    """What a front stage gives.

    Parameters
    ----------
    ratio
        Service rate with it over that without.
    model
        The same by the cost model, with an ideal cache.
    most
        The bound for a join that only waits for the disk, at the hit share that was measured.
    hits, ideal
        Share of the stream that the front stage served, and that of an ideal cache.
    without, with_
        The rates.
    slow_s, fast_s
        Mean processing time without and with it.
    """

    ratio: Measurement
    model: float
    most: float
    hits: Measurement
    ideal: float
    without: Measurement
    with_: Measurement
    slow_s: Measurement
    fast_s: Measurement

    @classmethod
    def of(cls, context: Context, setting: Setting) -> "Gain":
        """Run a setting with and without its front stage."""
        plain = setting.uncached()
        before, after = measure(context, plain), measure(context, setting)
        hits = mean(after, lambda run: run.hit_share)
        return cls(
            ratio=ratio(after, before),
            model=setting.model().service_rate / plain.model().service_rate,
            most=most_speed_up(setting.back_end, hits.mean, setting.front_share),
            hits=hits,
            ideal=setting.ideal_hits,
            without=rates(before),
            with_=rates(after),
            slow_s=mean(before, lambda run: run.processing_s),
            fast_s=mean(after, lambda run: run.processing_s),
        )
