"""The page about a soak: a table and curves of each load."""

import os
import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Final

from pyspark import __version__ as spark_version

from papers.base import AllNumbers, Figure
from papers.plots import COLOURS, svg
from scripts.draw_figures import standing_alone
from streamjoin.budget import machine_bytes
from tests.system.soak.lines import Observed
from tests.system.soak.query import CORES, HEAP_MB, RETAINED, TRIGGER_SECONDS, WINDOW_SECONDS
from tests.system.soak.runs import MORE, PERIOD_SECONDS, RATE, ROOM
from tests.system.soak.verdict import COUNTED, LEAST, TOLERANCE, Judged, Line, judge

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

PANELS: Final[dict[str, Callable[[Line], bool]]] = {
    "memory, MB": lambda line: line.name.startswith(("JVM, r", "Python workers, ", "Python of")),
    "batch time, s": lambda line: line.name == "batch time",
    "state, rows": lambda line: line.name == "state",
    "open files": lambda line: line.name.startswith("open files"),
    "files on disk": lambda line: line.name.startswith("files"),
}
_INTRO: Final = """# Soak

Joins that run for long must not grow: not in memory, not in time, not on disk. `make soak` runs the
loads of this page side by side for `MINUTES=30`, looks at every process of theirs each {period}
seconds, and writes this page. It ends with an error if a line grows or may grow.

{loads}

**How it is judged.** The first third is warm-up. The rest is cut into 20 blocks, each of which
counts by its median, and a straight line is fitted through these; the table has its slope as a
gain per hour, with a 95 % interval. A line is *flat* if, also at the upper end of that interval, it
gains less over the rest than {tolerance:.0%} of its mean or {least}, whichever is more;
open files and processes less than {counted:g}. It *grows* if it gains more and the interval is
above zero; it is *unclear* if it may gain more, but that may as well be noise; it *falls* if it
surely loses more. So a steady gain of less than that is called flat too: only a longer run tells
whether it ends.

**Conditions.** {minutes:.0f} minutes; {machine}. A trigger of {trigger} s, results dropped. The
heap of {heap} MB is in memory as a whole from the start, so that what grows is not the heap being
touched; Spark keeps the files of {retained} batches, so that their number levels off early; and
Java looks each minute for what is not needed any more, for Spark removes shuffled files only then.
The machine was not alone: on average {busy:.1f} processes wanted one of its cores, these loads
included. The limits for files on disk were 10 files and 4 MB at first, and were widened after a run
had such lines unclear.

**Java beside its heap** gains for as long as it compiles, and what its C library has freed it does
not give back at once. Looked at with Java's own tracking of native memory (the join of 1x with a
trigger of 1 s, 16 minutes, a busy machine, once): over the last ten minutes Java's memory gained 30
MB, of which compiled code were 13 MB (Java allows itself 240 MB), classes 3 MB, and all else that
Java knows of lost 12 MB. `jcmd PID System.trim_native_heap` then took away 35 MB, so that it was 5
MB below where it began. That points to memory that is kept, not to a leak: `MALLOC_ARENA_MAX=2` in
the environment of Java makes it less (19 MB gained instead of 30), and
`-XX:+UnlockExperimentalVMOptions -XX:TrimNativeHeapInterval=60000` gives it back each minute.
"""
_LOADS: Final = """\
- **1x**: two streams of {rate:g} rows a second each, joined by an OR within {window} seconds, with
  a budget of {room:g} times the CPU that this join was measured to use when it might use all;
- **4x**: {more:.3g} times as many rows, and so four times the comparisons that the budget has room
  for: they grow with the square;
- **table**: the stream joined with a table of twice the memory that the join may use."""


def write(found: Sequence[Observed], page: Path) -> dict[str, list[Judged]]:
    """Write the page and its figures beside it; the verdicts by load."""
    judged = {one.name: [judge(line) for line in one.lines] for one in found}
    figures = page.parent / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    parts = [_introduction(found)]
    for one in found:
        name = f"soak_{one.name}.svg"
        (figures / name).write_text(_drawing(one), encoding="utf-8")
        parts.append(_section(one, judged[one.name], name))
    page.write_text("\n".join(parts), encoding="utf-8")
    return judged


def _introduction(found: Sequence[Observed]) -> str:
    samples = [sample for one in found for sample in one.samples]
    return _INTRO.format(
        period=PERIOD_SECONDS,
        loads=_LOADS.format(rate=RATE, window=WINDOW_SECONDS, room=ROOM, more=MORE),
        tolerance=TOLERANCE,
        least=", ".join(f"{least:g} {unit}" for unit, least in LEAST.items() if unit != COUNTED),
        counted=LEAST[COUNTED],
        minutes=samples[-1].at / 60,
        machine=_machine(),
        trigger=TRIGGER_SECONDS,
        heap=HEAP_MB,
        retained=RETAINED,
        busy=mean(sample.busy for sample in samples),
    )


def _machine() -> str:
    return (
        f"{os.cpu_count()} cores ({CORES} for each load), {machine_bytes() / 2**30:.0f} GB,"
        f" {platform.system()}, Python {platform.python_version()}, Spark {spark_version}"
    )


def _section(one: Observed, judged: Sequence[Judged], figure: str) -> str:
    facts = "; ".join(f"{value} {name}" for name, value in one.facts.items())
    lines = [
        f"## {one.name}",
        "",
        f"{one.title[0].upper()}{one.title[1:]}. {facts}.",
        "",
        f"![Curves of {one.name}](figures/{figure})",
        "",
        "| | mean | gain per hour | 95 % interval | |",
        "|---|---|---|---|---|",
        *map(_row, judged),
        "",
    ]
    return "\n".join(lines)


def _row(one: Judged) -> str:
    unit = f" {one.line.unit}".rstrip()
    interval = f"{_number(one.low, '+')} to {_number(one.high, '+')}"
    gain = f"{_number(one.per_hour, '+')}{unit}"
    return f"| {one.line.name} | {_number(one.mean)}{unit} | {gain} | {interval} | {one.verdict} |"


def _number(value: float, sign: str = "") -> str:
    value = round(value, 6) + 0.0  # no -0; what rounding leaves of a constant is no gain
    return f"{value:{sign},.0f}" if abs(value) >= 1000 else f"{value:{sign}.3g}"


def _drawing(one: Observed) -> str:
    lines = one.lines

    def draw(canvas: "Canvas", _: AllNumbers) -> None:
        panels = canvas.subplots(len(PANELS), 1, sharex=True)
        for panel, (title, belongs) in zip(panels, PANELS.items(), strict=True):
            shown = [line for line in lines if belongs(line)]
            for line, colour in zip(shown, COLOURS, strict=False):
                minutes = [at / 60 for at in line.times]
                panel.plot(minutes, line.values, color=colour, linewidth=0.9, label=line.name)
            panel.set_ylim(bottom=0)
            panel.set_title(title, loc="left", fontsize=9.5)
            if len(shown) > 1:
                panel.legend(ncols=2, fontsize=7)
        panels[-1].set_xlabel("minutes")

    title = f"memory, batch time, state and files of {one.title} over time"
    return standing_alone(svg(Figure(f"Soak {one.name}", title, (), draw, height=9.0), {}))
