"""The paper's figures, redrawn from our numbers: lines are the model, points are measured.

Figures over time (3, 4, 6 and 7) show the mean over seeds.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from papers.base import AllNumbers, Figure
from papers.gedik.basic_window_runs import INDEXED, LISTS, Lengths
from papers.gedik.densities import FloatArray
from papers.gedik.quality_figures import QUALITY_FIGURES
from papers.gedik.workload import NAMES
from papers.measurement import Measurement
from papers.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_MARKS: Final = "osD^v"
_TINT: Final = {"drop": 5, "ra": 3, "ra+tc": 1, "ra+tc+jd": 0, "best": 2}
"""Each policy has its colour in all figures."""
_KAPPA: Final = "skew of the items (kappa)"


def _figure_1(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 1"]
    plots = canvas.subplots(1, 2, sharey=True)
    for i, case in enumerate(("I", "II")):
        axes = plots[i]
        density, kept = found["density"][case], found["reduced"][case]["kept"]
        axes.plot(found["ages"], density, color=COLOURS[i])
        axes.axvline(20 * kept, color=COLOURS[5], linestyle=":")
        axes.annotate(
            "kept until here", (20 * kept, 0.97), xycoords=("data", "axes fraction"),
            xytext=(4 if case == "I" else -4, 0), textcoords="offset points", va="top",
            ha="left" if case == "I" else "right", fontsize=8.5,
        )  # fmt: skip
        axes.set(xlabel="age (s)", ylim=(0, None))
        axes.set_title(f"case {case}", fontsize=9.5)
        if not i:
            axes.set_ylabel("match probability")


def _figure_2(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 2"]["densities"]
    plots = canvas.subplots(1, 2)
    for i, skew in enumerate(found):
        axes = plots[i]
        for side, name in enumerate(("in W_1", "in W_2")):
            ages = np.arange(len(found[skew]["model"][side]))
            model = 1e3 * np.asarray(found[skew]["model"][side])
            axes.plot(ages, model, color=COLOURS[side], label=name)
            measured = [_scaled(m, 1e3) for m in found[skew]["measured"][side]]
            _points(axes, ages, measured, COLOURS[side], _MARKS[side])
        axes.set(xlabel="age (s)", ylim=(0, None))
        axes.set_title(f"kappa = {skew}", fontsize=9.5)
        if not i:
            axes.set_ylabel("matches per 1000 comparisons")
            axes.legend()


def _figure_3(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 4"]
    _fractions(canvas, found["arrived"], {"r": found["fraction"]})


def _figure_4(canvas: "Canvas", numbers: AllNumbers) -> None:
    _over_time(canvas, numbers["figure 4"]["outputs"])


def _figure_5(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 5"]
    output, gain = canvas.subplots(2, 1, sharex=True)
    for i, (window, each) in enumerate(found["measured"].items()):
        _points(output, found["skews"], each["ra"], COLOURS[i], "o-", f"RA, {window:g} s")
        _points(output, found["skews"], each["drop"], COLOURS[i], "x:", "random drop")
        _points(gain, found["skews"], each["gain"], COLOURS[i], "o-")
    output.set(ylabel="results/s", ylim=(0, None))
    output.legend(ncols=3, fontsize=7.5)
    gain.axhline(1, color=COLOURS[5], linestyle=":")
    gain.set(xlabel=_KAPPA, ylabel="RA over\nrandom drop")


def _figure_6(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 7"]
    r_1, r_2 = found["fractions"].T
    _fractions(canvas, found["arrived"], {"r_1": r_1, "r_2": r_2})


def _figure_7(canvas: "Canvas", numbers: AllNumbers) -> None:
    _over_time(canvas, numbers["figure 7"]["outputs"])


def _figure_8(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 8"]
    axes = canvas.subplots()
    for i, (policy, measured) in enumerate(found["average"].items()):
        colour = COLOURS[_TINT[policy]]
        _points(axes, found["skews"], measured, colour, f"{_MARKS[i]}-", NAMES[policy])
    axes.set(xlabel=_KAPPA, ylabel="results/s", ylim=(0, None))
    axes.legend()


def _figure_9(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 9"]
    left, right = canvas.subplots(1, 2)
    for i, (skew, measured) in enumerate(found["left"].items()):
        _by_length(left, LISTS, measured, i, f"kappa {skew}")
    for i, (index, measured) in enumerate(found["right"].items()):
        _by_length(right, INDEXED, measured, i, index.removeprefix("inverted-") + "-sorted")
    left.set(ylabel="results/s", ylim=(0, None))
    right.set_ylim(0, None)
    left.set_title("lists, 20 s", fontsize=9.5)
    right.set_title("indexes, 200 s, kappa 0.8", fontsize=9.5)


def _by_length(
    axes: "Axes", lengths: Lengths, measured: Sequence[Measurement], i: int, label: str
) -> None:
    places = list(range(len(lengths)))
    _points(axes, places, measured, COLOURS[i], f"{_MARKS[i]}-", label)
    names = ["none" if b is None else f"{b:g}" for b in lengths]
    axes.set_xticks(places, names, fontsize=8)
    axes.set_xlabel("basic window (s)")
    axes.legend(fontsize=7.5)


def _fractions(canvas: "Canvas", arrived: FloatArray, parts: Mapping[str, FloatArray]) -> None:
    axes = canvas.subplots()
    seconds = np.arange(len(arrived))
    axes.step(seconds, arrived.mean(axis=1), color=COLOURS[5], linewidth=1, label="rate")
    axes.set(xlabel="time (s)", ylabel="tuples/s of each stream", ylim=(0, None))
    part = axes.twinx()
    for i, (name, values) in enumerate(parts.items()):
        part.step(seconds, values, color=COLOURS[i], where="post", label=name)
    part.set(ylabel="fraction", ylim=(0, 1.05))
    part.grid(False)
    part.spines["right"].set_visible(True)
    canvas.legend(loc="outside upper center", ncols=3)


def _over_time(canvas: "Canvas", outputs: Mapping[str, FloatArray]) -> None:
    axes = canvas.subplots()
    for policy, series in outputs.items():
        whole = series[: len(series) // 5 * 5].reshape(-1, 5).mean(axis=1)
        seconds = 5 * np.arange(len(whole)) + 2.5
        tint = COLOURS[_TINT[policy]]
        axes.plot(seconds, whole, "o-", color=tint, markersize=3, label=NAMES[policy])
    axes.set(xlabel="time (s), means of 5 s", ylabel="results/s", ylim=(0, None))
    axes.legend()


def _points(
    axes: "Axes",
    x: Any,
    measured: Sequence[Measurement],
    colour: str,
    style: str,
    label: str | None = None,
) -> None:
    bars: Any = [[m.mean - m.low for m in measured], [m.high - m.mean for m in measured]]
    axes.errorbar(
        x, [m.mean for m in measured], bars,
        fmt=style, color=colour, markersize=4, capsize=3, linewidth=1, label=label,
    )  # fmt: skip


def _scaled(m: Measurement, scale: float) -> Measurement:
    return Measurement(scale * m.mean, scale * m.low, scale * m.high, m.n)


FIGURES: Final = (
    Figure("Figure 1", "Where matches are, and window reduction", ("GED-C1",), _figure_1, 2.8),
    Figure("Figure 2", "Match density by age, S_2 late by 5/8 of a cycle", ("GED-C3",), _figure_2),
    Figure("Figure 3", "Rates and fraction r", ("GED-C4",), _figure_3, 3.3),
    Figure("Figure 4", "Output with rate adaptation", ("GED-C5", "GED-C2"), _figure_4),
    Figure("Figure 5", "Output against skew and window", ("GED-C6",), _figure_5, 5.0),
    Figure("Figure 6", "Rates and fractions r_1 and r_2", ("GED-C7",), _figure_6, 3.3),
    Figure("Figure 7", "Output of each adaptation", ("GED-C8", "GED-C13"), _figure_7),
    Figure("Figure 8", "Output against skew, overlap of 4", ("GED-C9",), _figure_8),
    Figure(
        "Figure 9",
        "Output against the length of basic windows",
        ("GED-C10", "GED-C11", "GED-C12"),
        _figure_9,
        3.3,
    ),
    *QUALITY_FIGURES,
)
