"""Measure what operations cost on this machine, show it and store it."""

import json
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from streamjoin.calibration import Calibration

_OPERATIONS = (
    ("compare", "one tuple compared in a scan"),
    ("again", "one tuple of a block with a match, looked at again"),
    ("listed", "one tuple put into a list to be scanned"),
    ("probe", "one lookup in an index"),
    ("found", "a lookup that finds its key, more"),
    ("far_probe", "an access to an index outside of the caches, more"),
    ("touch", "one tuple with the key looked up"),
    ("insert", "one tuple put into an index"),
    ("key", "the first tuple of a key, more"),
    ("far_insert", "one tuple put into an index outside of the caches, more"),
    ("keep", "one tuple of an index written to a file"),
    ("invalidate", "one tuple expired"),
    ("call", "one call for a basic window"),
    ("build", "making an index, besides its tuples"),
    ("file", "writing an index to a file, besides its tuples"),
    ("window", "opening the index of a basic window"),
    ("mapped", "the same, for each of its tuples"),
    ("sort", "one tuple of several streams put into an index, more"),
    ("gather", "one value of such a tuple when it is formed"),
    ("visit", "probing a piece in a join of many streams"),
    ("store", "one value of a tuple of several streams stored"),
    ("piece", "storing a piece of such tuples, besides its values"),
    ("read", "reading a piece of such tuples, besides its values"),
    ("load", "one value of such a tuple read"),
)


def calibrate_command(*, as_json: bool, quick: bool) -> None:
    """Measure, store, show; results on stdout, progress on stderr."""
    from streamjoin.calibration import save
    from streamjoin.calibration.measuring import measure

    progress = Console(stderr=True, highlight=False)
    measured = measure(quick, lambda line: progress.print(line, markup=False))
    path = save(measured)
    if as_json:
        print(json.dumps({**measured.to_dict(), "stored_at": str(path)}, indent=2))  # noqa: T201  # no folding
        return
    console = Console(highlight=False)
    for table in (_operations(measured), _crossovers(measured)):
        console.print(table)
    fit = measured.batch_fit
    console.print(
        f"predicted against measured time in {fit.settings} settings: "
        f"R-squared {fit.r_squared:.3f}, worst error {fit.worst:.0%}"
    )
    console.print(
        "the method with the least predicted cost costs at most "
        f"{measured.batch_loss:.0%} more than the best one"
    )
    console.print(f"stored at {path}", markup=False, soft_wrap=True)


def _operations(measured: "Calibration") -> Table:
    table = _table("Micro-batch, ns", "cost", "of", "direct")
    for name, meaning in _OPERATIONS:
        table.add_row(name, meaning, _number(getattr(measured.operations, name)))
    return table


def _crossovers(measured: "Calibration") -> Table:
    names = ("methods", "at", "predicted", "measured", "error", "loss")
    table = _table("Where two methods cost the same, and what is lost near it", *names)
    for each in measured.crossovers:
        error = "" if each.error is None else f"{each.error:+.0%}"
        loss = "" if each.loss is None else f"{each.loss:.0%}"
        values = ("none" if v is None else _number(v) for v in (each.predicted, each.measured))
        table.add_row(each.methods, f"{each.size:,} stored tuples", *values, error, loss)
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for name in columns:
        is_text = name in ("cost", "of", "methods", "at")
        table.add_column(name, justify="left" if is_text else "right")
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
