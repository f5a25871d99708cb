"""How the processes of a join share its table: looks, changes, and when it cannot be reached."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streamjoin.errors import TableError
from streamjoin.tables import access
from streamjoin.tables.access import TableAccess
from streamjoin.tables.base import Changes


@dataclass
class Flaky:
    """A table whose refreshes are written down beforehand."""

    looks: list[Changes | TableError | None]
    version: str = "0"

    def refresh(self) -> Changes | None:
        found = self.looks.pop(0)
        if isinstance(found, TableError):
            raise found
        if found is not None:
            self.version = str(int(self.version) + 1)
        return found

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class FlakyTable:
    looks: tuple[Changes | TableError | None, ...]
    schema: pa.Schema = field(default_factory=lambda: pa.schema({"id": pa.int64()}))
    key: tuple[str, ...] = ("id",)
    is_unique: bool = True

    def open(self, folder: Path | None, memory: int) -> Flaky:
        return Flaky(list(self.looks))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """What time it is, in microseconds."""
    now = [1_000_000]
    monkeypatch.setattr(access, "_now_us", lambda: now[0])
    monkeypatch.setattr(access, "_OPENED", {})
    return now


def test_looks_and_what_changed_since(clock: list[int]) -> None:
    looks = (None, Changes(added=(3,)), Changes(removed=(1,)))
    access = TableAccess(FlakyTable(looks), None, 0, refresh_us=1_000_000)  # type: ignore[arg-type]
    known = access.current()
    assert access.current() is known
    assert known.table.version == "0"
    for seconds, version in ((2, "0"), (3, "1"), (4, "2")):
        clock[0] = seconds * 1_000_000
        assert access.current().table.version == version
    assert known.since("0") == Changes(added=(3,), removed=(1,))
    assert known.since("1") == Changes(removed=(1,))
    assert known.since("of long ago").whole


def test_another_processs_version_means_a_look(clock: list[int]) -> None:
    access = TableAccess(FlakyTable((Changes(added=(3,)),)), None, 0, refresh_us=10**9)  # type: ignore[arg-type]
    access.current()
    assert access.current("1").table.version == "1"


def test_a_table_that_cannot_be_reached(clock: list[int]) -> None:
    away = TableError("the table is away")
    access = TableAccess(FlakyTable((away,)), None, 0, refresh_us=0)  # type: ignore[arg-type]
    access.current()
    with pytest.raises(TableError, match="the table is away"):
        access.current()
    access.forget()
    assert access.current().table.version == "0"


def test_it_is_stale_for_so_long_and_not_longer(
    clock: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    away = TableError("the table is away")
    table: Any = FlakyTable((away, None, away, away))
    access = TableAccess(
        table, None, 0, refresh_us=0, on_failure="stale",
        stale_us=5_000_000,
    )  # fmt: skip
    known = access.current()
    clock[0] = 5_000_000
    assert access.current() is known
    assert access.is_patient(known)
    assert "the table is away; what is known of it is used" in caplog.text
    clock[0] = 7_000_000
    access.current()  # reached again
    clock[0] = 11_000_000
    access.current()
    clock[0] = 13_000_000
    assert not access.is_patient(known)
    with pytest.raises(TableError, match="last reached 6 s ago, longer than max_staleness allows"):
        access.current()
