"""Figures beyond the paper's: overload of every kind, and quality against the possible."""

from typing import TYPE_CHECKING, Any, Final

from streamjoin.joins.selective_settings import Policy
from streamjoin.repro.base import AllNumbers, Figure
from streamjoin.repro.gedik.optimum import PROMISED, Quality
from streamjoin.repro.gedik.workload import NAMES
from streamjoin.repro.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_COLOURS: Final = {"best": 2, "ra+tc+jd": 0, "ra+tc": 1, "drop": 5}


def _overload(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["overload"]
    bars = {name: found["scenarios"][name] for name in found["scenarios"]}
    bars |= {f"{capacity / 1e6:g} million/s": m for capacity, m in found["capacities"].items()}
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
    plots = canvas.subplots(1, len(PROMISED) + 1, sharey=True)
    policies: tuple[Policy, ...] = ("best", "ra+tc+jd", "drop")
    for axes, policy in zip(plots, policies, strict=True):
        for i, skew in enumerate(skews):
            each = [quality for quality in found if quality.skew == skew]
            x = [quality.fraction for quality in each]
            y = [quality.shares[policy].mean for quality in each]
            axes.plot(x, y, "o-", color=COLOURS[i], markersize=3, linewidth=1, label=f"{skew:g}")
        if policy in PROMISED:
            axes.axhline(PROMISED[policy], color=COLOURS[5], linestyle=":")
        axes.set(xlabel="r", ylim=(0, 1.1))
        axes.set_title(NAMES[policy], fontsize=9.5)
    plots[0].set_ylabel("share of the informed optimum")
    plots[-1].legend(title="kappa", fontsize=7, title_fontsize=7.5)


def _two_way(canvas: "Canvas", numbers: AllNumbers) -> None:
    found: list[Quality] = numbers["optimum"]["two_way"]
    axes = canvas.subplots()
    for policy, colour in _COLOURS.items():
        _line(axes, found, policy, COLOURS[colour])
    axes.set(xlabel="fraction of comparisons (r)", ylim=(0, 1.1))
    axes.set_ylabel("share of the informed optimum")
    axes.legend()


def _line(axes: "Axes", found: list[Quality], policy: Any, colour: str) -> None:
    shares = [quality.shares[policy] for quality in found]
    bars: Any = [[m.mean - m.low for m in shares], [m.high - m.mean for m in shares]]
    axes.errorbar(
        [quality.fraction for quality in found], [m.mean for m in shares], bars,
        fmt="o-", color=colour, markersize=4, capsize=3, linewidth=1, label=NAMES[policy],
    )  # fmt: skip


QUALITY_FIGURES: Final = (
    Figure("Overload", "Against random drop, whatever the cause", ("GED-C14",), _overload),
    Figure("Quality", "What is reached of what is possible", (), _shares, 3.3),
    Figure("Two-way traffic", "Both windows have a productive part", (), _two_way, 3.3),
)
