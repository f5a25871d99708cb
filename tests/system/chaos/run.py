"""One run: a query is fed and started again whenever it ends, while faults happen to it."""

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from tests.system.chaos import results
from tests.system.chaos.checkpoint import Cuts, last_commit, read_cuts
from tests.system.chaos.faults import KINDS, Fault
from tests.system.chaos.feeding import feed_of
from tests.system.chaos.injector import Injector, Log
from tests.system.chaos.scenarios import Scenario
from tests.system.chaos.session import Session
from tests.system.chaos.stage import Disk, Stage
from tests.system.chaos.verdict import Verdict, judge

STUCK: Final = 300.0
"""Seconds without a finished batch, and nothing is broken: it will not go on any more."""
MOST_FAILURES: Final = 30
"""Of a query between two finished batches."""
SETTLED: Final = 20.0
"""Seconds without a finished batch after all was taken: no more results will come."""
TICK: Final = 0.05


class Run:
    """One run of a scenario.

    Parameters
    ----------
    scenario, planned
        What is run, and what happens to it.
    seed
        Of the rows.
    stage
        What is around it.
    base
        Its folder.
    log
        Called with what happens.

    Attributes
    ----------
    reports
        What the join counted, by batch.
    errors
        With which the query failed.
    restarts
        How often the query was started again.
    """

    def __init__(
        self,
        scenario: Scenario,
        planned: Sequence[Fault],
        seed: int,
        stage: Stage,
        base: Path,
        log: Log,
    ) -> None:
        self.scenario, self.stage, self.base, self._log = scenario, stage, base, log
        (base / "fuses").mkdir(parents=True)
        self.disk = Disk(base / "checkpoint")
        self._at = stage.set_up(scenario)
        self.input = feed_of(scenario, seed, base, stage.broker)
        self.faults = Injector(self, planned, log)
        self.reports: dict[int, dict[str, Any]] = {}
        self.errors: list[str] = []
        self.restarts = -1
        self._complaints: list[str] = []
        self._commit, self._moved, self._failures = -1, time.monotonic(), 0
        self._cuts = Cuts({})
        self._start_at: float | None = 0.0

    def go(self) -> Verdict:
        """Run it, and judge what came out."""
        try:
            self.session: Session = self.stage.session(self.scenario.place)
            while not self._is_over():
                self._supervise()
                self._look()
                if self.faults.may_feed(self.input.given, self._share >= self.input.given):
                    self.input.feed(self._cuts)
                if self._start_at is None:
                    self.faults.strike(self._commit, self._share)
                time.sleep(TICK)
            self._stop()
            self.faults.close()
            return self._verdict()
        finally:
            self.faults.close()
            self.disk.close()

    def remove(self) -> None:
        """Remove its files."""
        shutil.rmtree(self.base, ignore_errors=True)

    @property
    def _share(self) -> float:
        """What part of the input was taken."""
        return sum(self._cuts.taken.values()) / self.input.total

    def _supervise(self) -> None:
        """Start whatever has ended, as an operator would."""
        for event in self.session.events():
            if event["what"] == "batch":
                self.reports[event["batch"]] = event
            elif event["what"] in ("failed", "stopped"):
                self._failed(event)
        if not self.session.is_alive:
            self.session.bury()
            self._log("session ended", scenario=self.scenario.name)
            self.session = self.stage.session(self.scenario.place)
            self._start_at = 0.0
        if self._start_at is not None and time.monotonic() >= self._start_at:
            self._start_at = None
            self.restarts += 1
            order = {"scenario": self.scenario.name, "base": str(self.base), "at": self._at}
            self.session.order(order)

    def _failed(self, event: dict[str, Any]) -> None:
        """Note why a query has failed; it must be because of what happened to it, and say so."""
        cause = event.get("cause", "it stopped without being asked to")
        self._log("query failed", cause=cause, text=event.get("text"))
        self.errors.append(cause)
        self._failures += 1
        self._start_at = time.monotonic() + 0.5
        kinds = [one.fault.kind for one in self.faults.open]
        words = [word for kind in kinds for word in KINDS[kind].says]
        if not kinds:
            self._complaints.append(f"the query failed by itself: {cause}")
        elif words and not any(word in cause for word in words):
            self._complaints.append(f"{kinds[-1]}: the error does not say so: {cause}")

    def _look(self) -> None:
        """See how far the query has come."""
        commit = last_commit(self.base / "checkpoint")
        if commit != self._commit:
            self._commit, self._moved, self._failures = commit, time.monotonic(), 0
            self._cuts = read_cuts(self.base / "checkpoint")
        if self.faults.is_broken:
            self._moved = time.monotonic()
        self.faults.look(commit)

    def _is_over(self) -> bool:
        quiet = time.monotonic() - self._moved
        if quiet > STUCK:
            self._complaints.append(f"no batch was finished for {STUCK:g} s")
            return True
        if self._failures > MOST_FAILURES:
            self._complaints.append(f"it failed {self._failures} times without finishing a batch")
            return True
        if self._share < 1 or self.faults.is_broken or self._start_at is not None:
            return False
        return quiet > SETTLED or (quiet > 0.5 and self._has_all())

    def _has_all(self) -> bool:
        """Whether no results are on their way any more, as far as one can tell."""
        if self.scenario.kind != "table":
            return True
        rows: int = sum(table.num_rows for table in self.input.fed["l"])
        return results.count(self.scenario, self.base, self.stage) >= rows

    def _stop(self) -> None:
        self.session.order(None)
        until = time.monotonic() + STUCK
        while self.session.is_alive and time.monotonic() < until:
            for event in self.session.events():
                if event["what"] == "batch":
                    self.reports[event["batch"]] = event
                elif event["what"] in ("stopped", "failed"):
                    return
            time.sleep(TICK)
        self._complaints.append("the query could not be stopped")
        self.stage.end_session()

    def _verdict(self) -> Verdict:
        cuts = read_cuts(self.base / "checkpoint")
        written = results.read(self.scenario, self.base, self.stage)
        verdict = judge(self.scenario, self.input.fed, cuts, written, self.reports)
        return verdict.with_complaints(self._complaints)
