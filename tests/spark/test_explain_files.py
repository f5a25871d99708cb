"""Every example is explained: in words that answer, as JSON and as a drawing."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import streamjoin as sj
from streamjoin.cli.app import run_app
from streamjoin.cli.table_file import load_toml
from streamjoin.errors import EngineError
from streamjoin.explanations.explanation import Explanation
from streamjoin.local import run
from streamjoin.spark.generator import register_generator, stream_of
from streamjoin.spark.kafka import require_connector
from tests.explanations.test_drawing import check_places

EXAMPLES = Path(__file__).parents[2] / "examples"
TOPICS = EXAMPLES / "kafka.toml"
FILES = sorted(p for p in EXAMPLES.iterdir() if p.suffix in (".toml", ".sql") and p != TOPICS)
TABLES = [p for p in FILES if p.suffix == ".toml" and "\n[table]" in p.read_text(encoding="utf-8")]
NOT_LOCAL = (
    "late_rows", "hot_keys", "rates", "shards", "budget", "shed", "split", "utility", "ahead",
)  # fmt: skip

SKEWED = """
[sources.<b>calls]
type = "generator"
rate = 500
keys = 300
skew = 0.8
cycle = "1 minute"
disorder = "200 ms"
[sources.trades]
type = "generator"
workload = "trades"
rate = 400
keys = 300
skew = 0.8
cycle = "1 minute"
lag = "4 seconds"
seed = 2
[join]
how = "HOW"
on = "person"
where = "right.shares >= 100 AND left.seconds > 30"
time = ["called_at", "traded_at"]
window = ["5 seconds", "1 second"]
lateness = "1 second"
[sink]
type = "noop"
[run]
trigger = "1 second"
""".replace("[sources.<b>calls]", '[sources."<b>calls"]')


def written(folder: Path, how: str = "inner", more: str = "") -> Path:
    file = folder / "p.toml"
    text = SKEWED.replace("HOW", how).replace("[sink]", f"{more}\n[sink]")
    file.write_text(text, encoding="utf-8")
    return file


def first(file: Path, **said: Any) -> dict[str, Any]:
    """What programs get of the first join."""
    join: dict[str, Any] = sj.explain(file, **said).to_dict()["joins"][0]
    return join


def test_of_topics_it_is_not_known_what_comes(spark: SparkSession) -> None:
    try:
        require_connector(spark)
    except EngineError as missing:
        pytest.skip(str(missing))
    answer = " ".join(str(sj.explain(TOPICS)).partition("  how it runs")[0].split())
    assert "Pairs each row of calls with the rows of trades of the same person" in answer
    assert "to see what comes out, the CPU that takes and what a budget would mean" in answer


@pytest.mark.parametrize("file", FILES, ids=lambda p: p.stem)
def test_every_example_is_answered(spark: SparkSession, file: Path) -> None:
    found = sj.explain(file)
    assert isinstance(found, Explanation)
    text = str(found)
    answer = " ".join(text.partition("  how it runs")[0].split())
    assert all(len(line) <= 100 for line in text.splitlines() if str(EXAMPLES.parent) not in line)
    assert "of CPU for each second of the streams" in answer
    assert "rows/s)" in answer
    assert "remembered" in answer or file in TABLES
    assert "  how it runs    result: " in text
    assert "  output, about  " in text
    assert "  CPU, about     " in text
    assert "  budgets        " in text
    values = found.to_dict()
    parts = values["joins"] + values["plans"] + values["tables"]
    assert [part["expected"]["basis"] for part in parts] == ["sample"]
    assert " ".join(parts[0]["answer"]) in answer
    root = ElementTree.fromstring(found.to_svg())
    check_places(root)
    assert parts[0]["answer"][0] in str(root.findtext("{http://www.w3.org/2000/svg}desc"))


def test_the_figure_of_the_guide_is_that_of_the_example(spark: SparkSession) -> None:
    figure = ElementTree.parse(EXAMPLES.parent / "docs" / "figures" / "explain_called_twice.svg")
    now = ElementTree.fromstring(sj.explain(EXAMPLES / "called_twice.sql", format="svg"))
    assert _titles(figure.getroot()) == _titles(now)


def _titles(root: ElementTree.Element) -> list[str | None]:
    return [
        e.text for e in root.iter("{http://www.w3.org/2000/svg}text") if e.get("class") == "title"
    ]


def steady_rows(file: Path, seconds: int) -> float:
    """Rows per second of the exact join without Spark, once the windows are full."""
    settings = load_toml(file)
    made = settings.plan(0.0, file.parent)
    tables = []
    for source in made.streams.values():
        stream = stream_of(source.options)
        tables.append(
            pa.Table.from_batches([stream.rows(0, int(seconds * stream.rate_per_second))])
        )
    arguments = {name: value for name, value in made.arguments.items() if name not in NOT_LOCAL}
    steps = [s for s in run(tables[0], tables[1], **arguments) if s.now_us > 12_000_000]
    rows: list[int] = [step.rows.num_rows for step in steps[:-1]]
    return sum(rows) / len(rows)


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
def test_as_many_rows_come_out_as_expected(spark: SparkSession, tmp_path: Path, how: str) -> None:
    file = written(tmp_path, how)
    expected = first(file)["expected"]
    assert expected["rows_per_second"] == pytest.approx(steady_rows(file, 40), rel=0.2)


def test_what_budgets_would_mean(spark: SparkSession, tmp_path: Path) -> None:
    exact = first(written(tmp_path))
    rows = exact["meanings"]["rows"]
    cpu, memory = (
        {row["part"]: row["recall"] for row in rows if row["resource"] == resource}
        for resource in ("cpu", "memory")
    )
    for recalls in (cpu, memory):
        assert list(recalls) == [1.0, 0.5, 0.25, 0.1]
        assert list(recalls.values()) == sorted(recalls.values(), reverse=True)
    # trades follow calls by 4 of 5 seconds: the old rows of one window have most of the matches
    assert "shows where in the windows results are" in exact["meanings"]["note"]
    share = 0.25 * exact["expected"]["cpu_s"] / exact["expected"]["cores"]
    limited = written(tmp_path, more=f"budget = {{ cpu = {share} }}")
    planned = first(limited)["budget"]["planned"]
    assert planned["share"] == pytest.approx(cpu[0.25], rel=0.15)
    remain = f"about {100 * planned['share']:.2g} % of the results come out"
    assert remain in " ".join(str(sj.explain(limited)).split())
    anti = first(written(tmp_path, "anti"))["meanings"]
    assert anti["rows"] == []
    assert anti["note"].partition(":")[0] == "a budget is for inner joins over windows of time"


def test_what_the_user_says_wins(spark: SparkSession, tmp_path: Path) -> None:
    file = written(tmp_path)
    expected = first(file, rates=(10, 20), selectivities=0.5)["expected"]
    assert (expected["basis"], expected["selectivity"]) == ("given", 0.5)
    assert expected["rows_per_second"] == pytest.approx(0.5 * 10 * 20 * 6)


def test_a_filter_that_no_row_of_the_sample_passes(spark: SparkSession, tmp_path: Path) -> None:
    text = (EXAMPLES / "comparable_trades.sql").read_text(encoding="utf-8")
    file = tmp_path / "none.sql"
    file.write_text(text.replace('"GOOG"', '"NONE"'), encoding="utf-8")
    assert first(file)["expected"]["rows_per_second"] == 0


def test_formats(spark: SparkSession, tmp_path: Path) -> None:
    file = written(tmp_path)
    values = json.loads(sj.explain(file, format="json"))
    assert values["joins"][0]["streams"] == ["<b>calls", "trades"]
    drawing = sj.explain(file, format="svg")
    assert "<b>" not in drawing
    assert "&lt;b&gt;calls" in drawing
    with pytest.raises(sj.ConfigError) as refused:
        sj.explain(file, format="png")  # type: ignore[call-overload]
    assert str(refused.value) == "format: got 'png'; allowed: 'text', 'json', 'svg'"


@pytest.mark.usefixtures("spark")
def test_the_command_line_draws(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, drawing = written(tmp_path), tmp_path / "plan.svg"
    assert run_app(["explain", str(file), "--json", "--svg", str(drawing)]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["joins"][0]["how"] == "inner"
    assert ElementTree.parse(drawing).getroot().tag.endswith("svg")
    assert run_app(["explain", str(file), "--svg", str(tmp_path / "no" / "plan.svg")]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("streamjoin: --svg: got '")


@pytest.fixture
def beside(spark: SparkSession) -> Iterator[SparkSession]:
    """A session of the user's own, which is the active one: making a DataFrame makes it so."""
    session = spark.newSession()
    session.createDataFrame([(1,)], "a int")
    yield session
    spark.createDataFrame([(1,)], "a int")


def test_the_user_may_have_registered_the_generator(beside: SparkSession, tmp_path: Path) -> None:
    register_generator(beside)
    register_generator(beside)
    active: Any = SparkSession.getActiveSession()
    for _ in range(2):
        assert first(written(tmp_path))["expected"] is not None
    assert SparkSession.getActiveSession()._jsparkSession.equals(active._jsparkSession)  # type: ignore[union-attr]
    stream = beside.readStream.format("streamjoin-generator").load()
    assert stream.columns[0] == "person"
