"""What Spark has to be told because of the sources and sinks that a file names."""

import re
from collections.abc import Iterator, Mapping

from streamjoin.cli.kafka_sections import KafkaSinkSection, KafkaSourceSection
from streamjoin.cli.options import secret_names
from streamjoin.cli.pipeline_file import AnySink, PipelineFile, Source
from streamjoin.cli.sql_file import Settings, SqlFile

_JARS = "spark.jars"
_PACKAGES = "spark.jars.packages"
_REDACTION = "spark.sql.redaction.options.regex"
_CONNECTOR = "spark-sql-kafka"


def spark_needs(settings: Settings) -> dict[str, str]:
    """Spark's settings of a file, and with them what its sources and sinks need."""
    places = list(_places(settings))
    spark = dict(settings.spark)
    if any(isinstance(place, KafkaSourceSection | KafkaSinkSection) for place in places):
        spark |= _with_connector(spark)
    secrets = {name for place in places for name in secret_names(getattr(place, "options", {}))}
    return spark | _without(secrets, spark.get(_REDACTION))


def _places(settings: Settings) -> Iterator[Source | AnySink]:
    if isinstance(settings, PipelineFile):
        yield from (settings.left, settings.right)
    elif isinstance(settings, SqlFile):
        yield from settings.sources.values()
    else:
        yield settings.stream
    yield settings.sink


def _with_connector(spark: Mapping[str, str]) -> dict[str, str]:
    """The jars that `make jars` has got, unless the file names such ones."""
    from streamjoin.spark.kafka import connector_jars

    said = spark.get(_JARS, "")
    found = connector_jars()
    if not found or _CONNECTOR in said + spark.get(_PACKAGES, ""):
        return {}
    return {_JARS: ",".join([*filter(None, [said]), *map(str, found)])}


def _without(secrets: set[str], said: str | None) -> dict[str, str]:
    """Spark writes the options of some formats into its plans: not the values of these.

    Neither of those that the file names for it itself, or Spark by default.
    """
    if not secrets:
        return {}
    first = "(?i)url" if said is None else f"(?:{said})"
    return {_REDACTION: f"{first}|(?i:{'|'.join(map(re.escape, sorted(secrets)))})"}
