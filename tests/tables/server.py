"""A PostgreSQL server of our own, on this machine only, for as long as the tests run."""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

USERS = ("postgres", "nobody")  # it refuses to run as root


def program(name: str) -> str | None:
    """Where one of PostgreSQL's programs is: on the path, or where Debian has it."""
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return shutil.which(name) or (found[-1] if found else None)


def missing() -> str | None:
    """Why there can be no server, if so."""
    if program("initdb") is None or program("postgres") is None:
        return "PostgreSQL's server is not installed (Debian's package: postgresql)"
    if os.geteuid() == 0 and _user() is None:
        return f"as root, a user {' or '.join(USERS)} is needed to run PostgreSQL's server"
    return None


def _user() -> str | None:
    names = {entry.pw_name for entry in pwd.getpwall()}
    return next((name for name in USERS if name in names), None)


class Server:
    """Started with an empty database; `stop` and `start` keep what is in it."""

    def __init__(self) -> None:
        self._as: dict[str, Any] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="sj-pg-"))
        if os.geteuid() == 0:
            self._as = {"user": _user(), "extra_groups": []}
            os.chown(self.folder, pwd.getpwnam(str(_user())).pw_uid, -1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self.uri = f"postgresql://reader:s3cret@127.0.0.1:{self._port}/postgres"
        self._run(["initdb", "-D", "data", "-A", "trust", "-U", "reader", "-N"]).wait(60)
        self.start()

    def _run(self, command: list[str]) -> "subprocess.Popen[bytes]":
        command = [str(program(command[0])), *command[1:]]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, cwd=self.folder, stdout=quiet, stderr=quiet, **self._as)

    def start(self) -> None:
        options = f"fsync=off listen_addresses=127.0.0.1 unix_socket_directories={self.folder}"
        settings = [part for option in options.split() for part in ("-c", option)]
        self._process = self._run(["postgres", "-D", "data", "-p", str(self._port), *settings])
        until = time.monotonic() + 20
        while not self._answers():
            if time.monotonic() > until:
                msg = "PostgreSQL's server did not start within twenty seconds"
                raise RuntimeError(msg)
            time.sleep(0.02)

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except Exception:
            return False
        return True

    def execute(self, sql: str) -> None:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(self.uri, autocommit=True) as connection:
            connection.execute(sql).close()

    def stop(self) -> None:
        self._process.send_signal(2)  # fast: ends connections
        self._process.wait(30)

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
