"""The paper's figures, redrawn from our numbers: lines are the model, points are measured."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from papers.base import AllNumbers, Figure, Numbers
from papers.kang.costs import SCALED_KEYS
from papers.measurement import Measurement
from papers.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_RATE_B: Final = "rate of stream B (tuples/s)"
_MARKS: Final = "osD^v"


def _figure_2(canvas: "Canvas", numbers: AllNumbers) -> None:
    _costs(canvas, numbers["figure 2"], stated=70)


def _figure_3(canvas: "Canvas", numbers: AllNumbers) -> None:
    _costs(canvas, numbers["figure 3"], stated=140)


def _costs(canvas: "Canvas", found: Numbers, stated: float) -> None:
    axes = canvas.subplots()
    _lines(axes, found, scale=1e-3)
    _mark(
        axes, found["crossover"], f"HHJ = HNJ at {found['crossover']:.1f}\n(paper: about {stated})"
    )
    axes.set(xlabel=_RATE_B, ylabel="cost (1000 weighted accesses/s)", ylim=(0, None))
    axes.legend(title="model; points: counted", title_fontsize=8.5)


def _figure_4(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 4"]
    model, clock = canvas.subplots(2, 1, sharex=True)
    _lines(model, found, scale=1e-3)
    _mark(model, found["crossover"], f"{found['crossover']:.1f}")
    model.axhline(60, color=COLOURS[5], linestyle=":", label="60 s line of the paper")
    model.set(ylabel="cost\n(1000 accesses/s)", ylim=(0, None))
    model.legend()
    _clock(clock, found)


def _figure_5(canvas: "Canvas", numbers: AllNumbers) -> None:
    found, ratio = numbers["figure 5"], numbers["ratio"]
    paper, ours = canvas.subplots(1, 2)
    paper.plot(found["buckets"], found["model"], color=COLOURS[0], label="Eq. 7, k = 1.3")
    _points(paper, found["buckets"], found["measured"], COLOURS[1], "o", "counted")
    paper.set(xlabel="buckets |B|", ylabel="crossover ratio")
    paper.set_title("paper's costs", fontsize=9.5)
    paper.legend()
    k = f"Eq. 7, k = {ratio['k']:.2g}"
    ours.plot(ratio["buckets"], ratio["predicted"], color=COLOURS[0], label=k)
    linear = ratio["predicted_linear"]
    ours.plot(ratio["buckets"], linear, "--", color=COLOURS[2], label="with fixed costs")
    ours.plot(ratio["buckets"], ratio["crossovers"], "o", color=COLOURS[1], label="our seconds")
    ours.set(xlabel="buckets |B|")
    ours.set_title("our costs (wall clock)", fontsize=9.5)
    ours.legend()


def _figure_6(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 6"]
    model, clock = canvas.subplots(2, 1, sharex=True)
    _lines(model, found, scale=1e-3)
    model.set(ylabel="cost\n(1000 accesses/s)", ylim=(0, None))
    model.legend(ncols=2)
    _clock(clock, found)


def _figure_7(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 7"]
    axes = canvas.subplots()
    _lines(axes, found, scale=1e-3)
    axes.set(xlabel=_RATE_B, ylabel="results (1000/s)", ylim=(0, None))
    axes.legend(title="model; points: virtual time", title_fontsize=8.5)


def _figure_8(canvas: "Canvas", numbers: AllNumbers) -> None:
    _strategies(canvas, numbers["figure 8"])


def _figure_9(canvas: "Canvas", numbers: AllNumbers) -> None:
    _strategies(canvas, numbers["figure 9"])


def _figure_10(canvas: "Canvas", numbers: AllNumbers) -> None:
    _strategies(canvas, numbers["figure 10"])


def _figure_11(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 11"]
    axes = canvas.subplots()
    levels = list(range(11))
    filled = axes.contourf(found["x"], found["held"], found["output"].T, levels, cmap="viridis")
    axes.contour(
        found["x"], found["held"], found["output"].T, levels, colors="white", linewidths=0.5
    )
    for x, held, text in ((0.93, 6, "10"), (0.07, 94, "10"), (0.07, 6, "0"), (0.93, 94, "0")):
        dark = text == "10"
        axes.text(x, held, text, ha="center", va="center", color="black" if dark else "white")
    axes.grid(False)
    axes.set(xlabel="share x of the rate that stream A gets", ylabel="tuples A held of stream A")
    canvas.colorbar(filled, label="results/s")


def _validation(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["validation"]
    axes = canvas.subplots()
    for i, (method, points) in enumerate(found["points"].items()):
        predicted, measured = zip(*points, strict=True)
        axes.plot(
            [1e-3 * ns for ns in predicted], [1e-3 * ns for ns in measured], _MARKS[i],
            color=COLOURS[i], markersize=3, alpha=0.7, label=method,
        )  # fmt: skip
    ends = [1e-3 * edge(ns for p in found["points"].values() for ns, _ in p) for edge in (min, max)]
    axes.plot(ends, ends, color=COLOURS[5], linestyle=":", linewidth=1)
    axes.set(xscale="log", yscale="log", xlabel="predicted (us a batch)", ylabel="measured (us)")
    fit, paper = found["batch_fit"], found["tuple_fit"]
    axes.set_title(
        f"{fit.settings} batches: R\u00b2 {fit.r_squared:.3f} (of logarithms), worst error "
        f"{fit.worst:.0%}, dearest choice +{found['loss']:.0%}\n"
        f"paper's operator, {paper.settings} settings: R\u00b2 {paper.r_squared:.3f}, worst error "
        f"{paper.worst:.0%}",
        fontsize=9,
    )
    axes.legend(title="method", title_fontsize=8.5)


def _lines(axes: "Axes", found: Numbers, scale: float) -> None:
    for i, join in enumerate(found["model"]):
        values = [scale * value for value in found["model"][join]]
        axes.plot(found["rates"], values, color=COLOURS[i], label=join)
        scaled = [_scaled(m, scale) for m in found["measured"][join]]
        _points(axes, found["rates"], scaled, COLOURS[i], _MARKS[i])


def _points(
    axes: "Axes",
    x: Sequence[float],
    measured: Sequence[Measurement],
    colour: str,
    mark: str,
    label: str | None = None,
) -> None:
    bars: Any = [[m.mean - m.low for m in measured], [m.high - m.mean for m in measured]]
    axes.errorbar(
        x, [m.mean for m in measured], bars,
        fmt=mark, color=colour, markersize=4, capsize=3, linewidth=1, label=label,
    )  # fmt: skip


def _clock(axes: "Axes", found: Numbers) -> None:
    """CPU time of this machine: with so many keys that the paper's crossover is to be seen."""
    rates = [10 * ratio for ratio in found["scaled_ratios"]]
    for i, (join, seconds) in enumerate(found["scaled_seconds"].items()):
        values = [1e3 * s for s in seconds]
        axes.plot(rates, values, f"{_MARKS[i]}--", color=COLOURS[i], markersize=4, lw=1, label=join)
    crossover = 10 * found["scaled_crossover"]
    _mark(axes, crossover, f"{crossover:.0f}")
    axes.legend(title=f"{SCALED_KEYS} keys", title_fontsize=8.5, ncols=2)
    axes.set(xlabel=f"{_RATE_B}, if A has 10", ylabel="this machine\n(ms of CPU)", ylim=(0, None))


