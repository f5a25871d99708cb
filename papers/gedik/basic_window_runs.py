"""Figure 9: output against the length of basic windows, without and with indexes."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from papers.base import Context, Numbers
from papers.gedik.workload import ADAPTATION, CAPACITY, Seconds, Setting, results
from papers.measurement import Measurement
from papers.operators.selective_settings import Index, ProbeCosts

Lengths = tuple[float | None, ...]
"""Basic windows in seconds; None is no basic windows."""

LISTS: Final[Lengths] = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, None)
INDEXED: Final[Lengths] = (0.25, 1.0, 4.0, 10.0, 50.0, 200.0, None)
"""For windows of 200 s."""
LOOK_UP: Final = 5.0
"""To find a list costs as much as to walk this many of its entries (GED-C11; our choice)."""
SORTED: Final[tuple[Index, ...]] = ("inverted-time", "inverted-identifier")


def figure_9(context: Context) -> Numbers:
    """Average output at a constant rate, by length of the basic windows."""
    skews = (0.8,) if context.quick else (0.4, 0.6, 0.8)
    left = {}
    for skew in skews:
        context.progress(f"lists, kappa {skew}")
        setting = Setting(skew=skew, rates=((70.0, 500.0),))
        left[skew] = _by_length(setting, LISTS, context.seeds[:3], (30, 70))
    right = {}
    for index in SORTED:
        context.progress(index)
        right[index] = _indexed(context, index)
    return {"left": left, "right": right}


def _indexed(context: Context, index: Index) -> list[Measurement]:
    """A quick run has a tenth of the paper's windows, basic windows, look-ups and capacity."""
    share = 0.1 if context.quick else 1.0
    setting = Setting(
        skew=0.8,
        window_s=200.0 * share,
        rates=((240.0 * share + 20, 500.0),),
        capacity=2 * CAPACITY * share,
        index=index,
        costs=ProbeCosts(look_up=LOOK_UP * share, adaptation=ADAPTATION),
    )
    lengths = tuple(None if length is None else length * share for length in INDEXED)
    span = round(210 * share), round(240 * share + 20)
    return _by_length(setting, lengths, context.seeds[: 1 if context.quick else 3], span)


def _by_length(
    setting: Setting, lengths: Lengths, seeds: Sequence[int], span: Seconds
) -> list[Measurement]:
    runs = [
        [replace(setting, basic_s=length).run("ra+tc+jd", seed) for length in lengths]
        for seed in seeds
    ]
    return [
        Measurement.of([results(run, span) for run in each]) for each in zip(*runs, strict=True)
    ]
