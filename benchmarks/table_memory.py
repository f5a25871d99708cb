"""Memory of the Python workers of a Spark that this process has started, as Linux counts it."""

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_PERIOD: Final = 0.2
"""Seconds between two looks."""


@dataclass(frozen=True)
class Memory:
    """What some processes have in memory at a moment.

    Parameters
    ----------
    workers
        How many there are.
    anon, file
        Bytes of their own, and pages of files, which several may share and which the system may
        take back at any time.
    """

    workers: int = 0
    anon: int = 0
    file: int = 0


def read_workers(root: int) -> Memory:
    """All Python workers below a process together.

    PySpark's workers are forks of a daemon, and their command line is that of the daemon.
    """
    seen = {pid: found for pid in _pids() if (found := _status(pid)) is not None}
    workers = [
        pid
        for pid, found in seen.items()
        if _is_below(pid, root, seen) and _is_daemon(pid) and _is_daemon(found["PPid"])
    ]
    anon, file = (sum(seen[pid].get(name, 0) for pid in workers) for name in ("RssAnon", "RssFile"))
    return Memory(len(workers), 1024 * anon, 1024 * file)


class Sampler:
    """Looks at the workers below a process again and again; to be used in a ``with``.

    Attributes
    ----------
    peak
        The moment at which they had most memory of their own.
    """

    def __init__(self, root: int) -> None:
        self._root, self.peak = root, Memory()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(_PERIOD):
            self.peak = max(self.peak, read_workers(self._root), key=lambda now: now.anon)


def _pids() -> list[int]:
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def _status(pid: int) -> dict[str, int] | None:
    """Numbers of a process; None if it has ended meanwhile."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    pairs = (line.split(":", 1) for line in lines if line.startswith(("PPid", "Rss")))
    return {name: int(value.split()[0]) for name, value in pairs}


def _is_daemon(pid: int) -> bool:
    try:
        return b"pyspark.daemon" in (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def _is_below(pid: int, root: int, seen: dict[int, dict[str, int]]) -> bool:
    while pid in seen and pid != root:
        pid = seen[pid]["PPid"]
    return pid == root
