"""How things are made to fail.

A strike gets the run to which it happens and a number that chooses between victims: 0 is the first,
just below 1 the last. It tells how to undo it if it lasts.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from tests.system.chaos import processes
from tests.system.chaos.scenarios import Scenario
from tests.system.chaos.session import Session
from tests.system.chaos.stage import Disk, Stage

Undo = Callable[[], None]
_PATIENCE: Final = 5.0
"""Seconds to wait for a victim."""


class Scene(Protocol):
    """The run to which something happens."""

    scenario: Scenario
    base: Path
    stage: Stage
    session: Session
    disk: Disk


class Missed(Exception):
    """There was nobody to hit."""


def _kill(victims: Callable[[], list[int]], choice: float) -> None:
    """Kill one of some processes; there may be none for a moment, as after the fault before."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        found = victims()
        if found and processes.kill(found[int(choice * len(found))]):
            return
        time.sleep(0.05)
    msg = "there was no such process"
    raise Missed(msg)


def _javas(scene: Scene) -> list[int]:
    """Java processes that run tasks."""
    if scene.stage.cluster is not None and scene.scenario.place == "cluster":
        return scene.stage.cluster.executors()
    return [] if scene.session.java is None else [scene.session.java]


def driver(scene: Scene, choice: float) -> None:
    driver_java(scene, choice)
    processes.kill(scene.session.python)


def driver_java(scene: Scene, choice: float) -> None:
    _kill(lambda: [] if scene.session.java is None else [scene.session.java], choice)


def driver_python(scene: Scene, choice: float) -> None:
    _kill(lambda: [scene.session.python], choice)


def of_tasks(find: Callable[[int], list[int]]) -> Callable[[Scene, float], None]:
    """Kill one of the processes that Java processes with tasks have."""

    def strike(scene: Scene, choice: float) -> None:
        _kill(lambda: [pid for java in _javas(scene) for pid in find(java)], choice)

    return strike


def executor(scene: Scene, choice: float) -> None:
    _kill(lambda: _javas(scene), choice)


def machine(scene: Scene, choice: float) -> Undo:
    cluster, number = scene.stage.cluster, int(2 * choice)
    assert cluster is not None
    cluster.kill_worker(number)
    return lambda: cluster.start_worker(number)


def light(name: str) -> Callable[[Scene, float], None]:
    """A fuse that the next task meets which works before, or after, the join."""

    def strike(scene: Scene, choice: float) -> None:
        (scene.base / "fuses" / name).touch()

    return strike


def is_burnt(name: str) -> Callable[[Scene], bool]:
    """Whether a task has met the fuse."""
    return lambda scene: not (scene.base / "fuses" / name).exists()


def full(scene: Scene, choice: float) -> Undo:
    _need_disk(scene)
    scene.disk.fill()
    return scene.disk.make_room


def read_only(scene: Scene, choice: float) -> Undo:
    _need_disk(scene)
    until = time.monotonic() + _PATIENCE
    while not scene.disk.protect():  # somebody writes
        if time.monotonic() > until:
            msg = "the folder was always busy"
            raise Missed(msg)
        time.sleep(0.005)
    return scene.disk.allow


def _need_disk(scene: Scene) -> None:
    if not scene.disk.is_mounted:
        msg = "a small file system cannot be mounted here"
        raise Missed(msg)


def clock(sign: int) -> Callable[[Scene, float], None]:
    def jump(scene: Scene, choice: float) -> None:
        scene.stage.move_clock(sign * round(60 + 540 * choice))

    return jump


def database(scene: Scene, choice: float) -> Undo:
    server = scene.stage.database
    assert server is not None
    server.stop()
    return server.start


def broker(how: str) -> Callable[[Scene, float], Undo]:
    def down(scene: Scene, choice: float) -> Undo:
        broker = scene.stage.broker
        assert broker is not None
        getattr(broker, how)()
        return broker.start_again

    return down
