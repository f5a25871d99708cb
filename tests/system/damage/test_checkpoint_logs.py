"""Damage to a checkpoint's logs, which Spark has no good words for, is told by the file."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import streamjoin as sj
from streamjoin.cli.run import _in_a_sentence
from streamjoin.errors import EngineError, StateError
from streamjoin.spark.checkpoint import damage
from tests.spark.streams import drain, read_stream, write_batches
from tests.system.damage.test_checkpoints import Damage, batch, each_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

GARBAGE = b"\xff\x00" * 20
DAMAGES: dict[str, tuple[str, Damage]] = {
    "metadata cut": ("metadata cannot be read", each_file("metadata", lambda b: b[:5])),
    "metadata emptied": ("metadata cannot be read", each_file("metadata", lambda _: b"")),
    "offsets cut": ("offsets/1 cannot be read", each_file("offsets/1", lambda b: b[:99])),
    "offsets garbage": ("offsets/1 cannot be read", each_file("offsets/1", lambda _: GARBAGE)),
    "offsets removed": ("offsets/1 is missing", each_file("offsets/1", lambda _: None)),
    "all offsets removed": ("offsets/1 is missing", each_file("offsets/*", lambda _: None)),
    "commits garbage": ("commits/1 cannot be read", each_file("commits/1", lambda _: GARBAGE)),
    "operator cut": ("state/0/_metadata/v2/", each_file("state/0/_metadata/v2/*", lambda b: b[:7])),
    "source cut": ("sources/0/0 cannot be read", each_file("sources/0/0", lambda b: b[:9])),
}


@pytest.fixture(scope="module")
def sound(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    write_batches(folder / "rows", [batch(0), batch(40)])
    _run(spark, folder / "rows", folder)
    write_batches(folder / "rows", [batch(80)], first=2)
    return folder


def _run(spark: "SparkSession", rows: Path, folder: Path) -> Any:
    joined = sj.join(*(read_stream(spark, rows) for _ in range(2)), on="k", time="t", window="1 s")
    return drain(joined.select("id_left"), folder / "checkpoint", folder / "output")


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_log_is_named(
    spark: "SparkSession", sound: Path, tmp_path: Path, name: str
) -> None:
    words, do_damage = DAMAGES[name]
    shutil.copytree(sound / "checkpoint", tmp_path / "checkpoint")
    assert damage(str(tmp_path / "checkpoint")) is None
    do_damage(tmp_path / "checkpoint")
    with pytest.raises(StateError) as error, _in_a_sentence(str(tmp_path / "checkpoint")):
        _run(spark, sound / "rows", tmp_path)
    sentence = str(error.value)
    assert sentence.startswith(f"the checkpoint '{tmp_path}/checkpoint' is damaged: its file ")
    assert words in sentence
    assert sentence.endswith("; restore it from a copy or use a new folder")


def test_other_failures_keep_their_own_words(sound: Path) -> None:
    with pytest.raises(EngineError, match=r"^division by zero$"), _in_a_sentence(str(sound)):
        1 / 0  # noqa: B018


@pytest.mark.parametrize("text", ["v1\n-\n{}\n5", "v1"])
def test_what_spark_writes_is_no_damage(tmp_path: Path, text: str) -> None:
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "0").write_text(text)
        (tmp_path / name / ".0.crc").write_bytes(GARBAGE)
    kafka = tmp_path / "sources" / "0"
    kafka.mkdir(parents=True)
    (kafka / "0").write_text('\0v1\n{"t":{"0":1}}')
    assert damage(str(tmp_path)) is None
    assert damage("s3a://bucket/checkpoint") is None
    assert damage(str(tmp_path / "not there")) is None
