import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from streamjoin.errors import EngineError
from streamjoin.spark.session import require_java, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def fake_java(folder: Path, version: str) -> None:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020' >&2\n", encoding="utf-8"
    )
    program.chmod(0o755)


def test_missing_java_is_one_sentence(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match="needs Java 17 or later and none was found; install"):
        start_session()


def test_java_not_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EngineError, match="none was found"):
        require_java()


@pytest.mark.parametrize(("version", "found"), [("1.8.0_392", 8), ("11.0.2", 11)])
def test_old_java_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, found: int
) -> None:
    fake_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match=f"Java {found} was found"):
        require_java()


def test_new_java_is_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path, "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    require_java()


def test_settings_of_the_session(spark: "SparkSession") -> None:
    assert spark.conf.get("spark.sql.shuffle.partitions") == "2"
    assert "RocksDB" in str(spark.conf.get("spark.sql.streaming.stateStore.providerClass"))
    assert spark.conf.get("spark.ui.enabled") == "false"


@pytest.mark.usefixtures("spark")
def test_workers_run_this_python() -> None:
    assert os.environ["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert os.environ["PYSPARK_PYTHON"]


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="Spark's own daemon runs there")
def test_workers_have_imported_what_joins_need(spark: "SparkSession") -> None:
    def look(_: object) -> list[tuple[str, bool]]:
        daemon = Path("/proc", str(os.getppid()), "cmdline").read_text().split("\0")[2]
        return [(daemon, "streamjoin.spark.processor" in sys.modules)]

    seen = spark.sparkContext.parallelize([0], 1).flatMap(look).collect()
    assert seen == [("streamjoin.spark.daemon", True)]
