"""Getting Kafka's jars, with a Maven that only pretends."""

import sys
from pathlib import Path
from typing import Any

import pytest

from scripts import jars
from streamjoin.spark.kafka import connector_jars, jars_folder

MAVEN = """
import re, sys, zipfile
from pathlib import Path

options = sys.argv[1:]
folder = Path(next(o for o in options if o.startswith("-DoutputDirectory=")).partition("=")[2])
pom = Path(options[options.index("--file") + 1]).read_text()
wanted = re.findall(
    "<dependency><groupId>(.*?)</groupId><artifactId>(.*?)</artifactId><version>(.*?)<", pom
)
lacking = [f"{group}:{name}:jar:{v}" for group, name, v in wanted if f"{name}:{v}" in ABSENT]
if PROBLEM or lacking:
    print("[ERROR] " + (PROBLEM or f"Could not find artifact {lacking[0]} in central"))
    print("[ERROR] Re-run Maven with -X")
    sys.exit(1)
folder.mkdir()
names = [f"{name}-{version}" for _, name, version in wanted]
for name in [*names, "kafka-clients-3.9.2", "scala-library-2.13.1"]:
    with zipfile.ZipFile(folder / f"{name}.jar", "w") as jar:
        for one in CLASSES if name == names[0] else ():
            jar.writestr(one + ".class", "")
"""
CLASSES = [name for names in jars.CLASSES.values() for name in names]


class Maven:
    """Puts itself on the path, and the cache into a folder of the test."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._program = folder / "bin" / "mvn"
        self._program.parent.mkdir()
        monkeypatch.setenv("PATH", str(self._program.parent))
        monkeypatch.setenv("STREAMJOIN_JARS", str(folder / "jars"))
        monkeypatch.setattr("pyspark.__version__", "4.2.1")

    def get(self, absent: str = "", problem: str = "", classes: list[str] = CLASSES) -> None:
        settings = f"ABSENT, PROBLEM, CLASSES = {absent.split()!r}, {problem!r}, {classes!r}"
        text = f"#!{sys.executable}\n{settings}\n{MAVEN}"
        self._program.write_text(text, encoding="utf-8")
        self._program.chmod(0o755)
        jars.main()


@pytest.fixture
def maven(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Maven:
    return Maven(tmp_path, monkeypatch)


def names(paths: list[Path]) -> list[str]:
    return [path.name for path in paths]


def test_each_set_has_a_folder_without_what_spark_has(maven: Maven) -> None:
    maven.get()
    found = names(connector_jars())
    assert found == [
        "kafka-clients-3.9.2.jar",
        "spark-sql-kafka-0-10_2.13-4.2.1.jar",
        "spark-token-provider-kafka-0-10_2.13-4.2.1.jar",
    ]
    assert {"kafka_2.13-3.9.2.jar", "scala-library-2.13.1.jar"} <= set(names(jars.broker()))
    assert sorted(names(list(jars_folder().iterdir()))) == ["broker-3.9.2", "connector-4.2.1"]


def test_what_is_there_is_not_got_again(maven: Maven) -> None:
    maven.get()
    maven.get(problem="nobody asks")


def test_a_repository_that_lags_behind(maven: Maven, capsys: pytest.CaptureFixture[str]) -> None:
    tokens = "spark-token-provider-kafka-0-10_2.13"
    maven.get(absent=f"spark-sql-kafka-0-10_2.13:4.2.1 {tokens}:4.2.1 {tokens}:4.2.0")
    assert names(connector_jars())[1:] == [
        "spark-sql-kafka-0-10_2.13-4.2.0.jar",
        f"{tokens}-4.1.0.jar",
    ]
    assert f"{tokens}:4.2.0 is not in the repository; trying 4.1.0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"problem": "Unknown host"}, "Maven could not get the connector: Unknown host"),
        ({"absent": "kafka_2.13:3.9.2"}, "could not get the broker: Could not find artifact"),
        ({"classes": CLASSES[1:]}, "brought no org/apache/spark/sql/kafka010/KafkaSourceProvider"),
    ],
)
def test_what_cannot_be_got_leaves_nothing_behind(
    maven: Maven, settings: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(SystemExit, match=sentence):
        maven.get(**settings)
    assert set(names(list(jars_folder().iterdir()))) <= {"connector-4.2.1"}
    assert jars.broker() == []


def test_no_maven(maven: Maven) -> None:
    with pytest.raises(SystemExit, match="needs Maven and found no mvn"):
        jars.main()
