"""One Spark session for each process of tests and doctests, as small and quick as it gets."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SYSTEM = Path(__file__).parent / "tests" / "system"

# A test's Java lives for minutes: what its better compiler and its parallel collector would take
# from the two cores never comes back. Of all programs that tests start, hence the environment.
# Each file of a checkpoint runs small programs (chmod, readlink), which start quickest by vfork.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK",
)

QUICK = {
    # Files without Hadoop's checksums beside them: half as many files, and half of the programs.
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.RawLocalFs",
    # One pool of Python workers instead of two.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # Tests bring few rows: to compile code for them takes longer than to interpret it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""What saves a small query a third of its time; system tests have what users have."""

# Costs that somebody measured on this machine must not change what a test sees.
os.environ["STREAMJOIN_CALIBRATION"] = os.path.join(tempfile.gettempdir(), "no-such-calibration")

# The first example of a test may compile kernels, and a machine may be busy: no deadline. The
# suite takes the same examples everywhere, so that a change that passes here passes elsewhere;
# `make fuzz` looks for new ones.
quiet = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
settings.register_profile(
    "same", deadline=None, max_examples=30, derandomize=True, suppress_health_check=quiet
)
settings.register_profile("fuzz", deadline=None, max_examples=200, suppress_health_check=quiet)
settings.load_profile("fuzz" if os.environ.get("STREAMJOIN_FUZZ") else "same")


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    from streamjoin.spark.kafka import connector_jars
    from streamjoin.spark.session import start_session

    # Not pytest's own folder: RocksDB and socket paths want short names.
    work = tempfile.mkdtemp(prefix="sj-")
    session = start_session(
        "streamjoin tests",
        master="local[2,2]",
        conf={
            "spark.driver.memory": "2g",
            "spark.driver.extraClassPath": ":".join(map(str, connector_jars())),
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": work,
            "spark.sql.warehouse.dir": f"{work}/warehouse",
            "spark.sql.session.timeZone": "UTC",
            **QUICK,
        },
    )
    yield session
    session.stop()
    shutil.rmtree(work, ignore_errors=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for the session, and all that is in the folder of system tests."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if SYSTEM in item.path.parents:
            item.add_marker(pytest.mark.system)
