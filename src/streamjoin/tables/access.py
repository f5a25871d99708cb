"""The table of a join, as the processes that read it share it.

Each Python worker opens it once and looks at it again now and then. What has changed between two
looks is remembered, so that a shard which another process worked for before knows what to forget.
"""

import atexit
import logging
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from streamjoin.errors import TableError
from streamjoin.tables.base import Changes, OpenTable, Table

logger = logging.getLogger(__name__)
OnFailure = Literal["fail", "stale"]
MOST_OPEN: Final = 16
"""Tables that a process has open; the oldest is closed."""
MOST_LOOKS: Final = 64
"""Changes that are remembered."""


@dataclass(frozen=True)
class TableAccess:
    """How a table is read: values only.

    Parameters
    ----------
    table
        Where it lives.
    folder
        Where the index of its keys is kept; None for one that is not kept.
    memory
        Bytes that making the index may use.
    refresh_us
        After so long it is looked at again; None for never.
    on_failure, stale_us
        What happens when it cannot be reached: an error, or what is known is used for so long.
    """

    table: Table
    folder: str | None
    memory: int
    refresh_us: int | None = None
    on_failure: OnFailure = "fail"
    stale_us: int = 0

    def current(self, version: str = "") -> "Current":
        """The table as it is, or as it was when it was last reached.

        If it is not of a version that is known to exist it is looked at again.
        """
        known = _OPENED.get(self)
        if known is None:
            folder = None if self.folder is None else Path(self.folder)
            opened = self.table.open(folder, self.memory)
            known = _OPENED[self] = Current(opened, _now_us())
            while len(_OPENED) > MOST_OPEN:
                next(iter(_OPENED)).forget()
        elif self.refresh_us is not None and (
            _now_us() - known.looked_us >= self.refresh_us
            or version not in ("", known.table.version)
        ):
            self._look(known)
        return known

    def forget(self) -> None:
        """Open the table anew the next time: it cannot be read as it was known."""
        known = _OPENED.pop(self, None)
        if known is not None:
            known.table.close()

    def is_patient(self, known: "Current") -> bool:
        """Whether rows may wait until the table can be reached again."""
        return self.on_failure == "stale" and _now_us() - known.reached_us <= self.stale_us

    def _look(self, known: "Current") -> None:
        before = known.table.version
        try:
            changes = known.table.refresh()
        except TableError as error:
            if self.on_failure == "fail":
                raise
            late = _now_us() - known.reached_us
            if late > self.stale_us:
                ago = f"it was last reached {late / 1e6:.0f} s ago"
                raise TableError(f"{error}; {ago}, longer than max_staleness allows") from None
            logger.warning("%s; what is known of it is used", error)
            known.looked_us = _now_us()
            return
        known.looked_us = known.reached_us = _now_us()
        if changes is not None:
            known.history = [*known.history[1 - MOST_LOOKS :], (before, changes)]


@dataclass
class Current:
    """An open table and what is known of its past.

    Parameters
    ----------
    table
        It.
    looked_us, reached_us
        When it was last looked at, and when that last worked.
    history
        Versions that it had, each with how the one after it differs.
    """

    table: OpenTable
    looked_us: int
    reached_us: int = 0
    history: list[tuple[str, Changes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.reached_us = self.reached_us or self.looked_us

    def note_reached(self) -> None:
        """It was read just now."""
        self.reached_us = _now_us()

    def since(self, version: str) -> Changes:
        """How the table differs from what it was.

        Examples
        --------
        >>> now = Current(table=None, looked_us=0)
        >>> now.history = [("a", Changes(added=(3,))), ("b", Changes(removed=(1,)))]
        >>> now.since("a")
        Changes(whole=False, added=(3,), removed=(1,))
        >>> now.since("of another time").whole
        True
        """
        places = [i for i, (before, _) in enumerate(self.history) if before == version]
        if not places:
            return Changes(whole=True)
        all_ = [changes for _, changes in self.history[places[-1] :]]
        return Changes(
            any(one.whole for one in all_),
            tuple(dict.fromkeys(p for one in all_ for p in one.added)),
            tuple(dict.fromkeys(p for one in all_ for p in one.removed)),
        )


_OPENED: dict[TableAccess, Current] = {}


@atexit.register
def _close() -> None:
    """Let go of connections before the interpreter takes their modules away."""
    for known in _OPENED.values():
        known.table.close()


def _now_us() -> int:
    return time.time_ns() // 1000
