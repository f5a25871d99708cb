from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamjoin.cli.app import run_app
from streamjoin.errors import ConfigError, EngineError
from streamjoin.spark import session
from streamjoin.spark.operator import n_shards_of
from streamjoin.spark.requirements import prepare
from streamjoin.spark.session import _require_executors

PIPELINE = """
[sources.a]
type = "rate"
[sources.b]
type = "rate"
[join]
on = "value"
time = "timestamp"
window = "1 second"
[sink]
type = "console"
"""


PARTITIONS = "spark.sql.shuffle.partitions"
DYNAMIC = {"spark.dynamicAllocation.enabled": "true"}


def context(
    *seen: list[int],
    stopped: bool = False,
    master: str = "spark://head:7077",
    conf: dict[str, str] | None = None,
) -> Any:
    """What is asked of a SparkContext: the cores of its executors, look by look."""
    looks = chain(seen, repeat(seen[-1]))

    def executors(_active: bool) -> Any:
        cores = next(looks)
        found = [SimpleNamespace(id=lambda: "driver", totalCores=lambda: 0)]
        found += [SimpleNamespace(id=lambda: "0", totalCores=lambda n=n: n) for n in cores]
        return SimpleNamespace(size=lambda: len(found), apply=found.__getitem__)

    store = SimpleNamespace(executorList=executors)
    scala = SimpleNamespace(isStopped=lambda: stopped, statusStore=lambda: store)
    return SimpleNamespace(
        master=master,
        getConf=lambda: conf or {},
        pythonExec="python3",
        environment={},
        defaultParallelism=sum(seen[-1]),
        _jsc=SimpleNamespace(sc=lambda: scala),
    )


class FakeSession:
    """What is asked of a session of a cluster."""

    version = "4.2.0"

    def __init__(self, context: Any, conf: dict[str, str]) -> None:
        self.sparkContext, self.stopped = context, False
        self._conf = {"spark.master": context.master, **conf}
        self.conf = SimpleNamespace(
            get=self._conf.get, set=self._conf.__setitem__, getAll=self._conf
        )

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "_EXECUTOR_SECONDS", 0.3)
    monkeypatch.setattr(session, "_SETTLED_SECONDS", 0.3)
    monkeypatch.setattr(session, "_wait_for_executors", session._wait_for_executors.__wrapped__)


def test_cores_are_counted_when_all_executors_are_there() -> None:
    assert session.executor_cores(context([], [2], [2, 2], [2, 2, 4])) == 8


def test_a_cluster_without_room_is_one_sentence() -> None:
    with pytest.raises(EngineError, match="no executor has started for 'spark://head:7077' within"):
        session.executor_cores(context([]))


def test_an_application_that_the_master_ended_is_one_sentence() -> None:
    with pytest.raises(EngineError, match="has ended the application"):
        session.executor_cores(context([1], stopped=True))


@pytest.mark.parametrize(
    ("conf", "cores"),
    [
        ({"maxExecutors": "10", "minExecutors": "2"}, 40),
        ({"maxExecutors": str(2**31 - 1), "initialExecutors": "3", "minExecutors": "2"}, 12),
        ({"minExecutors": "2"}, 8),
        ({}, 200),
    ],
)
def test_where_executors_come_and_go_the_settings_say_how_many(
    conf: dict[str, str], cores: int
) -> None:
    named = {f"spark.dynamicAllocation.{key}": value for key, value in conf.items()}
    settings = {**DYNAMIC, "spark.executor.cores": "4", **named}
    spark: Any = FakeSession(context([], conf=settings), {})
    assert prepare(spark) == cores
    assert n_shards_of(None, spark, cores) == cores


def test_a_whole_machine_has_nobody_knows_how_many_cores() -> None:
    conf = {**DYNAMIC, "spark.dynamicAllocation.maxExecutors": "10"}
    assert session.executor_cores(context([], conf=conf)) == 200
    assert session.executor_cores(context([], conf=conf, master="yarn")) == 10
    conf["spark.default.parallelism"] = "16"
    assert session.executor_cores(context([], conf=conf)) == 16


def test_shards_are_the_partitions_though_a_worker_is_down() -> None:
    spark: Any = FakeSession(context([2]), {PARTITIONS: "4"})
    assert prepare(spark) == 4
    assert n_shards_of(None, spark, 4) == 4
    assert n_shards_of(3, spark, 4) == 3


def test_shards_of_a_table_are_the_cores_of_now_if_nobody_set_partitions() -> None:
    spark: Any = FakeSession(context([2]), {})
    assert n_shards_of(None, spark, 200) == 2


@pytest.mark.parametrize(("partitions", "shards"), [(1, 1), (2, 2), (8, 2)])
def test_local_shards_are_at_most_the_cores(partitions: int, shards: int) -> None:
    here = context([2], master="local[2]")
    spark: Any = FakeSession(here, {PARTITIONS: str(partitions)})
    assert n_shards_of(None, spark, partitions) == shards


@pytest.mark.parametrize("is_new", [True, False])
def test_only_a_session_of_our_own_is_stopped(is_new: bool) -> None:
    spark: Any = FakeSession(context([]), {})
    with pytest.raises(EngineError, match="no executor has started"):
        _require_executors(spark, is_new)
    assert spark.stopped == is_new


def test_a_local_session_that_was_there_has_no_executors_to_wait_for() -> None:
    spark: Any = FakeSession(context([], master="local[2]"), {})
    _require_executors(spark, is_new=False)
    assert not spark.stopped


@pytest.mark.parametrize(
    "master",
    [
        "spark://head",
        "spark://head:7077/",
        "spark://head:port",
        "spark://head:70777",
        "spark://head:7077,",
        "spark://head:7077,other",
        "spark://me:secret@head:7077",
        "spark://",
        f"spark://{'h' * 64}:7077",
        "spark://head..example:7077",
    ],
)
def test_an_address_that_is_none_is_one_sentence(master: str) -> None:
    with pytest.raises(ConfigError) as error:
        session.require_answer(master)
    assert str(error.value) == f"master: got {master!r}; allowed: spark://HOST:PORT"


@pytest.mark.parametrize(
    ("master", "code", "said"),
    [
        ("spark://127.0.0.1:1", 1, "nothing answers at 'spark://127.0.0.1:1' (Connection refused)"),
        ("sprak://head:7077", 2, "--master: got 'sprak://head:7077'; allowed: local[N], spark://"),
    ],
)
def test_a_master_that_is_not_there(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], master: str, code: int, said: str
) -> None:
    file = tmp_path / "file.toml"
    file.write_text(PIPELINE, encoding="utf-8")
    assert run_app(["run", str(file), "--master", master]) == code
    assert said in capfd.readouterr().err
