import inspect
import math
from pathlib import Path

import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin.cli.places import GeneratorSource
from streamjoin.durations import parse_duration
from streamjoin.local import run
from streamjoin.metrics import JoinCounts
from streamjoin.spark.generator import stream_of
from streamjoin.workloads import Burst, GeneratedStream
from tests.cli.test_pipeline_file import GOOD, load, write

SCRATCH = Path("/scratch")
EXAMPLES = Path(__file__).parents[2] / "examples"
ONLY_ON_SPARK = ("ahead", "late_rows", "hot_keys", "rates", "shards")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    text = GOOD.replace('"noop"', '"parquet"\npath = "../out"')
    folder = tmp_path / "pipelines"
    folder.mkdir()
    made = load(write(folder, text)).plan(0.0, SCRATCH)
    assert made.streams["trades"].path == str(folder / "trades")
    assert made.sink.place == str(tmp_path / "out")
    assert made.checkpoint == str(tmp_path / "out_checkpoint")


def test_a_sink_without_results_has_a_temporary_checkpoint(tmp_path: Path) -> None:
    assert load(write(tmp_path, GOOD)).plan(0.0, SCRATCH).checkpoint == "/scratch/checkpoint"


def test_a_stated_checkpoint_wins(tmp_path: Path) -> None:
    file = write(tmp_path, GOOD + 'checkpoint = "ck"\n')
    assert load(file).plan(0.0, SCRATCH).checkpoint == str(tmp_path / "ck")


def test_generated_streams_begin_together(tmp_path: Path) -> None:
    generated = 'type = "generator"\ndisorder = "1 s"\ncycle = "1 min"\nlag = "500 ms"'
    text = GOOD.replace('type = "parquet"\npath = "trades"', generated)
    made = load(write(tmp_path, text)).plan(100.0, SCRATCH)
    assert (
        made.streams["calls"].options["start"] == made.streams["trades"].options["start"] == "100.0"
    )
    assert made.streams["trades"].options["disorder_ms"] == "1000"
    assert made.streams["trades"].options["backlog_seconds"] == "10.0"
    assert (made.streams["trades"].options["cycle_s"], made.streams["trades"].options["lag_s"]) == (
        "60.0",
        "0.5",
    )
    assert "seconds" not in made.streams["trades"].options


def test_a_burst_is_told_in_seconds(tmp_path: Path) -> None:
    burst = 'type = "generator"\nburst = { at = "1 min", lasting = "500 ms", times = 4 }'
    made = load(write(tmp_path, GOOD.replace('type = "generator"', burst))).plan(0.0, SCRATCH)
    told = {k: v for k, v in made.streams["calls"].options.items() if k.startswith("burst")}
    assert told == {"burst_at_s": "60.0", "burst_lasting_s": "0.5", "burst_times": "4.0"}
    assert stream_of(made.streams["calls"].options).burst == Burst(60.0, 0.5, 4.0)


def test_all_rows_of_streams_that_end(tmp_path: Path) -> None:
    made_up = 'type = "generator"\nrate = 10\nseconds = 8'
    burst = '\nburst = { at = "2 s", lasting = "1 s", times = 4 }'
    text = GOOD.replace('type = "generator"', made_up + burst)
    assert load(write(tmp_path, text)).all_rows() == math.inf
    text = text.replace('type = "parquet"\npath = "trades"', made_up)
    assert load(write(tmp_path, text)).all_rows() == 80 + 30 + 80


def test_options_are_written_for_spark(tmp_path: Path) -> None:
    more = 'path = "trades"\nmax_files_per_trigger = 2\noptions = {mergeSchema = true}'
    made = load(write(tmp_path, GOOD.replace('path = "trades"', more))).plan(0.0, SCRATCH)
    assert made.streams["trades"].options == {"mergeSchema": "true", "maxFilesPerTrigger": "2"}


def test_join_arguments_are_those_of_the_library(tmp_path: Path) -> None:
    made = load(write(tmp_path, GOOD)).plan(0.0, SCRATCH)
    assert made.arguments == {
        "on": "person",
        "where": None,
        "how": "inner",
        "direction": "backward",
        "time": ("called_at", "traded_at"),
        "window": "10 seconds",
        "lateness": "0 seconds",
        "idle_timeout": None,
        "ahead": "1 day",
        "late_rows": None,
        "rates": None,
        "freshness": None,
        "budget": None,
        "shed": None,
        "split": "best",
        "utility": None,
        "weights": False,
        "algorithm": "auto",
        "invalidation": "active",
        "suffixes": ("_left", "_right"),
        "shards": None,
        "hot_keys": "/scratch/checkpoint_hot_keys",
    }
    assert made.arguments.keys() < inspect.signature(sj.join).parameters.keys()
    assert made.trigger == "2 seconds"


def test_a_budget_is_that_of_the_library(tmp_path: Path) -> None:
    keys = """[join]
    budget = { cpu = "200 ms", memory = { rows = 9 } }
    shed = ["selective", "lag"]
    split = "ra+tc+jd"
    utility = ["worth", ""]
    weights = true"""
    made = load(write(tmp_path, GOOD.replace("[join]", keys))).plan(0.0, SCRATCH).arguments
    assert made["budget"] == sj.Budget(cpu="200 ms", memory=sj.rows(9))
    assert (made["shed"], made["split"]) == (["selective", "lag"], "ra+tc+jd")
    assert (made["utility"], made["weights"]) == (("worth", None), True)


def test_windows_of_rows_and_the_folder_of_late_rows(tmp_path: Path) -> None:
    text = GOOD.replace('"10 seconds"', '["10 seconds", { rows = 7 }]\nlate_rows = "../late"')
    folder = tmp_path / "pipelines"
    folder.mkdir()
    made = load(write(folder, text)).plan(0.0, SCRATCH)
    assert made.arguments["window"] == ("10 seconds", sj.rows(7))
    assert made.arguments["late_rows"] == str(tmp_path / "late")


@pytest.mark.parametrize("name", ["similar_news", "related_alerts", "calls_and_trades_overloaded"])
def test_the_examples_on_a_budget_find_something(name: str) -> None:
    """Without Spark: some seconds of the generated streams, joined as the file says."""
    settings = load(EXAMPLES / f"{name}.toml")
    tables = []
    for source in settings.sources.values():
        assert isinstance(source, GeneratorSource)
        lag_s = parse_duration(source.lag, "lag") / 4e6  # of 6 seconds instead of a minute
        stream = GeneratedStream(
            source.workload, source.rate / 8, source.keys, source.skew, cycle_s=10.0, lag_s=lag_s
        )
        tables.append(pa.Table.from_batches([stream.rows(0, round(6 * stream.rate_per_second))]))
    made = settings.plan(0.0, SCRATCH).arguments
    arguments = {name: value for name, value in made.items() if name not in ONLY_ON_SPARK}
    total = sum(
        (step.metrics.without_state() for step in run(tables[0], tables[1], **arguments)),
        start=JoinCounts(),
    )
    assert total.pairs > 0
    assert total.compared_left > 0


def test_times_may_be_ahead_without_a_bound(tmp_path: Path) -> None:
    text = GOOD.replace("[join]", '[join]\nahead = "unlimited"')
    made = load(write(tmp_path, text)).plan(0.0, SCRATCH)
    assert made.arguments["ahead"] is None
