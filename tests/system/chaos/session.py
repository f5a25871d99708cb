"""The process that is killed, seen from outside: started, told what to run, started again."""

import json
import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tests.system.chaos import processes

ROOT: Final = Path(__file__).parents[3]
FAKETIME: Final = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
_SECONDS: Final = 300
"""That a session may take to start or to end."""


class Session:
    """A process with a Spark session.

    Parameters
    ----------
    folder
        Where it writes what happens, and its log.
    master
        Where Spark runs.
    clock
        A file that says by how many seconds the clock of its Java and its Python workers is wrong;
        None for the true one.
    conf
        Spark settings.
    """

    def __init__(
        self,
        folder: Path,
        master: str,
        clock: Path | None = None,
        conf: dict[str, str] | None = None,
    ) -> None:
        self._events = folder / f"events-{time.monotonic_ns()}.jsonl"
        self._events.touch()
        self._read = 0
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"}
        environment.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        said = json.dumps({"spark.executorEnv.PYTHONPATH": str(ROOT), **(conf or {})})
        false = json.dumps({} if clock is None else _false_clock(clock))
        with (folder / "driver.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "tests.system.chaos.driver",
                    master,
                    str(self._events),
                    said,
                    false,
                ],
                cwd=ROOT,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.java: int | None = None

    @property
    def python(self) -> int:
        """Process id of the driver's Python."""
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        """Whether it can be told anything."""
        return self._process.poll() is None

    def wait_until_ready(self) -> None:
        """Wait until the session is there."""
        until = time.monotonic() + _SECONDS
        while not any(event["what"] == "ready" for event in self.events()):
            if not self.is_alive or time.monotonic() > until:
                msg = f"no Spark session came; see {self._events.parent / 'driver.log'}"
                raise RuntimeError(msg)
            time.sleep(0.05)
        self.java = processes.named(processes.children(self.python), "java")[0]

    def order(self, what: dict[str, Any] | None) -> None:
        """Tell it to run something; None to stop that."""
        assert self._process.stdin is not None
        line = json.dumps(what) if what else ""
        with suppress(BrokenPipeError):  # it may just have been killed; whoever asks will see
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    def events(self) -> list[dict[str, Any]]:
        """What has happened since it was last asked."""
        with self._events.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read += len(whole)
        return [json.loads(line) for line in whole.splitlines()]

    def bury(self) -> None:
        """After its end: wait until its Java is gone too, which ends by itself when Python does."""
        self._process.wait()
        until = time.monotonic() + 20
        while self.java is not None and processes.is_alive(self.java):
            if time.monotonic() > until:
                processes.kill(self.java)
            time.sleep(0.05)
        self.java = None

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self.bury()


def _false_clock(said_by: Path) -> dict[str, str]:
    """What makes processes believe a file rather than their clock."""
    return {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(said_by),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_FORCE_MONOTONIC_FIX": "0",  # else Java's waits do not wait
    }
