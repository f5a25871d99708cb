"""The commands, and how they fail: one sentence on standard error, never a traceback."""

import json
import logging
import os
import sys
import tempfile
import threading
from collections.abc import Iterable, Sequence
from contextlib import suppress
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from streamjoin.cli.pipeline_file import Settings
from streamjoin.cli.run import File, Port, borrowed, run_command
from streamjoin.cli.sql_file import read
from streamjoin.dashboard import start_dashboard
from streamjoin.dashboard.server import is_loopback
from streamjoin.errors import ConfigError, EngineError, StateError, StreamJoinError
from streamjoin.spark.failures import hide

if TYPE_CHECKING:
    from streamjoin.calibration.store import Crossover
    from streamjoin.explanations.asked import Rates, Selectivities
    from streamjoin.explanations.explanation import Explanation

WRONG_USE = 2
FAILED = 1

PAPERS = "kang", "gedik", "jaqpot", "valsomatzis", "naeem"
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]
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

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Join live streams on Spark.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"streamjoin {version('streamjoin')}")
        raise typer.Exit


@app.callback()
def _common(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Join live streams on Spark."""


app.command("run")(run_command)


@app.command("explain")
def explain_command(
    file: File,
    as_json: Json = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="PATH", help="Draw the plan into this file too.")
    ] = None,
) -> None:
    """Say what the join of a file will do, without starting it."""
    settings = read(file)
    Console(stderr=True, highlight=False).print("Starting Spark ...")
    explanation = explain_settings(settings)
    if svg is not None:
        try:
            svg.write_text(explanation.to_svg(), encoding="utf-8")
        except OSError as error:
            got = f"{str(svg)!r}: {error.strerror}"
            raise ConfigError.at("--svg", got, "a file that can be written") from None
    if as_json:
        print(explanation.to_json())  # noqa: T201  # no console's folding
        return
    console = Console(highlight=False)
    for line in str(explanation).splitlines():
        style = None if line.startswith("  ") else "bold"
        warns = line.startswith("  ! ")
        console.print(line, style="yellow" if warns else style, markup=False, soft_wrap=True)


@app.command()
def dashboard(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FOLDER",
            help="Where queries keep their metrics.jsonl, or above; this folder if absent.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", help="Address to listen on; others may reach the page then.")
    ] = "127.0.0.1",
    port: Port = None,
) -> None:
    """Show queries that run, or that ran, on a live page in the browser."""
    folders = folders or [Path()]
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError.at("FOLDER", folder, "a folder that exists")
    with start_dashboard(folders, host, port) as page:
        lines = [f"Live page: {page.url}"]
        if not is_loopback(host):
            lines.append(
                f"It listens on {host}: whoever reaches this machine can read the page, without a"
                " password. It shows names, folders, plans and numbers of queries, not their rows."
            )
        with suppress(KeyboardInterrupt):
            typer.echo("\n".join([*lines, "Ctrl-C ends it."]))  # at once: it may come at any time
            wait_for_interrupt()
        typer.echo("Ended.")


@app.command()
def bench(
    name: Annotated[
        str | None, typer.Argument(help="Which benchmark; all of them if absent.")
    ] = None,
    as_json: Json = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes, to see that it works.")
    ] = False,
) -> None:
    """Measure, and compare with other systems."""
    command_beside("bench")(name, as_json=as_json, quick=quick)


@app.command("calibrate")
def calibrate_command(
    as_json: Json = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller sizes.")] = False,
) -> None:
    """Measure what the join's operations cost on this machine, for `explain` and for joins."""
    from streamjoin.calibration import save
    from streamjoin.calibration.measuring import measure

    progress = Console(stderr=True, highlight=False)
    measured = measure(quick, lambda line: progress.print(line, markup=False))
    path = save(measured)
    if as_json:
        print(json.dumps({**measured.to_dict(), "stored_at": str(path)}, indent=2))  # noqa: T201  # no folding
        return
    console = Console(highlight=False)
    costs = [(name, of, _number(getattr(measured.operations, name))) for name, of in _OPERATIONS]
    console.print(_table("Micro-batch, ns", costs, "cost", "of", "direct"))
    title = "Where two methods cost the same, and what is lost near it"
    columns = ("methods", "at", "predicted", "measured", "error", "loss")
    console.print(_table(title, map(_crossover, measured.crossovers), *columns))
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


@app.command()
def reproduce(
    paper: Annotated[
        str | None, typer.Argument(help=f"Which: {', '.join(PAPERS)}; all of them if absent.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Reduced sizes: less than two minutes a paper.")
    ] = False,
    as_json: Json = False,
    output: Annotated[
        Path, typer.Option("--output", metavar="FOLDER", help="Where the report goes.")
    ] = Path("output/reproduce"),
) -> None:
    """Judge the papers' claims by running them, and write a report."""
    command_beside("reproduce")(paper, quick=quick, as_json=as_json, output=output)


def explain_settings(
    settings: Settings, rates: "Rates" = None, selectivities: "Selectivities" = None
) -> "Explanation":
    """Explain the join of a file, in the Spark of this process or in one of its own."""
    from streamjoin.spark.explain import explain_pipeline
    from streamjoin.spark.failures import root_cause

    # The time does not matter, and the folder only for the index of a table: nothing is started.
    with tempfile.TemporaryDirectory(prefix="streamjoin-") as scratch:
        pipeline = settings.plan(now=0.0, scratch=Path(scratch))
        with borrowed(settings) as spark:
            try:
                return explain_pipeline(pipeline, spark, rates, selectivities)
            except StreamJoinError:
                raise
            except Exception as error:
                raise EngineError(root_cause(error)) from error


def _crossover(each: "Crossover") -> tuple[str, ...]:
    error = "" if each.error is None else f"{each.error:+.0%}"
    loss = "" if each.loss is None else f"{each.loss:.0%}"
    values = ("none" if v is None else _number(v) for v in (each.predicted, each.measured))
    return each.methods, f"{each.size:,} stored tuples", *values, error, loss


def _table(title: str, rows: Iterable[Sequence[str]], *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for name in columns:
        is_text = name in ("cost", "of", "methods", "at")
        table.add_column(name, justify="left" if is_text else "right")
    for row in rows:
        table.add_row(*row)
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def wait_for_interrupt() -> None:
    """Wait for Ctrl-C."""
    threading.Event().wait()


def command_beside(name: str) -> Any:
    """The function behind a command whose code lies beside the package, in the repository.

    An installed package names these entry points too, but does not have what they point to.
    """
    for entry in entry_points(group="streamjoin.commands", name=name):
        if find_spec(entry.module.partition(".")[0]) is not None:
            return entry.load()
    raise ConfigError(
        f"{name}: not part of the installed package; allowed: in a clone of streamjoin's "
        f"repository, after `make install`, as `.venv/bin/streamjoin {name}`"
    )


def run_app(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    # What is logged becomes an error, a line of progress or nothing: Python would print it too.
    logging.getLogger("streamjoin").addHandler(logging.NullHandler())
    try:
        app(args=None if arguments is None else list(arguments), standalone_mode=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except StreamJoinError as error:
        failed = isinstance(error, EngineError | StateError)
        return _fail(str(error), error, FAILED if failed else WRONG_USE)
    except Exception as error:
        kind = type(error).__name__
        hint = "set STREAMJOIN_DEBUG=1 to see the traceback"
        first_line = str(error).strip().partition("\n")[0]
        return _fail(f"{first_line or kind} ({kind}; {hint})", error, FAILED)
    return 0


def _fail(sentence: str, error: Exception, code: int) -> int:
    said = f"streamjoin: {sentence}"
    if os.environ.get("STREAMJOIN_DEBUG"):
        import traceback

        said = "".join(traceback.format_exception(error)) + said
    print(hide(said), file=sys.stderr)  # noqa: T201  # the command line's own voice
    return code
