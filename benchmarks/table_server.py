"""A PostgreSQL server of our own, on this machine only, for as long as it is needed."""

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.csv as pc

from benchmarks.table_data import KEY
from streamjoin.errors import EngineError

_PROGRAMS: Final = ("initdb", "postgres", "psql")
_USERS: Final = ("postgres", "nobody")  # it refuses to run as root
_SETTINGS: Final = (
    "fsync=off", "wal_level=minimal", "max_wal_senders=0", "maintenance_work_mem=256MB",
    "listen_addresses=127.0.0.1",
)  # fmt: skip
_SECONDS: Final = 30
"""That it may take to start or to end."""
_TYPES: Final = {
    pa.int64(): "bigint",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.date32(): "date",
}


def missing() -> str | None:
    """Why there can be no server, if so."""
    lacking = [name for name in _PROGRAMS if _program(name) is None]
    if lacking:
        return f"PostgreSQL's {', '.join(lacking)} not found (Debian's package: postgresql)"
    if os.geteuid() == 0 and _user() is None:
        return f"as root, a user {' or '.join(_USERS)} is needed to run PostgreSQL's server"
    return None


def _program(name: str) -> str | None:
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return found[-1] if found else shutil.which(name)


def _user() -> pwd.struct_passwd | None:
    there = {entry.pw_name: entry for entry in pwd.getpwall()}
    return next((there[name] for name in _USERS if name in there), None)


class Server:
    """A server with an empty database, gone at the end of a ``with``.

    `stop` and `start` keep what is in it.

    Parameters
    ----------
    login
        The database's user, and perhaps a password, which is not asked for: ``"user:password"``.

    Attributes
    ----------
    uri
        Its address.
    folder
        Where its files are.
    """

    def __init__(self, login: str = "bench") -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sj-pg-"))
        self._as: dict[str, Any] = {}
        user = _user()
        if os.geteuid() == 0 and user is not None:
            self._as = {"user": user.pw_name, "extra_groups": []}
            os.chown(self.folder, user.pw_uid, -1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self.uri = f"postgresql://{login}@127.0.0.1:{self._port}/postgres"
        name = login.partition(":")[0]
        self._run("initdb", "-D", "data", "-A", "trust", "-U", name, "-N").wait(_SECONDS)
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        sockets = f"unix_socket_directories={self.folder}"
        settings = [part for one in (*_SETTINGS, sockets) for part in ("-c", one)]
        self._process = self._run("postgres", "-D", "data", "-p", self._port, *settings)
        until = time.monotonic() + _SECONDS
        while self._tell("SELECT 1").wait(_SECONDS):
            if time.monotonic() > until or self._process.poll() is not None:
                self.remove()
                raise EngineError("bench: PostgreSQL's server did not start")
            time.sleep(0.02)

    def execute(self, sql: str) -> None:
        """Let it do something."""
        if self._tell(sql).wait():
            raise EngineError(f"bench: PostgreSQL's server did not take {sql!r}")

    def stop(self) -> None:
        """Stop it, which ends all connections."""
        self._process.send_signal(2)
        self._process.wait(_SECONDS)

    def remove(self) -> None:
        """Stop it, and remove its files."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def _run(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(
            [str(_program(name)), *arguments],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self._as,
        )

    def _tell(self, *commands: str) -> "subprocess.Popen[bytes]":
        said = [part for command in commands for part in ("-c", command)]
        return self._run("psql", "-X", "-v", "ON_ERROR_STOP=1", self.uri, *said)

    def load(self, name: str, tables: Iterable[pa.Table]) -> None:
        """Make a table of these rows, with its key as primary key."""
        copy: subprocess.Popen[bytes] | None = None
        for table in tables:
            if copy is None:
                columns = ", ".join(f"{f.name} {_TYPES[f.type]}" for f in table.schema)
                made = f"CREATE UNLOGGED TABLE {name} ({columns})"
                copy = self._tell(made, f"COPY {name} FROM STDIN (FORMAT csv)")
            assert copy.stdin is not None
            pc.write_csv(table, copy.stdin, pc.WriteOptions(include_header=False))
        assert copy is not None
        copy.communicate()
        told = self._tell(
            f"ALTER TABLE {name} ADD PRIMARY KEY ({KEY})", f"VACUUM ANALYZE {name}", "CHECKPOINT"
        )
        if copy.returncode or told.wait():
            raise EngineError(f"bench: PostgreSQL's server did not take the table {name}")
