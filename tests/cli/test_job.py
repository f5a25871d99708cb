"""Where a run writes down what it does, and who may read it."""

import io
import socket
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from rich.console import Console

from streamjoin.cli.run import Job, _explained, recorder
from streamjoin.errors import ConfigError
from streamjoin.metrics import InputMetrics, JoinMetrics
from streamjoin.metrics.records import read_records
from streamjoin.spark.failures import keep
from tests.cli.test_pipeline_file import GOOD, load, write

KEPT = GOOD.replace('"noop"', '"parquet"\npath = "out"')


def job(folder: Path, text: str, metrics: str = "", *, has_page: bool = False) -> Job:
    file = write(folder, f"{text}\n[metrics]\n{metrics}\n")
    return Job.make(load(file), folder / "scratch", has_page=has_page)


def test_records_are_with_the_checkpoint_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    assert job(tmp_path, GOOD).records is None
    assert job(tmp_path, GOOD, has_page=True).records == tmp_path / "scratch" / "metrics"
    assert job(tmp_path, KEPT, has_page=True).records == tmp_path / "out_checkpoint"
    assert job(tmp_path, KEPT, 'path = "told"').records == tmp_path / "told"


def test_records_are_on_this_machine(tmp_path: Path) -> None:
    assert job(tmp_path, KEPT + 'checkpoint = "s3a://bucket/ck"\n').records is None
    with pytest.raises(
        ConfigError, match=r"key `metrics.path`: got 's3a://b/m'; allowed: a folder"
    ):
        job(tmp_path, KEPT, 'path = "s3a://b/m"')


def test_batches_go_to_the_file_and_to_prometheus(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        made = job(tmp_path, GOOD, f'path = "m"\nprometheus = {port}')
        with (
            pytest.raises(ConfigError, match=f"key `metrics.prometheus`: got {port} at"),
            recorder(made, Console(file=io.StringIO())),
        ):
            pass
    console = Console(file=io.StringIO())
    with recorder(made, console) as recording:
        recording.see([JoinMetrics(inputs=(InputMetrics("left", rows=5),))])
        assert isinstance(console.file, io.StringIO)
        url = console.file.getvalue().split()[-1]
        lines = urlopen(url).read().decode().splitlines()
    assert 'streamjoin_rows_total{input="left",join="streamjoin",query="p"} 5.0' in lines
    assert len(list(read_records(tmp_path / "m"))) == 1


def test_what_cannot_be_explained_shows_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        msg = f"no login with {keep('t0p-s3cret')}"
        raise RuntimeError(msg)

    monkeypatch.setattr("streamjoin.spark.explain.explain_pipeline", refuse)
    spark: Any = None
    assert _explained(spark, job(tmp_path, GOOD)) == ("not explained: no login with ***", "")
