"""Figures beyond the paper's: overload of every kind, and quality against the possible."""

from typing import TYPE_CHECKING, Any, Final

from papers.base import AllNumbers, Figure
from papers.gedik.optimum import (
    BEST,
    DROP,
    ONE_WINDOW_EACH,
    PAPERS,
    PROMISED,
    REMEMBERING,
    Quality,
    Variant,
)
from papers.gedik.workload import NAMES
from papers.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_TINTS: Final = {BEST: 2, REMEMBERING: 4, PAPERS: 0, ONE_WINDOW_EACH: 1, DROP: 5}


def _overload(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["overload"]
    bars = {**found["scenarios"]}
    bars |= {f"shift {shift:g} cycles": m for shift, m in found["shifts"].items()}
    axes = canvas.subplots()
    y = list(range(len(bars)))[::-1]
    means = [m.mean for m in bars.values()]
    spread: Any = [
        [m.mean - m.low for m in bars.values()],
        [m.high - m.mean for m in bars.values()],
    ]
    axes.errorbar(means, y, xerr=spread, fmt="o", color=COLOURS[0], capsize=3, markersize=5)
    axes.axvline(1, color=COLOURS[5], linestyle=":")
    axes.set_yticks(y, list(bars))
    axes.grid(False, axis="y")
    axes.set(xlabel="results of RA+TC+JD over those of random drop", xlim=(0.9, None))


def _shares(canvas: "Canvas", numbers: AllNumbers) -> None:
    found: list[Quality] = numbers["optimum"]["qualities"]
    skews = sorted({quality.skew for quality in found})
    plots = canvas.subplots(2, 2, sharex=True, sharey=True).ravel()
    for axes, variant in zip(plots, (BEST, REMEMBERING, PAPERS, DROP), strict=True):
        for i, skew in enumerate(skews):
            each = [quality for quality in found if quality.skew == skew]
            _line(axes, each, variant, COLOURS[i], f"{skew:g}")
        if variant in PROMISED:
            axes.axhline(PROMISED[variant], color=COLOURS[5], linestyle=":")
        axes.set(ylim=(0, 1.1))
        axes.set_title(_name(variant), fontsize=9.5)
    canvas.supxlabel("fraction of comparisons (r)", fontsize=9.5)
    canvas.supylabel("share of the informed optimum", fontsize=9.5)
    plots[-1].legend(title="kappa", fontsize=7.5, title_fontsize=8, ncols=2)


def _two_way(canvas: "Canvas", numbers: AllNumbers) -> None:
    found: list[Quality] = numbers["optimum"]["two_way"]
    axes = canvas.subplots()
    for variant, colour in _TINTS.items():
        _line(axes, found, variant, COLOURS[colour], _name(variant))
    axes.set(xlabel="fraction of comparisons (r)", ylim=(0, 1.1))
    axes.set_ylabel("share of the informed optimum")
    axes.legend()


def _line(axes: "Axes", found: list[Quality], variant: Variant, colour: str, label: str) -> None:
    shares = [quality.shares[variant] for quality in found]
    bars: Any = [[m.mean - m.low for m in shares], [m.high - m.mean for m in shares]]
    axes.errorbar(
        [quality.fraction for quality in found], [m.mean for m in shares], bars,
        fmt="o-", color=colour, markersize=3, capsize=2, linewidth=1, label=label,
    )  # fmt: skip


def _name(variant: Variant) -> str:
    policy, memory = variant
    return NAMES[policy] + (f", memory {memory:g}" if memory else "")


QUALITY_FIGURES: Final = (
    Figure("Overload", "Against random drop, whatever the cause", ("GED-C14",), _overload),
    Figure("Quality", "What is reached of what is possible", (), _shares, 4.6),
    Figure("Two-way traffic", "Both windows have a productive part", (), _two_way, 3.3),
)
