"""Serve the live page until Ctrl-C."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rich.console import Console

from streamjoin.dashboard import start_dashboard
from streamjoin.dashboard.addresses import is_loopback
from streamjoin.errors import ConfigError


def dashboard_command(folders: Sequence[Path], host: str, port: int | None) -> None:
    """Show the queries below some folders, and say where."""
    for folder in folders:
        if not folder.is_dir():
            msg = f"FOLDER: got {folder}; allowed: a folder that exists"
            raise ConfigError(msg)
    console = Console(highlight=False)
    with start_dashboard(folders, host, port) as dashboard:
        with suppress(KeyboardInterrupt):
            _announce(console, dashboard.url, host)
            wait_for_interrupt()
        console.print("Ended.")


def wait_for_interrupt() -> None:
    """Wait for Ctrl-C."""
    threading.Event().wait()


def _announce(console: Console, url: str, host: str) -> None:
    console.print(f"Live page: {url}", soft_wrap=True)
    if not is_loopback(host):
        warning = (
            f"It listens on {host}: whoever reaches this machine can read the page, without a"
            " password. It shows names, folders, plans and numbers of queries, not their rows."
        )
        console.print(warning, style="yellow", soft_wrap=True)
    console.print("Ctrl-C ends it.")
