"""What a query holds at a moment: memory, open files and files on disk, as Linux counts them."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PROC: Final = Path("/proc")
JVM: Final = "jvm"
DRIVER: Final = "driver"
WORKER: Final = "worker"
COPIES: Final = "streamjoin-"
"""What folders with copies of remembered rows begin with."""


@dataclass(frozen=True)
class Process:
    """A process: its part in the query, resident bytes, those of its own, and open files."""

    pid: int
    role: str
    rss: int
    anon: int
    open_files: int


@dataclass(frozen=True)
class Sample:
    """A query at a moment.

    Parameters
    ----------
    at
        Seconds from the first sample.
    busy
        How many processes of the machine want a core, on average of a minute.
    processes
        All processes of the query.
    folders
        The number and bytes of files, by kind.
    """

    at: float
    busy: float
    processes: list[Process]
    folders: dict[str, tuple[int, int]]

    @staticmethod
    def of(document: dict[str, Any]) -> "Sample":
        """Read ``asdict`` back."""
        processes = [Process(**each) for each in document["processes"]]
        folders = {name: (n, size) for name, (n, size) in document["folders"].items()}
        return Sample(document["at"], document["busy"], processes, folders)


def take(root: int, folder: Path, at: float) -> Sample:
    """Look at a process and those below it, and at what they have in a folder."""
    return Sample(at, os.getloadavg()[0], list(processes_below(root)), count_kinds(folder))


def count_kinds(folder: Path) -> dict[str, tuple[int, int]]:
    """Number and bytes of the files of each kind that a query keeps below its folder."""
    local = folder / "local"
    copies = [count_files(each) for each in local.glob(f"*/{COPIES}*")]
    return {
        "checkpoint": count_files(folder / "checkpoint"),
        "copies of rows": (sum(n for n, _ in copies), sum(size for _, size in copies)),
        "other local ones of Spark": count_files(local, without=COPIES),
        "temporary": count_files(folder / "temp"),
    }


def processes_below(root: int) -> Iterator[Process]:
    """A Python process with its JVM, the daemon of the Python workers, and these."""
    parents = {pid: status["PPid"] for pid in _pids() if (status := _status(pid))}
    for pid in parents:
        if pid != root and not _is_below(pid, root, parents):
            continue
        try:
            role = DRIVER if pid == root else _role(pid)
            status = _status(pid)
            n_open = len(os.listdir(PROC / str(pid) / "fd"))
        except OSError:
            continue  # it has ended meanwhile
        if role == JVM and parents[pid] != root and _role(parents[pid]) == JVM:
            continue  # Java is about to start something, and is there twice for a moment
        if "VmRSS" in status:  # else it is about to end
            rss, anon = (1024 * status[name] for name in ("VmRSS", "RssAnon"))
            yield Process(pid, role, rss, anon, n_open)


def count_files(folder: Path, without: str | None = None) -> tuple[int, int]:
    """Number and bytes of all files below a folder, but not in folders of such a name."""
    number = size = 0
    for path, folders, names in os.walk(folder):
        if without is not None:
            folders[:] = [name for name in folders if not name.startswith(without)]
        for name in names:
            try:
                size += os.lstat(os.path.join(path, name)).st_size
            except OSError:
                continue  # it was removed meanwhile
            number += 1
    return number, size


def _pids() -> list[int]:
    return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]


def _status(pid: int) -> dict[str, int]:
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in lines if line.startswith(("PPid", "VmRSS", "RssAnon")))
    return {name: int(value.split()[0]) for name, value in pairs}


def _role(pid: int) -> str:
    """The daemon of the Python workers counts as one of them: they are its forks."""
    command = (PROC / str(pid) / "cmdline").read_bytes()
    return WORKER if b"pyspark" in command and b"java" not in command.split(b"\0")[0] else JVM


def _is_below(pid: int, root: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != root:
        pid = parents[pid]
    return pid == root