def _mark(axes: "Axes", rate: float, text: str) -> None:
    axes.axvline(rate, color=COLOURS[5], linestyle=":", linewidth=1)
    axes.annotate(
        text, (rate, 0.02), xycoords=("data", "axes fraction"), xytext=(4, 0),
        textcoords="offset points", va="bottom", fontsize=8.5,
    )  # fmt: skip


def _strategies(canvas: "Canvas", found: Numbers) -> None:
    axes = canvas.subplots()
    splits = list(found["model"])
    y = list(range(len(splits)))[::-1]
    axes.barh(
        y, [found["model"][s] for s in splits], 0.6, color=COLOURS[0], alpha=0.45, label="model"
    )
    measured = [found["measured"][s] for s in splits]
    bars: Any = [[m.mean - m.low for m in measured], [m.high - m.mean for m in measured]]
    axes.errorbar(
        [m.mean for m in measured], y, xerr=bars,
        fmt="o", color=COLOURS[1], markersize=5, capsize=3, label="virtual time",
    )  # fmt: skip
    if found["spark"] is not None:
        axes.plot([found["spark"][s] for s in splits], y, "D", color=COLOURS[3], label="Spark")
    axes.set_yticks(y, [found["names"][s] for s in splits])
    axes.grid(False, axis="y")
    axes.set(xlabel="results/s", xlim=(0, None))
    axes.legend(loc="lower right")


def _scaled(m: Measurement, scale: float) -> Measurement:
    return Measurement(scale * m.mean, scale * m.low, scale * m.high, m.n)


FIGURES: Final = (
    Figure("Figure 2", "Cost of the four joins, 10 keys", ("KAN-C1", "KAN-C4"), _figure_2),
    Figure("Figure 3", "Cost of the four joins, 20 keys", ("KAN-C2", "KAN-C3"), _figure_3),
    Figure("Figure 4", "One-way joins: cost and seconds", ("KAN-C5", "KAN-C8"), _figure_4, 5.0),
    Figure("Figure 5", "Where nested loops begin to win", ("KAN-C7",), _figure_5, 3.3),
    Figure("Figure 6", "The four joins: cost and seconds", ("KAN-C9",), _figure_6, 5.0),
    Figure(
        "Figure 7",
        "Output on a processor of limited speed",
        ("KAN-C10", "KAN-C11", "KAN-C12", "KAN-C13"),
        _figure_7,
    ),
    Figure("Figure 8", "Splits of CPU", ("KAN-C14", "KAN-C15", "KAN-C16"), _figure_8, 3.3),
    Figure(
        "Figure 9",
        "Splits of memory",
        ("KAN-C17", "KAN-C18", "KAN-C19", "KAN-C23"),
        _figure_9,
        3.3,
    ),
    Figure("Figure 10", "Splits of CPU and memory", ("KAN-C20",), _figure_10, 3.3),
    Figure("Figure 11", "Output over all splits", ("KAN-C21",), _figure_11),
    Figure(
        "Model and machine",
        "CPU time of a micro-batch, predicted and measured (wall clock)",
        ("KAN-C6",),
        _validation,
    ),
)
