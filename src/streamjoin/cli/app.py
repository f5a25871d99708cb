"""The commands, and how they fail: one sentence on standard error, never a traceback."""

import logging
import os
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from streamjoin.cli.calibrate import calibrate_command
from streamjoin.cli.explain import explain_command
from streamjoin.cli.run import run_command
from streamjoin.dashboard import start_dashboard
from streamjoin.dashboard.server import is_loopback
from streamjoin.errors import ConfigError, EngineError, StateError, StreamJoinError
from streamjoin.spark.failures import hide

WRONG_USE = 2
FAILED = 1

PAPERS = "kang", "gedik", "jaqpot", "valsomatzis", "naeem"

File = Annotated[Path, typer.Argument(metavar="FILE", help="A pipeline file: *.toml or *.sql.")]
Port = Annotated[
    int | None,
    typer.Option("--port", help="Port of the page. Default: 8765, or the next that is free."),
]
Json = Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")]

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


@app.command()
def run(
    file: File,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Serve a live page of it, too.")
    ] = False,
    port: Port = None,
    master: Annotated[
        str | None,
        typer.Option("--master", metavar="URL", help="Where Spark runs; wins over the file's."),
    ] = None,
) -> None:
    """Run the pipeline of a file until it ends, its duration is over, or Ctrl-C."""
    run_command(file, dashboard=dashboard, port=port, master=master)


@app.command()
def explain(
    file: File,
    json: Json = False,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="PATH", help="Draw the plan into this file too.")
    ] = None,
) -> None:
    """Say what the join of a file will do, without starting it."""
    explain_command(file, as_json=json, svg=svg)


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
    dashboard_command(folders or [Path()], host, port)


@app.command()
def bench(
    name: Annotated[
        str | None, typer.Argument(help="Which benchmark; all of them if absent.")
    ] = None,
    json: Json = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes, to see that it works.")
    ] = False,
) -> None:
    """Measure, and compare with other systems."""
    command_beside("bench")(name, as_json=json, quick=quick)


@app.command()
def calibrate(
    json: Json = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer and smaller sizes.")] = False,
) -> None:
    """Measure what the join's operations cost on this machine, for `explain` and for joins."""
    calibrate_command(as_json=json, quick=quick)


@app.command()
def reproduce(
    paper: Annotated[
        str | None, typer.Argument(help=f"Which: {', '.join(PAPERS)}; all of them if absent.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Reduced sizes: less than two minutes a paper.")
    ] = False,
    json: Json = False,
    output: Annotated[
        Path, typer.Option("--output", metavar="FOLDER", help="Where the report goes.")
    ] = Path("output/reproduce"),
) -> None:
    """Judge the papers' claims by running them, and write a report."""
    command_beside("reproduce")(paper, quick=quick, as_json=json, output=output)


def dashboard_command(folders: Sequence[Path], host: str, port: int | None) -> None:
    """Show the queries below some folders until Ctrl-C, and say where."""
    for folder in folders:
        if not folder.is_dir():
            raise ConfigError.at("FOLDER", folder, "a folder that exists")
    with start_dashboard(folders, host, port) as dashboard:
        lines = [f"Live page: {dashboard.url}"]
        if not is_loopback(host):
            lines.append(
                f"It listens on {host}: whoever reaches this machine can read the page, without a"
                " password. It shows names, folders, plans and numbers of queries, not their rows."
            )
        with suppress(KeyboardInterrupt):
            typer.echo("\n".join([*lines, "Ctrl-C ends it."]))  # at once: it may come at any time
            wait_for_interrupt()
        typer.echo("Ended.")


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
