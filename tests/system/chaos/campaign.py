"""Many runs: which scenarios, with which faults, and what all of them showed."""

import json
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from tests.system.chaos.faults import KINDS, Fault, draw
from tests.system.chaos.run import Run
from tests.system.chaos.scenarios import Scenario
from tests.system.chaos.stage import Stage
from tests.system.chaos.verdict import Verdict

FEWEST_KILLS: Final = 3
MOST_KILLS: Final = 5
OTHERS: Final = 2
"""Of one run; scenarios are run as often as these allow, each once if possible."""


@dataclass(frozen=True)
class Ran:
    """What one run showed."""

    scenario: Scenario
    round: int
    seconds: float
    rows_fed: int
    restarts: int
    verdict: Verdict
    struck: tuple[tuple[str, float], ...]
    """Kinds of faults, and seconds until the next batch was finished."""
    missed: tuple[tuple[str, str], ...]
    """Kinds of faults that found no victim, and why."""
    errors: tuple[str, ...]
    """With which the query failed."""


@dataclass
class Campaign:
    """What all runs showed."""

    seed: int
    planned_kills: int = 0
    seconds: float = 0.0
    sessions: int = 0
    runs: list[Ran] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Scenarios that cannot be run here, and why."""

    @property
    def is_right(self) -> bool:
        """Whether nothing was wrong in any run, and all kills were made."""
        return self.n_kills >= self.planned_kills and all(run.verdict.is_right for run in self.runs)

    def by_kind(self) -> dict[str, list[float]]:
        """Seconds to recover from every fault that struck, by its kind."""
        found: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for run in self.runs:
            for kind, seconds in run.struck:
                found[kind].append(seconds)
        return {kind: seconds for kind, seconds in found.items() if seconds}

    @property
    def n_kills(self) -> int:
        """Processes that were killed."""
        return sum(len(all_) for kind, all_ in self.by_kind().items() if KINDS[kind].is_kill)


class Diary:
    """Says what happens, a line each, and keeps it."""

    def __init__(self, file: Path) -> None:
        self._file, self._began = file.open("w"), time.monotonic()

    def __call__(self, happened: str, **more: Any) -> None:
        """Note something; texts of several lines go to the file only."""
        at = round(time.monotonic() - self._began, 2)
        self._file.write(json.dumps({"at": at, "happened": happened, **more}) + "\n")
        self._file.flush()
        said = " ".join(f"{key}={value}" for key, value in more.items() if value and key != "text")
        sys.stdout.write(f"{at:8.1f} s  {happened:14} {said}\n")
        sys.stdout.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class Planned(NamedTuple):
    """A run that is going to be: of this scenario, which was there so often before."""

    scenario: Scenario
    round: int
    faults: list[Fault]


def plan(
    kills: int, seed: int, scenarios: Sequence[Scenario], first_round: int = 0
) -> list[Planned]:
    """Runs with so many kills in all; rounds before the first one have been run already.

    Scenarios that run at the same place follow each other, so that they share a session.
    """
    n_runs = max(-(-kills // MOST_KILLS), min(len(scenarios), kills // FEWEST_KILLS))
    runs = [
        (scenarios[i % len(scenarios)], first_round + i // len(scenarios)) for i in range(n_runs)
    ]
    runs.sort(key=lambda run: run[0].place, reverse=True)
    found, left = [], kills
    for number, (scenario, before) in enumerate(runs):
        n = -(-left // (n_runs - number))
        left -= n
        rng = random.Random(f"{seed} {scenario.name} {before}")
        found.append(Planned(scenario, before, draw(rng, scenario, n, OTHERS)))
    return found


def carry_out(
    runs: Sequence[Planned],
    seed: int,
    log: Path,
    *,
    keep: bool = False,
    before: Campaign | None = None,
) -> Campaign:
    """Carry out a campaign.

    Parameters
    ----------
    runs
        What is run, and what happens to it.
    seed
        Of the rows.
    log
        File that gets a line for everything that happens.
    keep
        Whether the files of runs are kept; those of a run that is wrong are anyway.
    before
        The same campaign up to here, if it is gone on with.
    """
    campaign, diary = before or Campaign(seed), Diary(log)
    campaign.planned_kills = campaign.n_kills + sum(
        KINDS[fault.kind].is_kill for run in runs for fault in run.faults
    )
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="sj-chaos-"))
    stage = Stage(folder)
    try:
        for number, (scenario, earlier, faults) in enumerate(runs):
            kinds = ", ".join(fault.kind for fault in faults)
            diary("run", scenario=scenario.name, faults=kinds, text=[asdict(f) for f in faults])
            run = Run(scenario, faults, seed + 1000 * earlier, stage, folder / str(number), diary)
            started = time.monotonic()
            verdict = _go(run)
            ran = _ran(run, earlier, time.monotonic() - started, verdict)
            campaign.runs.append(ran)
            diary(
                "judged", scenario=scenario.name, seconds=round(ran.seconds, 1), **asdict(verdict)
            )
            if verdict.is_right and not keep:
                run.remove()
    finally:
        stage.close()
        campaign.seconds += time.monotonic() - began
        campaign.sessions += stage.starts
        diary.close()
    if campaign.is_right and not keep:
        shutil.rmtree(folder, ignore_errors=True)
    return campaign


def _go(run: Run) -> Verdict:
    """Run it; if that itself fails, the run is wrong and the others go on."""
    try:
        return run.go()
    except Exception as error:
        run.stage.end_session()  # its query may still be running there
        return Verdict(0, 0, complaints=(f"the run broke off: {error!r}",))


def _ran(run: Run, before: int, seconds: float, verdict: Verdict) -> Ran:
    tables = [table for tables in run.input.fed.values() for table in tables]
    happened = run.faults.happened
    return Ran(
        scenario=run.scenario,
        round=before,
        seconds=seconds,
        rows_fed=sum(table.num_rows for table in tables),
        restarts=run.restarts,
        verdict=verdict,
        struck=tuple((one.fault.kind, one.seconds) for one in happened if not one.missed),
        missed=tuple((one.fault.kind, one.missed) for one in happened if one.missed),
        errors=tuple(run.errors),
    )
