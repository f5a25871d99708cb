"""Topics as frames, as far as that needs no broker."""

import pytest
from pyspark.sql import SparkSession

from streamjoin.errors import ConfigError, EngineError
from streamjoin.spark import kafka
from streamjoin.spark.kafka import KafkaSource, require_connector

OPTIONS = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "calls"}
SCHEMA = "person BIGINT, at TIMESTAMP, `Offset` STRING"


def test_a_spark_without_the_connector(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "PROVIDER", "org.example.NoSuchProvider")
    with pytest.raises(EngineError) as refused:
        KafkaSource("kafka", None, SCHEMA, OPTIONS).open(spark)
    assert str(refused.value).startswith(
        "Spark's connector for Kafka is not there; set spark.jars.packages to org.apache."
    )


def test_a_schema_without_columns(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        require_connector(spark)
    except EngineError as missing:
        pytest.skip(str(missing))
    with pytest.raises(ConfigError, match=r"^schema: got 'MAP<STRING, BIGINT>'; allowed: columns"):
        KafkaSource("kafka", None, "MAP<STRING, BIGINT>", OPTIONS).open(spark)


@pytest.mark.parametrize(
    ("select", "columns"),
    [
        ((), "person bigint, at timestamp, Offset string"),
        (
            ("*",),
            "person bigint, at timestamp, Offset string, key binary, value binary, topic string,"
            " partition int, timestamp timestamp, timestampType int",
        ),
        (("person + 1 AS p", "offset", "partition"), "p bigint, offset string, partition int"),
    ],
)
def test_columns_of_a_topic(spark: SparkSession, select: tuple[str, ...], columns: str) -> None:
    try:
        require_connector(spark)
    except EngineError as missing:
        pytest.skip(str(missing))
    rows = KafkaSource("kafka", None, SCHEMA, OPTIONS, select).open(spark)
    assert rows.isStreaming
    assert ", ".join(f"{name} {kind}" for name, kind in rows.dtypes) == columns
