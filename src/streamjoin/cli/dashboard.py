"""Serve the live page until Ctrl-C."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import typer

from streamjoin.dashboard import start_dashboard
from streamjoin.dashboard.server import is_loopback
from streamjoin.errors import ConfigError


def dashboard_command(folders: Sequence[Path], host: str, port: int | None) -> None:
    """Show the queries below some folders, and say where."""
    for folder in folders:
        if not folder.is_dir():
            msg = f"FOLDER: got {folder}; allowed: a folder that exists"
            raise ConfigError(msg)
    with start_dashboard(folders, host, port) as dashboard:
        with suppress(KeyboardInterrupt):
            typer.echo(_announced(dashboard.url, host))  # at once: Ctrl-C may come at any time
            wait_for_interrupt()
        typer.echo("Ended.")


def wait_for_interrupt() -> None:
    """Wait for Ctrl-C."""
    threading.Event().wait()


def _announced(url: str, host: str) -> str:
    lines = [f"Live page: {url}"]
    if not is_loopback(host):
        lines.append(
            f"It listens on {host}: whoever reaches this machine can read the page, without a"
            " password. It shows names, folders, plans and numbers of queries, not their rows."
        )
    return "\n".join([*lines, "Ctrl-C ends it."])
