"""Two topics in, one out: every message is counted, whatever is stopped or killed meanwhile."""

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from examples.kafka_count import demonstrate, report
from tests.spark.streams import observed
from tests.system.kafka.topics import SCHEMA, create, expected, results, rows, start, write
from tests.system.servers.kafka import Broker, missing

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with Broker.start(tmp_path_factory.mktemp("kafka") / "broker") as started:
        yield started


def drain(spark: SparkSession, broker: Broker, name: str, checkpoint: Path) -> StreamingQuery:
    query = start(spark, broker.address, name, checkpoint, to_the_end=True)
    query.awaitTermination()
    return query


def test_a_batch_that_is_run_again_writes_the_same_keys(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    create(broker, "again")
    for part in range(2):
        write(broker, "again", part)
        drain(spark, broker, "again", tmp_path)
        if part == 0:
            forget_end_of_batch(tmp_path, 1)
    written, found = results(broker, "again")
    assert sorted(found.values()) == expected(2)
    assert written > len(found) > 1000


def test_kill_9_of_a_pipeline_file_by_the_example(
    broker: Broker, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert demonstrate(broker, tmp_path, seconds=8) == 0
    printed = capsys.readouterr().out
    assert re.search(r"the query was killed when [1-9]", printed), printed
    assert re.search(r"480 calls and 320 trades were written: [1-9][\d,]+ pairs", printed), printed
    assert "lost 0, doubled 0, invented 0" in printed


def test_the_example_notices_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    right = {b"a": result(1, 2), b"b": result(1, 3), b"c": result(4, 5)}
    wanted = Counter([(1, 2), (1, 3), (4, 5)])
    cases = (
        (right, "lost 0, doubled 0, invented 0"),
        ({b"a": result(1, 2), b"c": result(4, 5)}, "lost 1, doubled 0, invented 0"),
        ({**right, b"d": result(4, 5)}, "lost 0, doubled 1, invented 0"),
        ({**right, b"d": result(9, 9)}, "lost 0, doubled 0, invented 1"),
    )
    for found, said in cases:
        wrong = report(len(found) + 2, found, wanted)
        assert wrong == (found != right)
        assert said in capsys.readouterr().out


def test_a_query_goes_on_when_the_broker_was_away(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    create(broker, "away")
    query = start(spark, broker.address, "away", tmp_path)
    pairs = expected(3)
    try:
        for part, end in enumerate((broker.stop, broker.kill)):
            write(broker, "away", part)
            wait(lambda: results(broker, "away")[0] > 0)
            end()
            broker.start_again()
        write(broker, "away", 2)
        wait(lambda: not query.isActive or len(results(broker, "away")[1]) >= len(pairs))
        assert query.exception() is None
    finally:
        query.stop()
    assert sorted(results(broker, "away")[1].values()) == pairs


def test_messages_that_cannot_be_read_match_nothing_and_are_counted(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    create(broker, "bad")
    bad = (b"not JSON", b"", b"\xff\xfe", b'{"person": 1, "at"', None, b"[]", b"7", b"null", b"{}")
    person_or_time = (b'{"person": 1}', b'{"at": "2026-01-01T12:00:00Z"}')
    types = (b'{"person": "ann", "at": "2026-01-01T12:00:00Z"}', b'{"person": 1, "at": "noon"}')
    unreadable = (*bad, *person_or_time, *types)
    broker.write("calls-bad", unreadable)
    write(broker, "bad", 0)
    query = drain(spark, broker, "bad", tmp_path)
    counted = observed(query)
    n = len(unreadable)
    assert (counted["null_left"], counted["null_right"]) == (n, 0)
    assert (counted["rows_left"], counted["late_left"]) == (n + len(rows(0, 0)), 0)
    topic = spark.read.format("kafka").option("kafka.bootstrap.servers", broker.address)
    message = F.from_json(F.col("value").cast("string"), SCHEMA)
    messages = topic.option("subscribe", "calls-bad").load().withColumn("message", message)
    apart = messages.filter("message.person IS NULL OR message.at IS NULL")
    kept = [None if row.value is None else bytes(row.value) for row in apart.collect()]
    assert set(kept) == set(unreadable)
    written, found = results(broker, "bad")
    assert written == len(found)
    assert sorted(found.values()) == expected(1)


def result(call: int, trade: int) -> bytes:
    return json.dumps({"number_left": call, "number_right": trade}).encode()


def forget_end_of_batch(checkpoint: Path, batch: int) -> None:
    """Bring a checkpoint to where it is if a query is killed when the batch has been written."""
    for log, first in (("offsets", batch + 1), ("commits", batch)):
        for file in (checkpoint / log).iterdir():
            if int(file.name.strip(".").removesuffix(".crc")) >= first:
                file.unlink()


def wait(condition: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.1)
