"""A query goes on from a damaged checkpoint rightly, or says in a sentence that it cannot."""

import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException

import streamjoin as sj
from streamjoin.spark.failures import root_cause
from tests.fuzz.target import Choices, damaged
from tests.spark.streams import drain, read_back, read_stream, write_batches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Results = Counter[tuple[int, int]]
Damage = Callable[[Path], None]


def batch(first: int) -> pa.Table:
    numbers = list(range(first, first + 40))
    times = pa.array([1_700_000_000_000_000 + n for n in numbers], pa.timestamp("us", "UTC"))
    return pa.table({"k": [n % 3 for n in numbers], "t": times, "id": numbers})


def run(spark: "SparkSession", rows: Path, folder: Path) -> Results:
    """Results of all batches, when nothing is left to be run."""
    streams = [read_stream(spark, rows) for _ in range(2)]
    joined = sj.join(*streams, on="k", time="t", window="1 second")
    drain(joined.select("id_left", "id_right"), folder / "checkpoint", folder / "output")
    return Counter((row["id_left"], row["id_right"]) for row in read_back(spark, folder / "output"))


def wanted(n: int) -> Results:
    return Counter((i, j) for i in range(n) for j in range(n) if i % 3 == j % 3)


@pytest.fixture(scope="module")
def sound(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Rows of which one file is new, and a checkpoint with what came before."""
    folder = tmp_path_factory.mktemp("sound")
    rows, before = folder / "rows", folder / "before"
    write_batches(rows, [batch(0), batch(40)])
    assert run(spark, rows, before) == wanted(80)
    write_batches(rows, [batch(80)], first=2)
    return rows, before


LOGS = "state/0/*/*.changelog"  # what each batch changed in Spark's state store


def each_file(pattern: str, change: Callable[[bytes], bytes | None]) -> Damage:
    """Change the files of a pattern, or remove them; Hadoop's own checksums of them are lost."""

    def damage(checkpoint: Path) -> None:
        files = list(checkpoint.glob(pattern))
        assert files
        for file in files:
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
            changed = change(file.read_bytes())
            if changed is None:
                file.unlink()
            else:
                file.write_bytes(changed)

    return damage


def _flipped(blob: bytes) -> bytes:
    return damaged(blob, Choices(b"\x00\x00\x40\x01\x00\x00\x00\x00\x03"))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        pytest.param(
            each_file(LOGS, _flipped),
            r"^Error decoding offset \d+ of input buffer$|^Stream is corrupted$|is damaged",
            id="a bit flipped",
        ),
        pytest.param(
            each_file(LOGS, lambda blob: blob[: len(blob) // 2]),
            r"^Stream ended prematurely$",
            id="state cut",
        ),
        pytest.param(
            each_file(LOGS, lambda _: None),
            r"^\[CANNOT_LOAD_STATE_STORE\.CANNOT_READ_STREAMING_STATE_FILE\] .* does not exist",
            id="state removed",
        ),
    ],
)
def test_a_damaged_state_stops_the_query(
    spark: "SparkSession", sound: tuple[Path, Path], tmp_path: Path, damage: Damage, words: str
) -> None:
    rows, before = sound
    shutil.copytree(before, tmp_path / "mine")
    damage(tmp_path / "mine" / "checkpoint")
    with pytest.raises(StreamingQueryException) as error:
        run(spark, rows, tmp_path / "mine")
    sentence = root_cause(error.value)
    assert re.search(words, sentence), sentence
    assert "\n" not in sentence


def test_a_commit_cut_short_does_no_harm(
    spark: "SparkSession", sound: tuple[Path, Path], tmp_path: Path
) -> None:
    rows, before = sound
    shutil.copytree(before, tmp_path / "mine")
    each_file("commits/1", lambda blob: blob[:3])(tmp_path / "mine" / "checkpoint")
    # the sink's log names the files of earlier batches where they were, not in this copy
    assert run(spark, rows, tmp_path / "mine") == wanted(120) - wanted(80)
