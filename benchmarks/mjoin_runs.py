"""Systems that take turns: each in a process that keeps its Spark and waits until it is asked.

A turn goes on from the checkpoint of the one before, over the files that have come since. So what
slows the machine down for a while slows all systems down alike. ``python -m
benchmarks.mjoin_runs FOLDER`` reads JSON `Turn`s, a line each, and prints a JSON `Timing` for
each; the folder is for what its Spark writes.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.systems import Task, Timing, execute, start
from streamjoin.errors import EngineError


@dataclass(frozen=True)
class Turn:
    """What to run, and the checkpoint that it goes on from."""

    task: Task
    checkpoint: str


class Runner:
    """A process that runs one turn after the other; to be used in a ``with``."""

    def __enter__(self) -> "Runner":
        self._work = tempfile.TemporaryDirectory(prefix="sj-bench-", ignore_cleanup_errors=True)
        self._complained = tempfile.TemporaryFile("w+")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.mjoin_runs", self._work.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complained,
            text=True,
            start_new_session=True,
        )
        return self

    def run(self, turn: Turn) -> Timing:
        """Run a turn, or say why it failed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(asdict(turn)) + "\n")
            self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):
                return Timing(**json.loads(line))
        self._complained.seek(0)
        lines = self._complained.read().strip().splitlines() or ["no message"]
        raise EngineError(f"bench: {turn.task.system} failed: {lines[-1]}")

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._complained.close()
        self._work.cleanup()


def _main(work: Path) -> None:
    spark = start("turns", work)
    for line in sys.stdin:
        document: dict[str, Any] = json.loads(line)
        timing = execute(spark, Task(**document["task"]), Path(document["checkpoint"]))
        sys.stdout.write(json.dumps(asdict(timing)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
