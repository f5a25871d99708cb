"""Spark as a pipeline file asks for it, and as the places that it names need it."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from streamjoin.cli.fields import secret_names
from streamjoin.cli.pipeline_file import Settings
from streamjoin.cli.places import KafkaSinkSection, KafkaSourceSection

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_JARS: Final = "spark.jars"
_PACKAGES: Final = "spark.jars.packages"
_REDACTION: Final = "spark.sql.redaction.options.regex"
_CONNECTOR: Final = "spark-sql-kafka"


def spark_needs(settings: Settings) -> dict[str, str]:
    """Spark's settings of a file, and with them what its sources and sinks need."""
    spark, places = dict(settings.spark), [*settings.sources.values(), settings.sink]
    if any(isinstance(place, KafkaSourceSection | KafkaSinkSection) for place in places):
        spark |= _with_connector(spark)
    secrets = {name for place in places for name in secret_names(getattr(place, "options", {}))}
    if secrets:
        # Spark writes the options of some formats into its plans: not the values of these, nor of
        # those that the file names for it itself, or Spark by default.
        said = spark.get(_REDACTION)
        first = "(?i)url" if said is None else f"(?:{said})"
        spark[_REDACTION] = f"{first}|(?i:{'|'.join(map(re.escape, sorted(secrets)))})"
    return spark


def _with_connector(spark: Mapping[str, str]) -> dict[str, str]:
    """The jars that `make jars` has got, unless the file names such ones."""
    from streamjoin.spark.kafka import connector_jars

    named, jars = spark.get(_JARS, ""), connector_jars()
    if not jars or _CONNECTOR in named + spark.get(_PACKAGES, ""):
        return {}
    return {_JARS: ",".join([*filter(None, [named]), *map(str, jars)])}


def start(settings: Settings, scratch: Path) -> "SparkSession":
    """Start Spark, quietly, with the file's settings and the generator of made-up streams.

    Java's chatter, which would tear a live table apart, goes to the scratch folder; what matters
    arrives as an exception.
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
