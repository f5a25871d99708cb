"""Spark as a pipeline file asks for it."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamjoin.cli.needs import spark_needs
from streamjoin.cli.sql_file import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def start(settings: Settings, scratch: Path) -> "SparkSession":
    """Start Spark, quietly, with the file's settings and the generator of made-up streams.

    Parameters
    ----------
    settings
        The file.
    scratch
        Folder for Java's chatter, which would tear a live table apart; what matters arrives as an
        exception.
    """
    from streamjoin.spark.failures import hush
    from streamjoin.spark.generator import register_generator
    from streamjoin.spark.session import start_session

    conf = spark_needs(settings)
    named = conf.pop("spark.master", None)
    master = conf.pop("master", named)
    if "driver_memory" in conf:
        conf["spark.driver.memory"] = conf.pop("driver_memory")
    spark = start_session(
        f"streamjoin {settings.file.name}", master=master, conf=conf, log=scratch / "spark.log"
    )
    hush()
    register_generator(spark)
    return spark


@contextmanager
def borrowed(settings: Settings) -> Iterator["SparkSession"]:
    """A session in the Spark that runs in this process; if none does, one that ends afterwards."""
    from streamjoin.spark.generator import register_generator
    from streamjoin.spark.pipeline import session_beside

    beside = session_beside(spark_needs(settings))
    if beside is not None:
        register_generator(beside)
        yield beside
        return
    with tempfile.TemporaryDirectory(prefix="streamjoin-") as folder:
        spark = start(settings, Path(folder))
        try:
            yield spark
        finally:
            spark.stop()
