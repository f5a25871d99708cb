"""Every block of code of every document works, and gives what stands below it."""

import inspect
import os
from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import streamjoin as sj
from benchmarks.table_server import Server, missing
from scripts.check_docs import ROOT, documents
from tests.system.docs import streams
from tests.system.docs.commands import check_command
from tests.system.docs.documents import Block, blocks
from tests.system.docs.page import Page

DOCUMENTS = documents()
NAMES = [str(document.relative_to(ROOT)) for document in DOCUMENTS]


@pytest.fixture(scope="module")
def frames(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, DataFrame]:
    folder = tmp_path_factory.mktemp("streams")
    streams.write(folder)
    return streams.read(spark, folder)


@pytest.fixture
def page(
    spark: SparkSession,
    frames: Mapping[str, DataFrame],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Page]:
    """A folder with the streams in it, as the current one of Python and of Spark."""
    streams.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setenv("SHOP", "postgresql://reader@nowhere/shop")
    monkeypatch.setenv("KAFKA_LOGIN", 'PlainLoginModule required username="reader" password="...";')
    monkeypatch.setattr(StreamingQuery, "awaitTermination", _come_to_an_end)
    _give_names_to_batch_joins(monkeypatch)
    before = _move_spark(spark, str(tmp_path))
    settings = dict(spark.conf.getAll)
    made = Page(spark, tmp_path, frames, None)
    yield made
    made.end()
    _move_spark(spark, before)
    for key, value in dict(spark.conf.getAll).items():
        if key not in settings:
            spark.conf.unset(key)
        elif settings[key] != value:
            spark.conf.set(key, settings[key])


@pytest.mark.parametrize("document", DOCUMENTS, ids=NAMES)
def test_every_block_works(document: Path, page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(blocks(document))
    if missing() is None and any(block.language == "postgresql" for block in found):
        with Server() as server:
            page.postgresql = server.execute
            monkeypatch.setenv("SHOP", server.uri.replace("bench@", "reader@"))
            _run(found, page)
    else:
        _run(found, page)


def _run(found: list[Block], page: Page) -> None:
    for block in found:
        page.run(block)
    page.check_rows()


def _come_to_an_end(query: StreamingQuery, timeout: float | None = None) -> None:
    """Instead of waiting for ever: take what is there, and stop."""
    query.processAllAvailable()
    query.stop()


def _give_names_to_batch_joins(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that differ, as the results of a page are compared by one Spark job."""
    numbers = count()

    def named(join: Any) -> Any:
        def call(first: Any, *more: Any, **settings: Any) -> Any:
            frame = next(iter(first.values())) if isinstance(first, dict) else first
            if not frame.isStreaming:
                settings.setdefault("name", f"join {next(numbers)}")
            return join(first, *more, **settings)

        call.__signature__ = inspect.signature(join)  # type: ignore[attr-defined]
        return call

    for name in ("join", "multi_join"):
        monkeypatch.setattr(sj, name, named(getattr(sj, name)))


def _move_spark(spark: SparkSession, folder: str) -> str:
    """Make a folder the one that relative paths of Spark start from; return the one before."""
    jvm: Any = spark._jvm
    hadoop = jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.get(spark._jsc.hadoopConfiguration())
    files.setWorkingDirectory(hadoop.Path(folder))  # of data
    return str(jvm.System.setProperty("user.dir", folder))  # of checkpoints and logs


def _block(language: str, text: str, **more: Any) -> Block:
    return Block(ROOT / "made_up.md", 1, language, text, **more)


@pytest.mark.parametrize(
    "block",
    [
        _block("", "no language\n"),
        _block("output", "of nothing\n"),
        _block("sh", "make run\n", printed="done\n"),
        _block("python", "sj.joyn(1)\n"),
        _block("python", "sj.Budget(cpu=0.5, gpu=1)\n", note="not run: no"),
        _block("python", "print(1)\n", printed="2\n"),
        _block("toml", "[join]\nwindov = 1\n"),
        _block("sql", "SELECT a.price FROM nyc a, tokyo b WHERE a.symbol = b.symbol\n"),
        _block("sh", "streamjoin runn examples/burst.toml\n"),
        _block("sh", "streamjoin bench --jsn\n"),
        _block("sh", "streamjoin run examples/no_such.toml\n"),
        _block("sh", "make coffee\n"),
        _block("sh", 'pip install ".[sparc]"\n'),
        _block("json", "{\n"),
    ],
    ids=lambda block: f"{block.language}: {block.text.strip()}",
)
def test_a_wrong_block_is_found(block: Block, page: Page) -> None:
    with pytest.raises((Exception, SystemExit)):  # whatever says so
        page.run(block)


def test_a_wrong_table_is_found(page: Page) -> None:
    code = "out = spark.range(2)\n"
    page.run(_block("python", code, rows=(("id",), ("0",), ("7",))))
    with pytest.raises(AssertionError):
        page.check_rows()


def test_commands_of_others_are_few() -> None:
    check_command("STREAMJOIN_DEBUG=1 streamjoin run examples/calls_and_trades.toml  # a comment")
    with pytest.raises(AssertionError, match="nobody knows"):
        check_command("rm -rf output")


def test_all_documents_are_looked_at() -> None:
    assert {"README.md", os.path.join("docs", "joins.md")} <= set(NAMES)
