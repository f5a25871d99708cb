"""The paper's figures, redrawn from our numbers, and those of the solvers.

Lines without marks are the model, points are measured.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from papers.base import AllNumbers, Figure, Numbers
from papers.jaqpot.resource_runs import SHARES
from papers.jaqpot.sensor_runs import LIMITS
from papers.jaqpot.solver_runs import BUDGETS, PLANS, Gap
from papers.jaqpot.tables import TIMED
from papers.jaqpot.workload import COMPARED, FRESHNESS, NAMES
from papers.measurement import Measurement
from papers.plots import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_TINT: Final = {
    "jaqpot": 0, "grepp": 5, "equal-hj": 1, "global-hjpr": 2, "e-best-hjp": 3, "s-best-hjp": 4,
}  # fmt: skip
"""Each planner has its colour in all figures."""
_MARKS: Final = "osD^vP"


def _figure_6(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 6"]
    plots = canvas.subplots(1, 2)
    minutes = np.arange(1, found["seconds"] + 1) * 10 / found["seconds"]
    for axes, (mark, shape) in zip(plots, (("a", "linear"), ("b", "bushy")), strict=True):
        for planner, series in found[shape]["cumulative"].items():
            axes.plot(minutes, series / 1e6, color=_colour(planner), label=NAMES[planner])
        for at in (3, 7):
            axes.axvline(at, color=COLOURS[5], linestyle=":", linewidth=1)
        axes.set(xlabel="time (paper's minutes)", ylim=(0, None))
        axes.set_title(f"{mark}. {shape}", fontsize=9.5)
    plots[0].set_ylabel("million results so far")
    canvas.legend(*plots[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


def _figure_7(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 7"]
    plots = canvas.subplots(1, 2, sharey=True)
    for axes, (mark, shape) in zip(plots, (("a", "linear"), ("b", "bushy")), strict=True):
        for i, planner in enumerate(COMPARED):
            colour = _colour(planner)
            axes.plot(SHARES, found[shape]["model"][planner], color=colour, label=NAMES[planner])
            means = [m.mean for m in found[shape]["measured"][planner]]
            axes.plot(found[shape]["shares"], means, _MARKS[i], color=colour, markersize=4)
        axes.set(xlabel="part of saturation resources", xlim=(0, 1.03), ylim=(0, None))
        axes.set_title(f"{mark}. {shape}", fontsize=9.5)
    plots[0].plot(0.6, 0.8, "x", color=COLOURS[5], markersize=8)
    plots[0].annotate("paper's 80 %", (0.58, 0.81), ha="right", fontsize=8)
    plots[0].set_ylabel("part of saturation throughput")
    canvas.legend(*plots[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


def _figure_8(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["figure 8"]["mu"]
    plots = canvas.subplots(1, 3)
    for axes, mark, mu in zip(plots, "abc", LIMITS, strict=True):
        for planner, series in found[mu]["cumulative"].items():
            minutes = np.arange(1, len(series) + 1)
            axes.plot(minutes, series / 1e6, color=_colour(planner), label=NAMES[planner])
        axes.set(xlabel="time (min)", ylim=(0, None))
        axes.set_title(f"{mark}. mu = {mu:g}", fontsize=9.5)
    plots[0].set_ylabel("million results so far")
    canvas.legend(*plots[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)


def _figure_9(canvas: "Canvas", numbers: AllNumbers) -> None:
    (a, b), (c, d) = canvas.subplots(2, 2)
    table_3 = numbers["figure 9"]["table 3"]
    _stale(a, table_3["linear"], "a. linear")
    _stale(b, table_3["bushy"], "b. bushy")
    _stale(c, numbers["figure 9.c"]["stale"], "c. sensors")
    covers = numbers["covers"]["table 3"]["equal"]["used"]
    sensors = [each["used"] for each in numbers["figure 9.c"]["covers"].values()]
    for i, (name, used) in enumerate({**covers, "sensors": sensors}.items()):
        d.plot(
            range(len(FRESHNESS)),
            used,
            f"{_MARKS[i]}--",
            color=COLOURS[i],
            markersize=4,
            label=name,
        )
    _by_freshness(d, "d. resources for freshness")
    d.set_ylabel("part of mu")
    d.legend(fontsize=8)
    a.set_ylabel("stale share")
    c.set_ylabel("stale share")
    canvas.legend(*a.get_legend_handles_labels(), loc="outside upper center", ncols=3)


def _stale(axes: "Axes", shares: dict[str, list[Measurement]], title: str) -> None:
    for i, (planner, measured) in enumerate(shares.items()):
        _points(axes, measured, _colour(planner), f"{_MARKS[i]}-", NAMES[planner])
    _by_freshness(axes, title)
    axes.set_ylim(-0.03, 1.03)


def _by_freshness(axes: "Axes", title: str) -> None:
    axes.set_xticks(range(len(FRESHNESS)), [f"{windows:g}" for windows in FRESHNESS])
    axes.set_xlabel("freshness (windows)")
    axes.set_title(title, fontsize=9.5)


def _points(
    axes: "Axes", measured: Sequence[Measurement], colour: str, style: str, label: str
) -> None:
    bars: Any = [
        [m.mean - max(m.low, 0) for m in measured],
        [min(m.high, 1) - m.mean for m in measured],
    ]
    axes.errorbar(
        range(len(measured)), [m.mean for m in measured], bars,
        fmt=style, color=colour, markersize=4, capsize=3, linewidth=1, label=label,
    )  # fmt: skip


def _solvers(canvas: "Canvas", numbers: AllNumbers) -> None:
    times = numbers["times"]["milliseconds"]
    axes = canvas.subplots()
    for i, name in enumerate(TIMED[:-1]):
        values = [each[name] for each in times.values()]
        axes.plot(list(times), values, f"{_MARKS[i]}-", color=COLOURS[i], markersize=4, label=name)
    axes.set(xlabel="streams", ylabel="milliseconds", yscale="log")
    canvas.legend(loc="outside upper center", ncols=2)


def _gaps(canvas: "Canvas", numbers: AllNumbers) -> None:
    found: list[Gap] = numbers["gaps"]["gaps"]
    paths, free = canvas.subplots(1, 2, sharey=True)
    kinds = [(plans, budget) for plans in PLANS for budget in BUDGETS]
    for i, kind in enumerate(kinds):
        each = [gap for gap in found if (gap.plans, gap.budget) == kind]
        _missing(paths, [gap.jaqpot for gap in each], i, ", ".join(kind))
        _missing(free, [gap.free for gap in each], i, ", ".join(kind))
    paths.set_ylabel("share of plans")
    paths.set_title("of whole paths", fontsize=9.5)
    free.set_title("of all allowances", fontsize=9.5)
    free.legend(fontsize=8, loc="lower right")


def _missing(axes: "Axes", ratios: list[float], i: int, label: str) -> None:
    known = np.sort([max(0.0, 1 - ratio) for ratio in ratios if not np.isnan(ratio)])
    parts = np.arange(1, len(known) + 1) / max(1, len(known))
    # From no plan at 0 % to all plans at 100 %.
    missed, parts = np.array([0.0, *known, 1.0]), np.array([0.0, *parts, 1.0])
    axes.step(100 * missed, parts, where="post", color=COLOURS[i], label=label, linewidth=2 - i / 3)
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set(xlabel="results missed (%)", xlim=(0, 100), ylim=(0, 1.03))
    axes.set_xticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])


def _steps(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["steps"]
    axes = canvas.subplots()
    series: Numbers = {
        "dynamic programming, mu = 4000": found["k"],
        "GrePP's sort": found["fill"],
        **{f"GH-WMSCP, {shape}": each for shape, each in found["cover"].items()},
    }
    for i, (name, counts) in enumerate(series.items()):
        axes.plot(
            list(counts),
            list(counts.values()),
            f"{_MARKS[i]}-",
            color=COLOURS[i],
            markersize=4,
            label=name,
        )
    axes.set(xlabel="streams", ylabel="steps", xscale="log", yscale="log")
    axes.set_xticks(list(found["k"]), [str(k) for k in found["k"]])
    axes.minorticks_off()
    axes.legend(fontsize=8)


def _table_4(canvas: "Canvas", numbers: AllNumbers) -> None:
    found = numbers["examples"]["table 4"]
    axes = canvas.subplots()
    places = np.arange(len(found))
    printed = {"equal-hj": 450, "global-hjpr": 677, "e-best-hjp": 750, "s-best-hjp": 750}
    ours = [each["results"] for each in found.values()]
    axes.bar(places, ours, 0.5, color=[_colour(planner) for planner in found])
    ink = axes.xaxis.label.get_color()
    axes.plot(
        places[: len(printed)], [printed[p] for p in list(found)[: len(printed)]], "_",
        color=ink, markersize=34, markeredgewidth=2, label="printed",
    )  # fmt: skip
    axes.set_xticks(places, [NAMES[planner] for planner in found], fontsize=8.5)
    axes.grid(False, axis="x")
    axes.set_ylabel("results/s")
    axes.legend()


def _colour(planner: str) -> str:
    return COLOURS[_TINT[planner]]


_EXAMPLES: Final = tuple(f"JAQ-C{n}" for n in (*range(1, 13), 14))

FIGURES: Final = (
    Figure("Table 4", "Heuristics on a plan of two joins, and GrePP", _EXAMPLES, _table_4, 3.0),
    Figure("Steps", "What solvers do as plans grow", ("JAQ-C13",), _steps, 3.3),
    Figure(
        "Figure 6",
        "Results while selectivities change",
        ("JAQ-C15", "JAQ-C16", "JAQ-C17"),
        _figure_6,
    ),
    Figure(
        "Figure 7",
        "Results against resources (lines: all of Table 3; points: runs of its small end)",
        ("JAQ-C18", "JAQ-C19"),
        _figure_7,
    ),
    Figure(
        "Figure 8",
        "Results on sensor readings",
        ("JAQ-C20", "JAQ-C21", "JAQ-C22", "JAQ-C23"),
        _figure_8,
        3.5,
    ),
    Figure(
        "Figure 9",
        "Stale results without a cover, and what a cover takes",
        ("JAQ-C24", "JAQ-C25", "JAQ-C26", "JAQ-C27", "JAQ-C28", "JAQ-C31", "JAQ-C32"),
        _figure_9,
        5.4,
    ),
    Figure("Solver times", "By number of streams", ("JAQ-C30",), _solvers, 3.5),
    Figure("Gap", "What JAQPOT misses of the optimum", ("JAQ-C29",), _gaps, 3.5),
)
