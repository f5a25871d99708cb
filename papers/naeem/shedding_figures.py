"""Figures 4, 7 and 8, Lemma 1 and the partitions, redrawn."""

from typing import TYPE_CHECKING, Final

from papers.base import AllNumbers, Figure
from papers.naeem.drawing import points
from papers.naeem.shedding_runs import VARIANTS
from papers.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_LOAD: Final = "arrival rate over the capacity"
_SERVED: Final = "service rate over the capacity"


def _figure_4(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 4"]
    axes = canvas.subplots()
    axes.plot(found["loads"], found["loads"], color=COLOURS[5], linestyle=":", label="arrival rate")
    points(axes, found["loads"], found["served"], COLOURS[0], "service rate")
    axes.axvline(1, color=COLOURS[3], linestyle=":", label="shedding point")
    axes.set(xlabel=_LOAD, ylabel=_SERVED)
    axes.legend()


def _lemma(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["queue"]
    axes = canvas.subplots()
    x = [(i + 0.5) * 100 / found["bins"] for i in range(found["bins"])]
    for i, (name, each) in enumerate(found["found"].items()):
        points(axes, x, each, COLOURS[i], name)
    axes.set(xlabel="position in the queue (%), newest first")
    axes.set_ylabel("stream probability of the\npartition, over the mean")
    axes.legend(fontsize=7)


def _partitions(canvas: "Canvas", numbers: AllNumbers) -> None:
    axes = canvas.subplots()
    for i, (name, shares) in enumerate(numbers["partitions"]["sorted"].items()):
        ranks = range(1, len(shares) + 1)
        axes.plot(ranks, shares, color=COLOURS[i], linewidth=1.2, label=name)
    axes.set(xscale="log", yscale="log", xlabel="partition, by stream probability")
    axes.set_ylabel("probability over the mean")
    axes.legend(fontsize=7.5)


def _figure_7(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 7"]
    axes = canvas.subplots()
    x = [100 * position for position in found["positions"]]
    for i, (name, each) in enumerate(found["found"].items()):
        points(axes, x, each["rate"], COLOURS[i], name)
    axes.axvline(15, color=COLOURS[5], linestyle=":")
    axes.set(xlabel="look-up position (%), from the newest; paper's best: 15", ylabel=_SERVED)
    axes.legend(fontsize=7.5)


def _figure_8(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 8"]
    upper, lower = canvas.subplots(2, 1, sharex=True)
    upper.plot(
        found["loads"], found["loads"], color=COLOURS[5], linestyle=":", label="arrival rate"
    )
    for i, name in enumerate(VARIANTS):
        points(upper, found["loads"], found["rates"][name], COLOURS[i], name)
    others = [name for name in found["rates"] if name not in VARIANTS]
    for i, name in enumerate(others):
        points(lower, found["loads"], found["rates"][name], COLOURS[i], name)
    upper.set(ylabel=_SERVED)
    lower.set(xlabel=_LOAD, ylabel=_SERVED)
    upper.legend(fontsize=7.5)
    lower.legend(fontsize=7.5)


SHEDDING_FIGURES: Final = (
    Figure("Figure 4", "Arrival rate and service rate", ("NAE-C14",), _figure_4, 3.0),
    Figure("Lemma 1", "Who waits where in the queue", ("NAE-C15",), _lemma, 3.4),
    Figure("Partitions", "Stream probability, ranks scattered and clustered", ("NAE-C17",),
           _partitions, 3.2),
    Figure("Figure 7", "Look-up position under shedding", ("NAE-C18",), _figure_7, 3.4),
    Figure("Figure 8", "Service rate under shedding", ("NAE-C16", "NAE-C19", "NAE-C20"), _figure_8,
           5.2),
)  # fmt: skip
