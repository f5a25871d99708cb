"""Figure 9, redrawn, and what the front stage caches."""

from typing import TYPE_CHECKING, Final

from papers.base import AllNumbers, Figure
from papers.naeem.drawing import points
from papers.operators.semi_stream_settings import ADMISSIONS
from papers.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_RATE: Final = "service rate (1000 tuples/s)"


def _figure_9a(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 9a"]
    plots = canvas.subplots(1, 2)
    x = [100 * share for share in found["x"]]
    for i, (axes, memory) in enumerate(zip(plots, found["rates"], strict=True)):
        axes.plot(x, [1e-3 * rate for rate in found["model"][memory]], color=COLOURS[i])
        points(axes, x, found["rates"][memory], COLOURS[i], "", scale=1e-3, line="")
        axes.axvline(15, color=COLOURS[5], linestyle=":")
        axes.set(xlabel="front stage (% of memory)", ylim=(0, None))
        axes.set_title(f"memory {memory:.0%} of R", fontsize=9.5)
    plots[0].set_ylabel(_RATE)


def _figure_9b(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 9b"]
    axes = canvas.subplots()
    points(axes, found["x"], found["rates"], COLOURS[0], "front stage", scale=1e-3)
    axes.axvline(10, color=COLOURS[5], linestyle=":")
    axes.set(xlabel="threshold", ylabel=_RATE, ylim=(0, None))


def _figure_9c(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 9c"]
    axes = canvas.subplots()
    x = [100 * share for share in found["x"]]
    axes.plot(x, [1e-3 * rate for rate in found["model"]], color=COLOURS[0], label="model")
    points(axes, x, found["rates"], COLOURS[1], "measured", scale=1e-3, line="")
    axes.set(xscale="log", xlabel="disk buffer (% of memory)", ylabel=_RATE, ylim=(0, None))
    axes.legend()


def _figure_9d(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 9d"]
    bars = {
        "paper": 0.51, "measured": found["hits"].mean, "ideal": found["ideal"],
        "ideal, paper's size": numbers["arithmetic"]["hits"][1_500_000],
    }  # fmt: skip
    axes = canvas.subplots()
    axes.bar(list(bars), list(bars.values()), 0.5, color=COLOURS[: len(bars)])
    axes.set(ylabel="share of the stream", ylim=(0, 1))


def _figure_9e(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 9e"]
    axes = canvas.subplots()
    series = found["series"]
    axes.plot([i / len(series) for i in range(len(series))], [1e-3 * r for r in series],
              color=COLOURS[0], label="CMESHJOIN")  # fmt: skip
    for (name, steady), colour in zip(found["steady"].items(), (2, 1), strict=True):
        axes.axhline(1e-3 * steady.mean, color=COLOURS[colour], linestyle=":",
                     label=f"steady, {name}")  # fmt: skip
    axes.axvline(0.5, color=COLOURS[3], linestyle=":", label="R is doubled")
    axes.set(xlabel="share of the stream", ylabel=_RATE, ylim=(0, None))
    axes.legend(fontsize=7.5)


def _figure_9f(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 9f"]["found"]
    axes = canvas.subplots()
    y = list(range(len(found)))[::-1]
    axes.plot([each["model"] for each in found.values()], y, "D", color=COLOURS[1],
              label="calculated", markersize=7, markerfacecolor="none")  # fmt: skip
    axes.plot([each["measured"].mean for each in found.values()], y, "o", color=COLOURS[0],
              label="measured", markersize=4)  # fmt: skip
    axes.set_yticks(y, list(found))
    axes.set(xscale="log", xlabel="virtual microseconds for a stream tuple")
    axes.legend()


def _admission(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["admission"]["found"]
    large = {key: each for key, each in found.items() if key[1] == 0.1}
    axes = canvas.subplots()
    y = list(range(len(large)))[::-1]
    for i, name in enumerate(ADMISSIONS):
        means = [each[name].mean for each in large.values()]
        axes.plot(means, y, "oDs"[i], color=COLOURS[i], label=name, markersize=5)
    axes.set_yticks(y, [f"{join}, {change}" for join, _, change in large])
    axes.set(xlabel="hit share, memory 10 %")
    axes.legend(fontsize=7.5)


DESIGN_FIGURES: Final = (
    Figure("Figure 9(a)", "Size of the front stage", ("NAE-C21",), _figure_9a, 3.2),
    Figure("Figure 9(b)", "Threshold", ("NAE-C22",), _figure_9b, 3.0),
    Figure("Figure 9(c)", "Disk buffer", ("NAE-C23",), _figure_9c, 3.0),
    Figure("Figure 9(d)", "Role of the front stage", ("NAE-C24",), _figure_9d, 3.0),
    Figure("Figure 9(e)", "R grows while the join runs", ("NAE-C25",), _figure_9e, 3.2),
    Figure("Figure 9(f)", "Calculated and measured cost", ("NAE-C26",), _figure_9f, 3.2),
    Figure("Admission", "What is cached when popularity changes", (), _admission, 4.6),
)
