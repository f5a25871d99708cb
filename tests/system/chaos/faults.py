"""What goes wrong: its kinds, to what it may happen, and when."""

import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.system.chaos import processes, strikes
from tests.system.chaos.scenarios import Scenario
from tests.system.chaos.strikes import Scene, Undo


@dataclass(frozen=True)
class Fault:
    """Something that is going to happen.

    Parameters
    ----------
    kind
        One of `KINDS`.
    share
        When: after this share of the input was taken,
    delay
        and so many seconds.
    lasts
        Seconds, if it is of a kind that ends.
    choice
        Which of several victims: 0 is the first, just below 1 the last.
    """

    kind: str
    share: float
    delay: float
    lasts: float
    choice: float


@dataclass(frozen=True)
class Kind:
    """A kind of fault.

    Parameters
    ----------
    strike
        Makes it happen, and tells how to undo it; raises `strikes.Missed` where there is no victim.
    weight
        How often it is chosen.
    fits
        To which scenarios it can happen.
    is_kill
        Whether it is a ``kill -9``.
    has_struck
        Whether it has begun to matter; one that waits for its victim has not at first.
    says
        Words of which an error that it causes must have one; none where any will do.
    """

    strike: Callable[[Scene, float], Undo | None]
    weight: float = 1.0
    fits: Callable[[Scenario], bool] = lambda scenario: True
    is_kill: bool = False
    has_struck: Callable[[Scene], bool] = lambda scene: True
    says: tuple[str, ...] = ()


def _on_cluster(scenario: Scenario) -> bool:
    return scenario.place == "cluster"


def _with_clock(scenario: Scenario) -> bool:
    return scenario.place == "clock"


def _with_database(scenario: Scenario) -> bool:
    return "postgres" in (scenario.table, scenario.sink)


def _with_broker(scenario: Scenario) -> bool:
    return scenario.source == "kafka"


_NO_ROOM: Final = ("a disk is full",)
_LOCKED: Final = ("Read-only file system",)

KINDS: Final = {
    "driver": Kind(strikes.driver, 1.5, is_kill=True),
    "driver's Java": Kind(strikes.driver_java, 1.5, is_kill=True),
    "driver's Python": Kind(strikes.driver_python, 1.5, is_kill=True),
    "executor": Kind(strikes.executor, 14, _on_cluster, is_kill=True),
    "cluster's worker": Kind(strikes.machine, 5, _on_cluster, is_kill=True),
    "Python worker": Kind(strikes.of_tasks(processes.workers), 5, is_kill=True),
    "Python daemon": Kind(strikes.of_tasks(processes.daemons), 3.5, is_kill=True),
    "task before the join": Kind(strikes.light("before"), has_struck=strikes.is_burnt("before")),
    "task after the join": Kind(strikes.light("after"), has_struck=strikes.is_burnt("after")),
    "checkpoint full": Kind(strikes.full, says=_NO_ROOM),
    "checkpoint read-only": Kind(strikes.read_only, says=_LOCKED),
    "clock forwards": Kind(strikes.clock(1), 8, _with_clock),
    "clock back": Kind(strikes.clock(-1), 8, _with_clock),
    "database": Kind(strikes.database, 16, _with_database, says=("database",)),
    "broker": Kind(strikes.broker("stop"), 8, _with_broker),
    "broker killed": Kind(strikes.broker("kill"), 8, _with_broker),
}


def draw(rng: random.Random, scenario: Scenario, kills: int, others: int) -> list[Fault]:
    """Faults of one run in their order."""
    chosen: list[str] = []
    for is_kill, n in ((True, kills), (False, others)):
        fitting = [
            name for name, kind in KINDS.items() if kind.is_kill == is_kill and kind.fits(scenario)
        ]
        weights = [KINDS[name].weight for name in fitting]
        chosen += rng.choices(fitting, weights, k=n)
    rng.shuffle(chosen)
    shares = sorted(rng.uniform(0.02, 0.7) for _ in chosen)
    return [
        Fault(kind, share, rng.uniform(0, 1.2), rng.uniform(1, 4), rng.random())
        for kind, share in zip(chosen, shares, strict=True)
    ]


def put_out(base: Path) -> list[str]:
    """Take away fuses that were lit and not met; which ones."""
    left = []
    for name in ("before", "after"):
        with suppress(FileNotFoundError):
            (base / "fuses" / name).unlink()
            left.append(f"task {name} the join")
    return left
