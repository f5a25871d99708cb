"""The paper's figures, redrawn from our numbers; the other half is in `shedding_figures`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from papers.base import AllNumbers, Figure
from papers.measurement import Measurement
from papers.naeem.design_figures import DESIGN_FIGURES
from papers.naeem.drawing import points
from papers.naeem.runs import Gain
from papers.naeem.shedding_figures import SHEDDING_FIGURES
from papers.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_NAMES: Final = {"mesh": "MESHJOIN", "hybrid": "HYBRIDJOIN", "index": "INLJ"}
_TINTS: Final = {"mesh": 0, "hybrid": 1, "index": 2}
_RATE: Final = "service rate (1000 tuples/s)"


def _rates(axes: "Axes", x: Sequence[float], gains: Mapping[str, Sequence[Gain]]) -> None:
    """Measured rates with (filled) and without (open) a front stage."""
    for name, each in gains.items():
        colour = COLOURS[_TINTS[name]]
        points(axes, x, [g.with_ for g in each], colour, f"C{_NAMES[name]}", scale=1e-3)
        points(axes, x, [g.without for g in each], colour, _NAMES[name], scale=1e-3, plain=True)
    axes.set(ylim=(0, None))
    axes.set_ylabel(_RATE)


def _ratios(axes: "Axes", x: Sequence[float], gains: Mapping[str, Sequence[Gain]]) -> None:
    """Measured advantage as points, the model's as lines."""
    for name, each in gains.items():
        colour = COLOURS[_TINTS[name]]
        axes.plot(x, [g.model for g in each], color=colour, linewidth=1)
        points(axes, x, [g.ratio for g in each], colour, f"C{_NAMES[name]}", line="")
    axes.axhline(1, color=COLOURS[5], linestyle=":")
    axes.set_ylabel("times the rate without\na front stage (line: model)")


def _both(canvas: "Canvas", found: Mapping[str, Any], label: str, scale: float = 1.0) -> None:
    upper, lower = canvas.subplots(2, 1, sharex=True)
    x = [scale * value for value in found["x"]]
    _rates(upper, x, found["gains"])
    _ratios(lower, x, found["gains"])
    upper.legend(ncols=2, fontsize=7.5)
    lower.set_xlabel(label)


def _figure_5a(canvas: "Canvas", numbers: AllNumbers) -> None:
    _both(canvas, numbers["figure 5a"], "memory (% of R)", 100)


def _figure_5b(canvas: "Canvas", numbers: AllNumbers) -> None:
    _both(canvas, numbers["figure 5b"], "tuples of R (millions at the paper's size)")


def _figure_5c(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 5c"]
    axes = canvas.subplots()
    _rates(axes, found["x"], found["gains"])
    axes.set(xlabel="tuples of R (millions at the paper's size)")
    axes.legend()


def _figure_5d(canvas: "Canvas", numbers: AllNumbers) -> None:
    _both(canvas, numbers["figure 5d"], "exponent of Zipf's law")


def _figure_5e(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 5e"]
    plots = canvas.subplots(1, 2, sharey=True)
    for axes, (kind, gains) in zip(plots, found["gains"].items(), strict=True):
        _ratios(axes, [100 * x for x in found["x"]], gains)
        axes.set_title(f"orders: {kind}", fontsize=9.5)
        axes.set(xlabel="memory (% of R)")
    plots[1].set_ylabel("")
    plots[0].legend(fontsize=7.5)


def _figure_5f(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 5f"]
    series = {f"C{_NAMES[name]}": (each, _TINTS[name]) for name, each in found["found"].items()}
    _measured_ratios(canvas, [100 * x for x in found["x"]], series, "memory (% of R)")


def _figure_5g(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 5g"]
    series = {f"memory {m:.0%}": (each, i) for i, (m, each) in enumerate(found["found"].items())}
    _measured_ratios(canvas, found["x"], series, "tuples of a key (N)")


def _measured_ratios(
    canvas: "Canvas",
    x: Sequence[float],
    series: Mapping[str, tuple[Sequence[Mapping[str, Measurement]], int]],
    label: str,
) -> None:
    axes = canvas.subplots()
    for name, (each, tint) in series.items():
        points(axes, x, [m["ratio"] for m in each], COLOURS[tint], name)
    axes.axhline(1, color=COLOURS[5], linestyle=":")
    axes.set(xlabel=label, ylabel="times the rate without a front stage")
    axes.legend()


def _figure_6(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 5b"]
    axes = canvas.subplots()
    for name, each in found["gains"].items():
        colour = COLOURS[_TINTS[name]]
        points(axes, found["x"], [g.fast_s for g in each], colour, f"C{_NAMES[name]}")
        points(axes, found["x"], [g.slow_s for g in each], colour, _NAMES[name], plain=True)
    axes.set(xlabel="tuples of R (millions at the paper's size)", ylim=(0, None))
    axes.set_ylabel("processing time (virtual s)")
    axes.legend()


def _figure_1(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["arithmetic"]
    axes = canvas.subplots()
    names = ["h = 0.51\n(NAE-C24)", "h = 0.78\n(ideal, 10 %)"]
    bounds = list(found["bounds"].values())
    for i, (name, colour) in enumerate((("CINLJ", 2), ("CMESHJOIN", 0))):
        at = [x + 0.3 * i for x in range(len(names))]
        axes.bar(at, [pair[i] for pair in bounds], 0.28, color=COLOURS[colour], label=name)
    axes.axhline(6.5, color=COLOURS[3], linestyle=":", label="stated for CMESHJOIN: 6.5")
    axes.set_xticks([0.15, 1.15], names)
    axes.set(ylabel="largest advantage of a front stage")
    axes.legend(fontsize=7.5)


FIGURES: Final = (
    Figure("Bounds", "What a front stage can give at the paper's size (11.18 GB)",
           ("NAE-C1", "NAE-C2", "NAE-C3"), _figure_1, 3.0),
    Figure("Figure 5(a)", "Memory", ("NAE-C4",), _figure_5a, 5.0),
    Figure("Figure 5(b)", "Size of R", ("NAE-C5",), _figure_5b, 5.0),
    Figure("Figure 5(c)", "Index nested loops", ("NAE-C6",), _figure_5c, 3.0),
    Figure("Figure 5(d)", "Skew", ("NAE-C7", "NAE-C8", "NAE-C9"), _figure_5d, 5.0),
    Figure("Figure 5(e)", "TPC-H", ("NAE-C10",), _figure_5e, 3.2),
    Figure("Figure 5(f)", "Cloud reports", ("NAE-C11",), _figure_5f, 3.0),
    Figure("Figure 5(g)", "Temporal locality, CMESHJOIN", ("NAE-C12",), _figure_5g, 3.0),
    Figure("Figure 6", "Processing time", ("NAE-C13",), _figure_6, 3.4),
    *SHEDDING_FIGURES,
    *DESIGN_FIGURES,
)  # fmt: skip
