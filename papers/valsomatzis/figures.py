"""The paper's figures, redrawn from our numbers: lines are the model, points are measured."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from papers.base import AllNumbers, Figure
from papers.measurement import Measurement
from papers.plots import COLOURS
from papers.valsomatzis.comparison import GRID, Span
from papers.valsomatzis.locality_runs import Sized
from papers.valsomatzis.nary_streams import DATA_SETS, DataSet
from papers.valsomatzis.parts import cases, of
from papers.valsomatzis.printed import HALVES, PERIODS, TIMES
from papers.valsomatzis.workload import NAMES
from streamjoin.planning.many.nary import Order

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_TINT: Final[dict[Order, str]] = {
    "timestamp": COLOURS[5],
    "round-robin": COLOURS[4],
    "consumption-rate": COLOURS[1],
    "initial-output-size": COLOURS[0],
    "output-rate": COLOURS[2],
}
"""Each order has its colour in all figures."""
_MARK: Final[dict[Order, str]] = dict(zip(_TINT, "osD^v", strict=True))


def _figure_5(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["arrivals"]
    plots = canvas.subplots(2, 3, sharex=True)
    for axes, name in zip(plots.flat, DATA_SETS, strict=True):
        for j, rate in enumerate(found["rates"][name]):
            label = f"S{j + 1}" if name == "I" else None
            axes.step(found["times"] / 1e6, rate, color=COLOURS[j], linewidth=0.9, label=label)
        if name in ("IV", "V", "VI"):
            axes.set_yscale("symlog", linthresh=0.2)
        axes.set_ylim(0, None)
        axes.set_title(name, fontsize=9)
    canvas.supxlabel("time units (millions)", fontsize=9)
    canvas.supylabel("tuples a time unit", fontsize=9)
    canvas.legend(loc="outside upper center", ncols=3)


def _curves(canvas: "Canvas", numbers: AllNumbers, sets: tuple[DataSet, ...], span: Span) -> None:
    plots = canvas.subplots(2, 3, sharex=True, sharey=True)
    for row, period in enumerate(PERIODS):
        for column, name in enumerate(sets):
            axes = plots[row, column]
            for order, each in of(numbers, name, period).items():
                tint = _TINT[order]
                axes.plot(GRID, each.curve_model[span], color=tint, linewidth=0.9)
                axes.plot(
                    GRID[::4], each.curve[span][::4], _MARK[order], color=tint, markersize=2.5
                )
            axes.set_title(f"{name}, {period}", fontsize=9)
    canvas.supxlabel("time, timestamp order's being 1", fontsize=9)
    canvas.supylabel("share of the results", fontsize=9)
    _legend(canvas, list(of(numbers, sets[-1], "1M")))


def _legend(canvas: "Canvas", orders: list[Order]) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D([], [], color=_TINT[order], marker=_MARK[order], markersize=3, label=NAMES[order])
        for order in orders
    ]
    canvas.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=7.5)


def _figure_6(canvas: "Canvas", numbers: AllNumbers) -> None:
    _curves(canvas, numbers, ("I", "II", "III"), "all")


def _figure_7(canvas: "Canvas", numbers: AllNumbers) -> None:
    _curves(canvas, numbers, ("IV", "V", "VI"), "first")


def _figure_8(canvas: "Canvas", numbers: AllNumbers) -> None:
    _curves(canvas, numbers, ("IV", "V", "VI"), "second")


def _table_4(canvas: "Canvas", numbers: AllNumbers) -> None:
    """Measured against printed: who sees what the authors saw is on the dotted line."""
    axes = canvas.subplots()
    for order, printed in TIMES.items():
        found = cases(numbers, order)
        ours = [each.time["all"] for each in found.values()]
        _bars(axes, [printed[case] for case in found], ours, order, NAMES[order])
    _diagonal(axes, (0.5, 1.15), "running time")


def _table_5(canvas: "Canvas", numbers: AllNumbers) -> None:
    axes = canvas.subplots()
    for order, printed in HALVES.items():
        found = cases(numbers, order)
        axes.plot(
            [printed[case] for case in found], [each.half.mean for each in found.values()],
            _MARK[order], color=_TINT[order], markersize=4, label=NAMES[order],
        )  # fmt: skip
    _diagonal(axes, (0.0, 1.0), "results by half of the time")


def _diagonal(axes: "Axes", bounds: tuple[float, float], what: str) -> None:
    axes.plot(bounds, bounds, color=COLOURS[5], linestyle=":")
    axes.set(xlabel=f"{what}, printed", ylabel=f"{what}, here")
    axes.legend(fontsize=7.5)


def _sizes(canvas: "Canvas", numbers: AllNumbers) -> None:
    sized: list[Sized] = numbers["locality"]["sized"]
    megabytes = [each.megabytes for each in sized]
    axes = canvas.subplots()
    _bars(axes, megabytes, [each.round_robin for each in sized], "round-robin", "round-robin")
    _bars(axes, megabytes, [each.drained for each in sized], "initial-output-size", "drained")
    axes.axhline(1, color=COLOURS[5], linestyle=":")
    axes.set(xlabel="all tables (MB)", ylabel="time, timestamp order's being 1", xscale="log")
    axes.legend()


def _bars(
    axes: "Axes", x: Sequence[float], found: Sequence[Measurement], order: Order, label: str
) -> None:
    bars = np.array([[m.mean - m.low for m in found], [m.high - m.mean for m in found]])
    axes.errorbar(
        x, [m.mean for m in found], bars,
        fmt=_MARK[order], color=_TINT[order], markersize=4, capsize=2, linewidth=0.8, label=label,
    )  # fmt: skip


FIGURES: Final = (
    Figure("Figure 5", "Arrival rates of the data sets", ("VAL-C12",), _figure_5),
    Figure("Figure 6", "Results by time, data sets I to III", ("VAL-C3",), _figure_6, 4.4),
    Figure(
        "Figure 7",
        "Results by time, first half of the batches of IV to VI",
        ("VAL-C4", "VAL-C5"),
        _figure_7,
        4.4,
    ),
    Figure(
        "Figure 8",
        "Results by time, second half of the batches of IV to VI",
        ("VAL-C6",),
        _figure_8,
        4.4,
    ),
    Figure(
        "Table 4",
        "Running time over timestamp order's, here against printed",
        ("VAL-C1", "VAL-C7", "VAL-C8", "VAL-C11"),
        _table_4,
    ),
    Figure(
        "Table 5",
        "Results by half of the time, here against printed",
        ("VAL-C2", "VAL-C10"),
        _table_5,
    ),
    Figure(
        "Causes", "Draining and taking turns by the size of the tables", ("VAL-C9",), _sizes, 3.3
    ),
)
