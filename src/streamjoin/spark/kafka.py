"""Kafka's topics as sources and sinks of a pipeline, through Spark's own connector."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyspark
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from streamjoin._private import cache_folder
from streamjoin.errors import ConfigError, EngineError
from streamjoin.spark.columns import as_json, named, naming_of, pair_id_of
from streamjoin.spark.pipeline import Sink, Source

if TYPE_CHECKING:
    from pyspark.sql.streaming.readwriter import DataStreamWriter

FORMAT: Final = "kafka"
CONNECTOR: Final = "org.apache.spark:spark-sql-kafka-0-10_2.13"
PROVIDER: Final = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_OWN: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
_MESSAGE: Final = "_message"
KEY: Final = "key"
"""Where a message has its result's pair id."""


def jars_folder() -> Path:
    """Where ``make jars`` puts what it gets."""
    said = os.environ.get("STREAMJOIN_JARS")
    return Path(said).expanduser() if said else cache_folder() / "jars"


def connector_jars() -> list[Path]:
    """Jars there with which the installed Spark reads and writes Kafka; none before `make jars`."""
    return sorted((jars_folder() / f"connector-{pyspark.__version__}").glob("*.jar"))


def require_connector(spark: SparkSession) -> None:
    """Refuse a Spark that cannot read or write Kafka."""
    jvm = spark._jvm
    assert jvm is not None
    if not jvm.org.apache.spark.util.Utils.classIsLoadable(PROVIDER):
        raise EngineError(
            "Spark's connector for Kafka is not there; set spark.jars.packages to "
            f"{CONNECTOR}:{pyspark.__version__}, or spark.jars to its jar files, or get them "
            "with `make jars` in a clone"
        )


@dataclass(frozen=True)
class KafkaSource(Source):
    """Messages whose values are JSON objects; `schema` has the columns of these."""

    def open(self, spark: SparkSession) -> DataFrame:
        """The columns of the values; `select` may also have those that Kafka adds.

        A value that is no such object has nulls in all columns.
        """
        require_connector(spark)
        messages = spark.readStream.format(FORMAT).options(**self.options).load()
        value = F.from_json(F.col("value").cast("string"), str(self.schema)).alias(_MESSAGE)
        rows = messages.select(value, *_OWN)
        kind = rows.schema[_MESSAGE].dataType
        if not isinstance(kind, StructType):
            raise ConfigError.at(
                "schema", repr(self.schema), "columns such as 'id BIGINT, at TIMESTAMP'"
            )
        columns = [F.col(_MESSAGE).getField(name).alias(name) for name in kind.names]
        if not self.select:
            return rows.select(*columns)
        naming = naming_of(spark)
        own = [F.col(name) for name in _OWN if naming.find(kind.names, name) is None]
        return rows.select(*columns, *own).selectExpr(*self.select)


@dataclass(frozen=True)
class KafkaSink(Sink):
    """A message for each result: its value is the row as JSON, its key the pair id, if wanted."""

    @property
    def place(self) -> str:
        """The topic."""
        return f"topic {self.options['topic']}"

    def writer(self, frame: DataFrame) -> "DataStreamWriter":
        """What writes a result there, once it is started."""
        require_connector(frame.sparkSession)
        message: list[Column] = [as_json(F.struct(*map(named, frame.columns))).alias("value")]
        if self.pair_id is not None:
            message.append(pair_id_of(frame).alias("key"))
        return frame.select(*message).writeStream.format(FORMAT).options(**self.options)
