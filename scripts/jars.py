"""Get Spark's Kafka connector and a Kafka broker, with Maven, into a cache outside the repository.

python scripts/jars.py        what is there already stays

The cache is `$STREAMJOIN_JARS`, or the folder ``streamjoin/jars`` of the user's cache. In it:

    connector-SPARK/    what Spark needs to read and write Kafka, SPARK being its version
    broker-KAFKA/       what a broker needs, of the version of the connector's client
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pyspark

from streamjoin._private import make_folders
from streamjoin.spark.kafka import CONNECTOR, connector_jars, jars_folder

SCALA = CONNECTOR.rpartition("_")[2]
TOKENS = f"org.apache.spark:spark-token-provider-kafka-0-10_{SCALA}"
BROKER = f"org.apache.kafka:kafka_{SCALA}"
CLASSES = {
    "connector": (
        "org/apache/spark/sql/kafka010/KafkaSourceProvider",
        "org/apache/spark/kafka010/KafkaTokenUtil",
        "org/apache/kafka/clients/consumer/KafkaConsumer",
        "org/apache/commons/pool2/ObjectPool",
    ),
    "broker": ("kafka/Kafka", "kafka/tools/StorageTool", "org/slf4j/Logger", "scala/Option"),
}
"""One of each part; a folder without them is not complete."""
# Spark's own description names a mirror before the central repository, and Maven gives up if only
# that one cannot be reached. A repository of the same name takes its place here.
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><packaging>pom</packaging>
<groupId>streamjoin</groupId><artifactId>jars</artifactId><version>1</version>
<repositories><repository>
<id>gcs-maven-central-mirror</id><url>file:///nowhere</url>
<releases><enabled>false</enabled></releases><snapshots><enabled>false</enabled></snapshots>
</repository></repositories>
<dependencies>{}</dependencies>
</project>"""
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)


def broker() -> list[Path]:
    """Jars of a broker that suits the connector; none before `make jars`."""
    version = _client(connector_jars())
    return sorted((jars_folder() / f"broker-{version}").glob("*.jar")) if version else []


def main() -> None:
    """Get what is not there."""
    if not connector_jars():
        spark = pyspark.__version__
        _get("connector", spark, {one: candidates(spark) for one in (CONNECTOR, TOKENS)})
    if not broker():
        version = _client(connector_jars())
        _get("broker", version, {BROKER: [version]})
    print(f"Kafka's jars are in {jars_folder()}")


def candidates(spark: str) -> list[str]:
    """Versions that may serve, the best first: 4.2.1 may do with 4.2.0, 4.1.0 or 4.0.0."""
    major, minor = spark.split(".")[:2]
    older = [f"{major}.{n}.0" for n in range(int(minor), -1, -1)]
    return [spark, *(one for one in older if one != spark)]


def _get(name: str, version: str, versions: dict[str, list[str]]) -> None:
    """Fill a folder with artifacts, of the first version that the repository has of each.

    It appears under its name when it is complete.
    """
    make_folders(jars_folder())
    with tempfile.TemporaryDirectory(dir=jars_folder(), prefix="new-") as work:
        made = Path(work, name)
        while (said := _copy(versions, made)) is not None:
            absent = next((one for one in versions if f"find artifact {one}:" in said), None)
            if absent is None or len(versions[absent]) == 1:
                sys.exit(f"jars: Maven could not get the {name}: {said}")
            wanted = versions[absent].pop(0)
            print(f"{absent}:{wanted} is not in the repository; trying {versions[absent][0]}")
        if name == "connector":
            _drop_what_spark_has(made)
        lacking = sorted(set(CLASSES[name]) - set(_classes(made.glob("*.jar"))))
        if lacking:
            sys.exit(f"jars: Maven brought no {', '.join(lacking)} for the {name}")
        made.rename(jars_folder() / f"{name}-{version}")


def _copy(versions: dict[str, list[str]], folder: Path) -> str | None:
    """Let Maven copy artifacts with all that they need; what it complains about, or None."""
    program = shutil.which("mvn")
    if program is None:
        sys.exit("jars: needs Maven and found no mvn (Debian: apt install maven)")
    pom = folder.with_name("pom.xml")
    needed = [DEPENDENCY.format(*name.split(":"), tries[0]) for name, tries in versions.items()]
    pom.write_text(POM.format("".join(needed)), encoding="utf-8")
    # Without the update it would remember for a day what was not there.
    options = ("--quiet", "--batch-mode", "--update-snapshots", "--file", str(pom))
    goal = ("dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={folder}")
    command = [program, *options, *goal]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return None
    lines = [line for line in done.stdout.splitlines() if "[ERROR]" in line]
    return lines[0].partition("[ERROR] ")[2] if lines else f"exit code {done.returncode}"


def _drop_what_spark_has(folder: Path) -> None:
    """Two versions of one library in a Java are one too many."""
    there = {_library(jar) for jar in Path(pyspark.__path__[0], "jars").glob("*.jar")}
    for jar in folder.glob("*.jar"):
        if _library(jar) in there:
            jar.unlink()


def _library(jar: Path) -> str:
    return jar.stem.rpartition("-")[0]


def _classes(jars: Iterable[Path]) -> Iterable[str]:
    for jar in jars:
        with zipfile.ZipFile(jar) as file:
            yield from (name.removesuffix(".class") for name in file.namelist())


def _client(jars: Iterable[Path]) -> str:
    """The version of Kafka's client among these; empty if there is none."""
    found = [jar.stem.rpartition("-") for jar in jars]
    return next((version for name, _, version in found if name == "kafka-clients"), "")


if __name__ == "__main__":
    main()
