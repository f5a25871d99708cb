"""A Spark standalone cluster of our own, on this machine only, for as long as it is needed."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.request import ProxyHandler, build_opener

from streamjoin.errors import EngineError, MissingExtraError

HOST: Final = "127.0.0.1"
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_EXECUTOR: Final = "CoarseGrainedExecutorBackend"
_SECONDS: Final = 60
"""That a part of it may take to start."""
_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG
_HERE: Final = build_opener(ProxyHandler({}))
"""Asks this machine itself; a proxy that the environment names would not know it."""


class Cluster:
    """A master and its workers, all gone at the end of a ``with``.

    They also end if the process that started them is killed, where the system is Linux; then their
    executors end by themselves.

    Parameters
    ----------
    folder
        For logs, and for what workers and executors keep on disk.
    cores, memory
        What each worker offers to executors.
    pinned
        Whether a worker of one core, with all that its executors start, is held to one processor of
        this machine: else Java and Python of an executor of one core take two. Linux only.

    Attributes
    ----------
    master
        Its address, as ``spark.master`` wants it.
    """

    def __init__(self, folder: Path, cores: int, memory: str, pinned: bool = False) -> None:
        self._folder, self._cores, self._memory, self._pinned = folder, cores, memory, pinned
        self._workers: dict[int, subprocess.Popen[bytes]] = {}
        self._page = f"http://{HOST}:{_free_port()}"
        port = _free_port()
        self.master = f"spark://{HOST}:{port}"
        page_port = self._page.rpartition(":")[2]
        place = ("--host", HOST, "--port", str(port), "--webui-port", page_port)
        self._master = self._run("master", _MASTER, *place)

    @classmethod
    def start(
        cls,
        folder: Path,
        workers: int = 2,
        cores: int = 1,
        memory: str = "1g",
        pinned: bool = False,
    ) -> "Cluster":
        """Start one, and wait until all workers are there."""
        folder.mkdir(parents=True, exist_ok=True)
        cluster = cls(folder, cores, memory, pinned)
        try:
            cluster._wait(0)
            for number in range(workers):
                cluster._launch(number)
            cluster._wait(workers)
        except BaseException:
            cluster.close()
            raise
        return cluster

    def start_worker(self, number: int) -> None:
        """Start the worker of this number, again or for the first time, and wait for it."""
        self._launch(number)
        self._wait(len(self._workers))

    def kill_worker(self, number: int) -> None:
        """Kill a worker and its executors, as if their machine were lost."""
        self._kill(number)
        self._wait(len(self._workers))

    def executors(self) -> list[int]:
        """Process ids of all executors, by worker."""
        return [
            pid for _, worker in sorted(self._workers.items()) for pid in _executors_of(worker.pid)
        ]

    def close(self) -> None:
        """End everything."""
        for number in list(self._workers):
            self._kill(number)
        self._master.kill()
        self._master.wait()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _launch(self, number: int) -> None:
        name = f"worker-{number}"
        offers = ("--cores", str(self._cores), "--memory", self._memory)
        place = ("--host", HOST, "--webui-port", "0", "--work-dir", str(self._folder / name))
        worker = self._run(name, _WORKER, *place, *offers, self.master)
        self._workers[number] = worker
        if self._pinned and sys.platform == "linux":
            # before it starts anything: what it starts inherits this
            processors = sorted(os.sched_getaffinity(0))
            os.sched_setaffinity(worker.pid, {processors[number % len(processors)]})

    def _kill(self, number: int) -> None:
        worker = self._workers.pop(number)
        lost = _executors_of(worker.pid)
        worker.kill()
        worker.wait()
        for pid in lost:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _run(self, name: str, role: str, *arguments: str) -> "subprocess.Popen[bytes]":
        home = _spark_home()
        local = self._folder / f"{name}-local"
        local.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(local),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
            " -Dspark.master.rest.enabled=false",
        }
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                [str(home / "bin" / "spark-class"), role, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # a Ctrl-C is for the one who started it
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
            )

    def _wait(self, n_workers: int) -> None:
        until = time.monotonic() + _SECONDS
        while self._alive() != n_workers:
            parts = {"master": self._master} | {f"worker-{n}": w for n, w in self._workers.items()}
            ended = [name for name, process in parts.items() if process.poll() is not None]
            if ended or time.monotonic() > until:
                what = (
                    f"{ended[0]} has ended"
                    if ended
                    else f"no {n_workers} workers after {_SECONDS} s"
                )
                raise EngineError(f"bench: Spark's cluster: {what}; its logs are in {self._folder}")
            time.sleep(0.05)

    def _alive(self) -> int:
        """Workers that the master knows to be there; -1 before it answers."""
        try:
            with _HERE.open(f"{self._page}/json/", timeout=_SECONDS) as answer:
                state: dict[str, Any] = json.load(answer)
        except (OSError, ValueError):  # it has other pages before it has this one
            return -1
        return sum(worker["state"] == "ALIVE" for worker in state["workers"])


def _spark_home() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise MissingExtraError.of(extra="spark", module="pyspark")
    return Path(found.origin).parent


def _free_port() -> int:
    with socket.socket() as free:
        free.bind((HOST, 0))
        return int(free.getsockname()[1])


def die_with_parent() -> None:
    """In a process that has just been forked: end when the one that forked it does. Linux only."""
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)


def _executors_of(worker: int) -> list[int]:
    command = ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="]  # ww: whole lines, on any screen
    listed = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    return [int(pid) for pid, parent, said in rows if int(parent) == worker and _EXECUTOR in said]
