from pathlib import Path

import pytest

from streamjoin.budget import Budget
from streamjoin.cli.pipeline_file import PipelineFile
from streamjoin.cli.places import GeneratorSource, StreamSource
from streamjoin.cli.sections import RowsWindow
from streamjoin.cli.table_file import load_toml
from streamjoin.errors import ConfigError
from streamjoin.windows import Rows

GOOD = """
[sources.calls]
type = "generator"
[sources.trades]
type = "parquet"
path = "trades"
[join]
on = "person"
time = ["called_at", "traded_at"]
window = "10 seconds"
[sink]
type = "noop"
[run]
trigger = "2 seconds"
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "p.toml"
    file.write_text(text, encoding="utf-8")
    return file


def load(file: Path) -> PipelineFile:
    settings = load_toml(file)
    assert isinstance(settings, PipelineFile)
    return settings


def test_a_good_file_is_read(tmp_path: Path) -> None:
    settings = load(write(tmp_path, GOOD))
    assert tuple(settings.sources) == ("calls", "trades")
    assert isinstance(settings.sources["calls"], GeneratorSource)
    assert isinstance(settings.sources["trades"], StreamSource)
    assert settings.join.time == ("called_at", "traded_at")
    assert settings.join.lateness == "0 seconds"


def test_sides_may_be_named(tmp_path: Path) -> None:
    text = GOOD.replace("[join]", '[join]\nleft = "trades"\nright = "calls"')
    assert tuple(load(write(tmp_path, text)).sources) == ("trades", "calls")


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        (
            'how = "left"\nwindow = ["10 s", { rows = 5 }]',
            "Left join of calls with trades on person within 10 s / 5 rows",
        ),
        (
            'window = "10 s"\nbudget = { rate = 1000 }',
            "Inner join of calls with trades on person within 10 s, on a budget of 1,000 tuples/s",
        ),
    ],
)
def test_what_is_joined_in_a_line(tmp_path: Path, toml: str, line: str) -> None:
    text = GOOD.replace('window = "10 seconds"', toml)
    assert load(write(tmp_path, text)).headline() == line


@pytest.mark.parametrize(
    ("toml", "value"),
    [
        ('"k"', "k"),
        ('["a", "b"]', ["a", "b"]),
        ('[["a", "b"], ["c", "d"]]', [("a", "b"), ("c", "d")]),
        ('["a", ["b", "c"]]', ["a", ("b", "c")]),
    ],
)
def test_forms_of_on(tmp_path: Path, toml: str, value: object) -> None:
    assert load(write(tmp_path, GOOD.replace('"person"', toml))).join.on == value


@pytest.mark.parametrize(
    ("toml", "value"),
    [
        ("{ rows = 5000 }", RowsWindow(rows=5000)),
        ('["10 minutes", "0 seconds"]', ("10 minutes", "0 seconds")),
        ('["10 minutes", { rows = 5 }]', ("10 minutes", RowsWindow(rows=5))),
    ],
)
def test_forms_of_window(tmp_path: Path, toml: str, value: object) -> None:
    assert load(write(tmp_path, GOOD.replace('"10 seconds"', toml))).join.window == value


def test_a_join_without_a_key(tmp_path: Path) -> None:
    text = GOOD.replace('on = "person"', 'where = "left.x < right.x"\nhow = "left"\nrates = [9, 1]')
    join = load(write(tmp_path, text)).join
    assert (join.on, join.where, join.how, join.rates) == (None, "left.x < right.x", "left", (9, 1))


@pytest.mark.parametrize(
    ("toml", "budget"),
    [
        ('{ cpu = 0.25, memory = "64 MB" }', Budget(cpu=0.25, memory="64 MB")),
        ('{ cpu = "200 ms" }', Budget(cpu="200 ms")),
        ("{ cpu = 1 }", Budget(cpu=1.0)),
        ("{ rate = 1000 }", Budget(rate=1000.0)),
        ("{ memory = { rows = 100000 } }", Budget(memory=Rows(100_000))),
    ],
)
def test_forms_of_budget(tmp_path: Path, toml: str, budget: Budget) -> None:
    more = f'budget = {toml}\nsplit = "equal"\nalgorithm = ["hash", "auto"]\ninvalidation = "lazy"'
    join = load(write(tmp_path, GOOD.replace("[join]", f"[join]\n{more}"))).join
    assert join.budget is not None
    assert join.budget.made() == budget
    assert (join.split, join.algorithm, join.invalidation) == ("equal", ("hash", "auto"), "lazy")


def test_spark_settings_may_be_quoted_or_bare(tmp_path: Path) -> None:
    text = GOOD + '[spark]\nmaster = "local[1]"\nspark.sql.ansi.enabled = true\n"spark.a.b" = 3\n'
    assert load(write(tmp_path, text)).spark == {
        "master": "local[1]",
        "spark.sql.ansi.enabled": "true",
        "spark.a.b": "3",
    }


MISTAKES = [
    ("window =", "windw =", "key `join.windw`: unknown; did you mean `window`? allowed: left, "),
    ("window =", "windw =", "key `join.window`: missing; allowed: a duration such as"),
    ("[sink]", "[snk]", "key `snk`: unknown; did you mean `sink`? allowed: sources, join, sink, "),
    ('"10 seconds"', '"soon"', "key `join.window`: got 'soon'; allowed: a duration such as"),
    ('"10 seconds"', '"-1 s"', "key `join.window`: got '-1 s'; allowed: a duration such as"),
    ('"10 seconds"', "10", "key `join.window`: got 10; allowed: a duration such as"),
    (
        '"10 seconds"',
        "{ rows = 0 }",
        "key `join.window`: got {'rows': 0}; allowed: a duration such",
    ),
    ('"10 seconds"', "{ row = 5 }", "key `join.window`: got {'row': 5}; allowed: a duration such"),
    ('"10 seconds"', '"rows 5"', "key `join.window`: got 'rows 5'; allowed: a duration such as"),
    ("[join]", '[join]\nhow = "lef"', "key `join.how`: got 'lef'; allowed: inner, left, right, "),
    ("[join]", '[join]\ndirection = "up"', "key `join.direction`: got 'up'; allowed: backward, "),
    ("[join]", '[join]\nwhere = ""', "key `join.where`: got ''; allowed: SQL over left.x and "),
    (
        "[join]",
        '[join]\nidle_timeout = "0 s"',
        "key `join.idle_timeout`: got '0 s'; allowed: a pos",
    ),
    ("[join]", "[join]\nrates = [1, 0]", "key `join.rates`: got 0; allowed: a pair of positive"),
    ("[join]", "[join]\nrates = 1", "key `join.rates`: got 1; allowed: a pair of positive numbers"),
    ("[join]", "[join]\nlate_rows = 1", "key `join.late_rows`: got 1; allowed: a folder for late"),
    ("[join]", "[join]\nbudget = 3", "key `join.budget`: got 3; allowed: a table such as { cpu = "),
    ("[join]", "[join]\nbudget = {}", "key `join.budget`: got no limit; allowed: cpu, rate or mem"),
    (
        "[join]",
        "[join]\nbudget = { cpu = 0.5, rate = 3 }",
        "key `join.budget`: got cpu=0.5 and rate=3.0; allowed: one of them",
    ),
    (
        "[join]",
        "[join]\nbudget = { cpu = 1.5 }",
        "key `join.budget.cpu`: got 1.5; allowed: a share of the cores above 0 and up to 1, or CPU",
    ),
    (
        "[join]",
        "[join]\nbudget = { cpu = true }",
        "key `join.budget.cpu`: got True; allowed: a share",
    ),
    (
        "[join]",
        "[join]\nbudget = { rate = 0 }",
        "key `join.budget.rate`: got 0; allowed: a positive",
    ),
    (
        "[join]",
        '[join]\nbudget = { memory = "64 XB" }',
        "key `join.budget.memory`: got '64 XB'; allowed: a size such as \"64 MB\", or a number of",
    ),
    (
        "[join]",
        "[join]\nbudget = { memory = { rows = 0 } }",
        "key `join.budget.memory`: got {'rows': 0}; allowed: a size such as",
    ),
    (
        "[join]",
        "[join]\nbudget = { rat = 3 }",
        "key `join.budget.rat`: unknown; did you mean `rate`? allowed: cpu, rate, memory",
    ),
    ("[join]", '[join]\nshed = "x"', "key `join.shed`: got 'x'; allowed: selective, drop, or ["),
    ("[join]", '[join]\nshed = ["lag"]', "key `join.shed`: got ['lag']; allowed: selective, drop"),
    ("[join]", '[join]\nsplit = "x"', "key `join.split`: got 'x'; allowed: best; where compariso"),
    ("[join]", "[join]\nutility = 3", "key `join.utility`: got 3; allowed: a column of numbers"),
    ("[join]", "[join]\nweights = 3", "key `join.weights`: got 3; allowed: true or false: "),
    (
        "[join]",
        '[join]\nalgorithm = ["hash"]',
        "key `join.algorithm`: got ['hash']; allowed: auto, ",
    ),
    (
        "[join]",
        '[join]\ninvalidation = "x"',
        "key `join.invalidation`: got 'x'; allowed: active, lazy",
    ),
    ('"2 seconds"', '"now"', "key `run.trigger`: got 'now'; allowed: \"available-now\" or a"),
    ('"2 seconds"', '"available-now"', "key `sources.calls.seconds`: missing; allowed: seconds of"),
    (
        'path = "trades"',
        "",
        "key `sources.trades.path`: missing; allowed: the folder of the parquet",
    ),
    ('"parquet"', '"csv"', "key `sources.trades.schema`: missing; allowed: the columns, such as"),
    (
        '"generator"',
        '"generator"\nrate = -1',
        "key `sources.calls.rate`: got -1; allowed: rows per",
    ),
    (
        '"generator"',
        '"generator"\nworkload = "x"',
        "key `sources.calls.workload`: got 'x'; allowed: ",
    ),
    (
        '"generator"',
        '"generator"\nburst = { at = "3 s", times = 2 }',
        "key `sources.calls.burst.lasting`: missing; allowed: a positive duration such as",
    ),
    (
        '"generator"',
        '"generator"\nburst = { at = "-3 s", lasting = "1 s", times = 2 }',
        "key `sources.calls.burst.at`: got '-3 s'; allowed: a duration such as",
    ),
    (
        '"generator"',
        '"generator"\nburst = { at = "3 s", lasting = "1 s", times = 0 }',
        "key `sources.calls.burst.times`: got 0; allowed: a number, more than 0, at most 1000",
    ),
    ('"generator"', '"generator"\nburst = 4', "key `sources.calls.burst`: got 4; allowed: a table"),
    (
        "[run]",
        "[metrics]\nprometheus = -1\n[run]",
        "key `metrics.prometheus`: got -1; allowed: a p",
    ),
    (
        "[run]",
        "[metrics]\nprometheus = 'x:'\n[run]",
        "key `metrics.prometheus`: got 'x:'; al",
    ),
    ("[run]", "[metrics]\npath = 3\n[run]", "key `metrics.path`: got 3; allowed: a folder; or"),
    ("[run]", "[run]\ncompare = 1", "key `run.compare`: got 1; allowed: true or false: whether"),
    ("[run]", "[run]\ncompare = true", "key `run.compare`: got true; allowed with: two generated"),
    ('"noop"', '"parquet"', "key `sink.path`: missing; allowed: a folder for the parquet files"),
    ('"noop"', '"delta"', "key `run.checkpoint`: missing; allowed: a folder (a delta sink has"),
    ('"noop"', '"noop"\npair_id = ""', "key `sink.pair_id`: got ''; allowed: the name of a column"),
    ('"noop"', '"noop"\noptions = 3', "key `sink.options`: got 3; allowed: a table of the Spark"),
    ("[join]", '[join]\nleft = "x"', "key `join.left`: got 'x'; allowed: calls, trades"),
    ("[join]", '[join]\nright = "calls"', "key `join.right`: got 'calls' for both sides; allowed"),
    ("[join]", '[sources.c]\ntype = "rate"\n[join]', "key `sources`: got 3 (calls, trades, c); "),
    ("[run]", "[spark]\nmastr = 1\n[run]", "key `spark.mastr`: unknown; allowed: master, driver_"),
    ("[run]", "[run", "is not TOML: "),
]


@pytest.mark.parametrize(("old", "new", "sentence"), MISTAKES)
def test_mistakes_name_the_key_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, sentence: str
) -> None:
    assert old in GOOD
    file = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ConfigError) as refused:
        load(file)
    lines = str(refused.value).splitlines()
    assert all(line.startswith(f"{file}: ") for line in lines)
    assert any(line.removeprefix(f"{file}: ").startswith(sentence) for line in lines), lines


@pytest.mark.parametrize("name", ["sources", "join", "sink", "run", "metrics", "spark"])
def test_a_table_that_is_a_value_is_refused(tmp_path: Path, name: str) -> None:
    kept = [part for part in GOOD.split("\n[") if not part.startswith(name)]
    text = f"{name} = 3\n" + "\n[".join(kept)
    with pytest.raises(ConfigError, match=rf"key `{name}`: got a value of type int; allowed: "):
        load(write(tmp_path, text))


COMPARED = """
[sources.calls]
type = "generator"
[sources.trades]
type = "generator"
workload = "trades"
[join]
on = "person"
time = ["called_at", "traded_at"]
window = "10 seconds"
budget = { cpu = 0.5 }
[sink]
type = "noop"
[run]
trigger = "2 seconds"
compare = true
"""


def test_a_run_may_be_compared(tmp_path: Path) -> None:
    assert load(write(tmp_path, COMPARED)).run.compare


@pytest.mark.parametrize(
    ("old", "new", "allowed"),
    [
        ('workload = "trades"', 'workload = "trades"\nselect = ["person"]', "without select"),
        ("cpu = 0.5", "rate = 9", "a budget of cpu"),
        ("[sink]", 'shed = "drop"\n[sink]', "shed selective"),
        ("budget = { cpu = 0.5 }", "", "a budget of cpu"),
        ('"10 seconds"', '["10 seconds", { rows = 9 }]', "windows of time"),
        ("compare", 'checkpoint = "ck"\ncompare', "no checkpoint"),
        ('"noop"', '"parquet"\npath = "out"', "a console or noop sink"),
    ],
)
def test_a_run_whose_rows_cannot_be_joined_again_is_not_compared(
    tmp_path: Path, old: str, new: str, allowed: str
) -> None:
    assert old in COMPARED
    with pytest.raises(ConfigError, match=f"key `run.compare`: got true; allowed.*{allowed}"):
        load(write(tmp_path, COMPARED.replace(old, new)))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read: No such file"):
        load(tmp_path / "none.toml")
