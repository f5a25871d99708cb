"""Which processes a query consists of: they are found by who started whom."""

import os
import signal
from contextlib import suppress
from pathlib import Path


def children(parent: int) -> list[int]:
    """Processes that a process has started and that still run."""
    return sorted(
        pid for pid, (mother, state) in _all().items() if mother == parent and state != "Z"
    )


def named(pids: list[int], *words: str) -> list[int]:
    """Those of some processes whose command has one of these words."""
    return [pid for pid in pids if any(word in _command(pid) for word in words)]


def daemons(java: int) -> list[int]:
    """The processes from which Java has Python workers forked."""
    return named(children(java), "daemon")


def workers(java: int) -> list[int]:
    """Python workers of a Java process."""
    return [pid for daemon in daemons(java) for pid in children(daemon)]


def is_alive(pid: int) -> bool:
    """Whether a process runs."""
    return _all().get(pid, (0, "Z"))[1] != "Z"


def kill(pid: int) -> bool:
    """``kill -9``; whether there was somebody to kill."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
        return True
    return False


def _all() -> dict[int, tuple[int, str]]:
    """Parent and state of every process."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                state, parent, *_ = (folder / "stat").read_text().rpartition(") ")[2].split()
                found[int(folder.name)] = int(parent), state
    return found


def _command(pid: int) -> str:
    with suppress(OSError):
        return (
            Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        )
    return ""
