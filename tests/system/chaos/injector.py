"""Lets planned faults happen to a run one after the other, and sees it recover from each."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from tests.system.chaos import faults
from tests.system.chaos.faults import KINDS, Fault
from tests.system.chaos.strikes import Missed, Scene, Undo

Log = Callable[..., None]
_TRIES = 5
"""To find a victim of a fault."""


@dataclass
class Happened:
    """A fault that happened.

    Parameters
    ----------
    fault, at
        What, and when, by the monotonic clock.
    commit
        The last batch that was finished before it, or before it ended.
    undo
        How it is ended, until it is.
    ended, recovered
        When it ended, if it is of a kind that does; when the next batch was finished.
    missed
        Why it did not happen after all, if so.
    """

    fault: Fault
    at: float
    commit: int
    undo: Undo | None = field(default=None, repr=False)
    ended: float | None = None
    recovered: float | None = None
    missed: str = ""

    @property
    def seconds(self) -> float:
        """From the fault, or from its end, to the next finished batch."""
        return (self.recovered or time.monotonic()) - (self.ended or self.at)

    def end(self) -> None:
        """Undo it, if that is still to be done."""
        undo, self.undo = self.undo, None
        if undo is not None:
            undo()
            self.ended = time.monotonic()


class Injector:
    """Faults of one run.

    Parameters
    ----------
    scene
        The run.
    planned
        What is going to happen to it.
    log
        Called with what happens.
    """

    def __init__(self, scene: Scene, planned: Sequence[Fault], log: Log) -> None:
        self._scene, self._planned, self._log = scene, list(planned), log
        self._due: float | None = None
        self._tries = 0
        self.happened: list[Happened] = []

    @property
    def open(self) -> list[Happened]:
        """Faults after which no batch was finished yet."""
        return [one for one in self.happened if one.recovered is None]

    @property
    def is_broken(self) -> bool:
        """Whether something is away that will come back."""
        return any(one.undo for one in self.happened)

    def may_feed(self, share: float, is_idle: bool) -> bool:
        """Whether a query that has been given this share, and may have taken it all, may have more.

        What comes after the share of the next fault waits for it, so that the input does not end
        before all have struck. But the query stays busy: a fault wants a victim and a next batch.
        """
        if not self._planned or share <= self._planned[0].share:
            return True
        return is_idle and (self._due is not None or bool(self.open))

    def look(self, commit: int) -> None:
        """See what is over, given the last batch that was finished."""
        now = time.monotonic()
        for one in self.open:
            if one.undo is not None and now >= one.at + one.fault.lasts:
                one.end()
                one.commit = commit
            elif not KINDS[one.fault.kind].has_struck(self._scene):
                one.at, one.commit = now, commit
            elif one.undo is None and commit > one.commit:
                one.recovered = now
                self._log("recovered", kind=one.fault.kind, seconds=round(one.seconds, 2))

    def strike(self, commit: int, share: float) -> None:
        """Let the next fault happen, if its time has come and the one before is over."""
        if not self._planned or self.open:
            return
        fault, now = self._planned[0], time.monotonic()
        if self._due is None:
            if share >= fault.share and commit >= 0:
                self._due = now + fault.delay
        elif now >= self._due:
            one = Happened(fault, now, commit)
            try:
                one.undo = KINDS[fault.kind].strike(self._scene, fault.choice)
            except Missed as missed:
                self._tries += 1
                if self._tries < _TRIES:
                    self._due = time.monotonic() + 1
                    return
                one.missed, one.recovered = str(missed), now
            self._planned.pop(0)
            self._due, self._tries = None, 0
            self.happened.append(one)
            self._log("fault", kind=fault.kind, commit=commit, missed=one.missed)

    def close(self) -> None:
        """Undo everything; what has not struck by now will not."""
        for one in self.happened:
            one.end()
        now = time.monotonic()
        for fault in self._planned:
            why = "the input had ended"
            self.happened.append(Happened(fault, now, -1, recovered=now, missed=why))
        self._planned.clear()
        for kind in faults.put_out(self._scene.base):
            one = next(one for one in reversed(self.happened) if one.fault.kind == kind)
            one.missed = "no task met it"
