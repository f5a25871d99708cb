"""What runs need around them, made when asked: sessions, a cluster, servers, a clock, a disk."""

import subprocess
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from benchmarks import table_server
from tests.system.chaos.answers import people
from tests.system.chaos.scenarios import Place, Scenario
from tests.system.chaos.session import FAKETIME, Session
from tests.system.servers import kafka
from tests.system.servers.cluster import Cluster

LOCAL = "local[2,3]"  # a task may fail twice


def missing(scenario: Scenario) -> str | None:
    """Why a scenario cannot be run here, if so."""
    if scenario.place == "clock" and not FAKETIME.exists():
        return "libfaketime not found (Debian's package: faketime)"
    if "postgres" in (scenario.table, scenario.sink):
        return table_server.missing()
    return kafka.missing() if scenario.source == "kafka" else None


class Stage:
    """Servers and sessions that runs share.

    Parameters
    ----------
    folder
        For all their files.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cluster: Cluster | None = None
        self.database: table_server.Server | None = None
        self.broker: kafka.Broker | None = None
        self.clock = folder / "clock"
        self.clock_error = 0
        self.starts = 0
        self._session: tuple[Place, Session] | None = None
        self.move_clock(0)

    def set_up(self, scenario: Scenario) -> dict[str, str]:
        """Start what a scenario needs; addresses by name."""
        at: dict[str, str] = {}
        if scenario.place == "cluster" and self.cluster is None:
            self.cluster = Cluster.start(self.folder / "cluster")
        if "postgres" in (scenario.table, scenario.sink):
            if self.database is None:
                self.database = table_server.Server()
                self._load()
            for ledger in ("results", "streamjoin_batches"):
                self.database.execute(f"DROP TABLE IF EXISTS {ledger}")
            at["database"] = self.database.uri
        if scenario.source == "kafka":
            if self.broker is None:
                self.broker = kafka.Broker.start(self.folder / "broker")
            at["broker"] = self.broker.address
        return at

    def _load(self) -> None:
        assert self.database is not None
        table: pa.Table = people()
        self.database.execute("CREATE TABLE people (x BIGINT PRIMARY KEY, name TEXT)")
        values = ", ".join(f"({row['x']}, '{row['name']}')" for row in table.to_pylist())
        self.database.execute(f"INSERT INTO people VALUES {values}")

    def session(self, place: Place) -> Session:
        """A session that is alive: the last one if it is, and of the same place."""
        if self._session is not None:
            known, session = self._session
            if known == place and session.is_alive:
                return session
            self.end_session()
        session = self._new(place)
        self._session = place, session
        self.starts += 1
        session.wait_until_ready()
        return session

    def _new(self, place: Place) -> Session:
        jars = [] if kafka.missing() else kafka.connector_jars()
        conf = {"spark.jars": ",".join(jars)} if jars else {}
        if place == "cluster":
            assert self.cluster is not None
            return Session(self.folder, self.cluster.master, conf=conf)
        return Session(self.folder, LOCAL, self.clock if place == "clock" else None, conf)

    def end_session(self) -> None:
        """End the session, if there is one."""
        if self._session is not None:
            self._session[1].close()
            self._session = None

    def move_clock(self, seconds: int) -> None:
        """Let the clock of sessions with a false one jump."""
        self.clock_error += seconds
        new = self.clock.with_suffix(".new")
        new.write_text(f"{self.clock_error:+d}\n")
        new.rename(self.clock)

    def close(self) -> None:
        """End everything."""
        self.end_session()
        if self.cluster is not None:
            self.cluster.close()
        if self.database is not None:
            self.database.remove()
        if self.broker is not None:
            self.broker.close()


class Disk:
    """A small file system of its own for a checkpoint, where one may be mounted.

    Parameters
    ----------
    folder
        Where it is mounted.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.is_mounted = _mount("-t", "tmpfs", "-o", "size=64m", "none", str(folder))

    def fill(self) -> None:
        """Leave no room on it."""
        filler = self.folder / ".filler"
        with suppress(OSError), filler.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(1 << 16))

    def make_room(self) -> None:
        """Undo `fill`."""
        (self.folder / ".filler").unlink(missing_ok=True)

    def protect(self) -> bool:
        """Allow no writing; whether nobody was just doing so."""
        return _mount("-o", "remount,ro", str(self.folder))

    def allow(self) -> None:
        """Undo `protect`."""
        _mount("-o", "remount,rw", str(self.folder))

    def close(self) -> None:
        """Remove it."""
        if self.is_mounted:
            subprocess.run(["umount", "-l", str(self.folder)], check=True)


def _mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True).returncode == 0
