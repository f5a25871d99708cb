"""What is said of joins before they run; no query is started here."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.planning.two.algorithm_choice import Load, OperationCosts, costs_of

EXAMPLES = Path(__file__).parents[2] / "examples"
COLUMNS = "value AS k", "timestamp AS t", "double(value) AS x", "string(value) AS s"


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    return spark.readStream.format("rate").load().selectExpr(*COLUMNS)


def first(frame: DataFrame | Path, **said: Any) -> dict[str, Any]:
    """What programs get of the first join."""
    join: dict[str, Any] = sj.explain(frame, **said).to_dict()["joins"][0]
    return join


def explained(frame: DataFrame, **arguments: Any) -> dict[str, Any]:
    settings = {"time": "t", "window": "1 minute", "lateness": "4 seconds", **arguments}
    return first(sj.join(frame, frame, **settings))


def section(frame: DataFrame, title: str, **said: Any) -> list[str]:
    """Lines of the text of the only join."""
    (report,) = sj.explain(frame, **said).reports
    return [line for line in report.sections[title] if line is not None]


def codes(join: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in join["warnings"]]


def test_each_condition_has_its_place(ticks: DataFrame) -> None:
    where = (
        "left.s = right.s AND abs(left.x - right.x) <= 5 AND left.k < right.k AND left.s LIKE 'a%'"
    )
    join = explained(ticks, where=where, idle_timeout="1 minute")
    assert [(c["text"], c["place"]) for c in join["conditions"]] == [
        ("left.s = right.s", "key"),
        ("abs(left.x - right.x) <= 5", "index"),
        ("left.k < right.k", "operator"),
        ("left.s LIKE 'a%'", "spark"),
    ]
    assert join["index"].startswith(
        "hash index by a hash of the key (then the keys are compared) and "
    )
    assert "by buckets of about 5 " in join["index"]
    assert codes(join) == ["left_to_spark"]
    assert "LIKE" in join["warnings"][0]["text"]


def test_a_band_may_be_made_of_two_conditions(ticks: DataFrame) -> None:
    join = explained(ticks, where="left.x >= right.x - 3 AND left.x < right.x + 2", how="anti")
    assert [condition["place"] for condition in join["conditions"]] == ["index", "index"]
    assert "all_pairs" not in codes(join)


WINDOWS = [
    (
        {"window": ("10 minutes", None)},
        "a left row of time t meets right rows from t to t + 10 min",
    ),
    (
        {"window": ("5 s", "2 s")},
        "a left row of time t meets right rows from t - 2 seconds to t + 5",
    ),
    ({"how": "asof"}, "a left row of time t takes the last right row, from t - 1 minute to t"),
    (
        {"how": "asof", "direction": "nearest"},
        "a left row of time t takes the right row nearest to",
    ),
    ({"window": (sj.rows(5000), "3 s")}, "a right row meets left rows among the last 5,000 before"),
    ({"window": (None, sj.rows(5))}, "a right row meets left rows of the same time"),
]


@pytest.mark.parametrize(("arguments", "sentence"), WINDOWS)
def test_windows_in_words(ticks: DataFrame, arguments: dict[str, Any], sentence: str) -> None:
    assert explained(ticks, on="k", **arguments)["windows"][0].startswith(sentence)


EMITTED = [
    ("inner", ["pairs at once"]),
    ("semi", ["each left row once, in the batch that brings its first match"]),
    ("anti", ["left rows without a partner in the batch whose watermark is past t + 5 seconds; "]),
    (
        "right",
        [
            "pairs at once",
            "right rows without a partner in the batch whose watermark is past t + 2",
        ],
    ),
    ("asof", ["each left row once, in the batch whose watermark is past t; with nulls"]),
]


@pytest.mark.parametrize(("how", "sentences"), EMITTED)
def test_when_rows_come_out(ticks: DataFrame, how: str, sentences: list[str]) -> None:
    found = explained(ticks, on="k", how=how, window=("5 s", "2 s"))["emitted"]
    assert len(found) == len(sentences)
    assert all(text.startswith(wanted) for text, wanted in zip(found, sentences, strict=True))


WARNINGS = [
    ({}, ["cross_join", "unbounded_state"]),
    ({"where": "left.x < right.x"}, ["all_pairs", "unbounded_state"]),
    ({"how": "full"}, ["cross_join", "one_shard", "unbounded_state"]),
    ({"on": "k", "shards": 1}, ["one_shard", "unbounded_state"]),
    ({"on": "k", "lateness": "0 s"}, ["unbounded_state", "no_lateness"]),
    ({"on": "k", "window": ("2 days", "1 s")}, ["unbounded_state", "long_window"]),
    ({"on": "k", "window": sj.rows(9)}, ["unbounded_state", "waits_for_watermark"]),
    ({"on": "k", "idle_timeout": "1 minute"}, []),
]


@pytest.mark.parametrize(("arguments", "wanted"), WARNINGS)
def test_warnings(ticks: DataFrame, arguments: dict[str, Any], wanted: list[str]) -> None:
    assert codes(explained(ticks, **arguments)) == wanted


def test_a_budget_and_what_it_comes_to(ticks: DataFrame) -> None:
    settings: dict[str, Any] = {"on": "k", "time": "t", "window": "1 minute", "lateness": "4 s"}
    budget = sj.Budget(rate=1000, memory=sj.rows(10_000))
    joined = sj.join(ticks, ticks, budget=budget, split="right/left", **settings)
    found = first(joined, rates=(2000, 500))
    assert found["budget"]["limits"] == "at most 1,000 tuples/s and 10,000 remembered rows"
    assert len(found["budget"]["meaning"]) == 4
    assert "memory for the right window, CPU for the left stream" in found["budget"]["split"]
    planned = found["budget"]["planned"]
    # 9 in 10 of the service to the left; 100 rows/s are kept for 80 s, the rest is the other's.
    assert (planned["rates"], planned["memory"]) == ([900.0, 100.0], [2000.0, 8000.0])
    assert planned["share"] == pytest.approx((6000 * 900 + 2000 * 100) / (2000 * 500 * 120))
    assert not planned["fits"]
    let_in = "at 2,000 and 500 rows/s: 900 left and 100 right rows/s are let"
    assert planned["text"].startswith(let_in)
    assert codes(found) == []  # the memory bounds the state
    assert first(joined)["budget"]["planned"] is None
    assert first(joined, rates=(9, 9))["budget"]["planned"]["fits"]
    little = sj.join(ticks, ticks, budget=sj.Budget(cpu=0.5, memory=sj.rows(100)), **settings)
    warned = codes(first(little, rates=(2000, 500)))
    assert warned == ["hot_keys_stay", "little_memory"]


def test_a_budget_that_chooses_comparisons(ticks: DataFrame) -> None:
    settings: dict[str, Any] = {
        "time": "t",
        "window": ("20 s", "10 s"),
        "where": "left.x < right.x",
    }
    limited = sj.join(ticks, ticks, budget=sj.Budget(cpu=0.5), split="ra+tc", utility=("x", None),
                      shards=2, **settings)  # fmt: skip
    found = first(limited, rates=(2000, 1000))["budget"]
    chosen = found["selective"]
    assert (chosen["order"], chosen["policy"]) == (["selective", "drop"], "ra+tc")
    assert (chosen["basic_windows"], chosen["basic_window_us"]) == ([20, 11], 1_000_000)
    assert chosen["utility"] == ["x", None]
    assert found["split"] is None  # there is nothing to be divided
    text = " ".join(section(limited, "budget", rates=(2000, 1000)))
    for words in (
        "every row is received and remembered",
        "rows are dropped as they come",
        "policy ra+tc: the same part of both windows, of each the most productive",
        "a result is worth left.x",
        "20 of the left and 11 of the right window, 1 second each",
        "a sample of the remembered rows",
    ):
        assert words in text
    planned = found["planned"]
    # 60 million pairs a second of 0.02 us; there is half of each of two cores.
    assert planned["need"]["comparing"] == pytest.approx(1.2, rel=0.01)
    assert planned["need"]["given"] == 1.0
    assert planned["fraction"] == pytest.approx((1 - 0.005) / 1.2, rel=0.01)
    assert (planned["fits"], planned["rates"]) == (False, [2000.0, 1000.0])
    assert planned["share"] == pytest.approx(planned["fraction"])
    assert "83 % of the comparisons are made" in planned["text"]
    assert first(limited, rates=(20, 10))["budget"]["planned"]["fits"]
    lagging = sj.join(ticks, ticks, budget=sj.Budget(cpu="1 ms"), shed=["selective", "lag"],
                      shards=2, **settings)  # fmt: skip
    slow = first(lagging, rates=(2000, 1000))["budget"]["planned"]
    assert "batches take longer" in " ".join(section(lagging, "budget", rates=(2000, 1000)))
    assert (slow["service"], slow["rates"]) == (None, [2000.0, 1000.0])


def test_sets_are_found_by_an_inverted_index(ticks: DataFrame) -> None:
    tagged = ticks.selectExpr("t", "x", "split(s, '') AS tags")
    join = explained(
        tagged, where="overlap(left.tags, right.tags) >= 2 AND left.x < right.x", idle_timeout="1 s"
    )
    assert [c["place"] for c in join["conditions"]] == ["inverted_index", "operator"]
    assert join["index"].startswith("inverted index by the items of sets of the rows that arrive")
    assert join["algorithm"]["windows"][0]["chosen"] == "batch"
    assert codes(join) == []


def test_methods_and_their_costs(
    ticks: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAMJOIN_CALIBRATION", str(tmp_path / "none.json"))
    joined = sj.join(ticks, ticks, on="k", time="t", window=("1 minute", "1 s"), shards=2,
                     algorithm=("auto", "nested"), invalidation="lazy")  # fmt: skip
    undecided = first(joined)
    left, right = undecided["algorithm"]["windows"]
    assert (left["chosen"], left["cost_us"], right["chosen"]) == (None, None, "nested")
    assert "auto: in each batch the cheapest" in str(section(joined, "algorithm"))
    assert undecided["invalidation"] is not None
    found = first(joined, rates=(2000, 500))["algorithm"]
    cost_us = found["windows"][0]["cost_us"]
    assert found["windows"][0]["chosen"] == min(cost_us, key=lambda method: cost_us[method])
    # Of each shard: 250 arrivals, compared with 1,000 rows/s kept for 75 s; 1,000 rows come and go.
    load = Load(250, stored=75_000, stored_keys=75_000, inserted=1000, n_windows=75)
    expected = costs_of(load, OperationCosts())["nested"]
    assert cost_us["nested"] == pytest.approx(2 * expected / 1000)
    assert found["costs"] == "built-in"
    forced = explained(ticks, on="k", algorithm="hash")
    assert forced["index"] == "hash index by key of basic windows; the rows that arrive probe it"
    assert explained(ticks, on="k", how="asof")["algorithm"] is None


def test_the_readme_s_budget(ticks: DataFrame) -> None:
    """The example of the README runs, and is explained."""
    text = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    code = text.partition("## On a budget")[2].partition("```python\n")[2].partition("```")[0]
    names = {
        "sj": sj,
        "calls": ticks.selectExpr("k AS person", "t AS called_at"),
        "trades": ticks.selectExpr("k AS person", "t AS traded_at"),
    }
    exec(code, names)
    found = first(names["out"])  # type: ignore[arg-type]
    assert found["budget"]["limits"].startswith("at most 0.25 of the cores and 64 MB of state")


def test_the_grid_and_its_copies(ticks: DataFrame) -> None:
    joined = sj.join(ticks, ticks, time="t", window="1 minute", lateness="4 seconds", how="left")
    shards = first(joined)["shards"]
    assert (shards["n_shards"], shards["n_partitions"], shards["copies"]) == (2, 2, [1, 2])
    assert section(joined, "shards") == [
        "grid of 2 x 1, over 2 partitions; each left row is sent to 1 shard, "
        "each right row to 2 shards"
    ]


def test_the_estimate_of_state(ticks: DataFrame) -> None:
    frame = sj.join(ticks, ticks, time="t", window=("1 minute", sj.rows(400)), lateness="4 seconds",
                    rates=(1, 5))  # fmt: skip
    left, right = first(frame, rates=(10, 20))["state"]
    # A row: three times 8 bytes, and 4 + 20 of text; with its rank where rows are counted.
    assert (left["bytes_per_row"], right["bytes_per_row"], left["guessed"]) == (48, 56, True)
    assert (left["copies"], right["copies"]) == (2, 1)
    assert (left["rows"], right["rows"]) == (2 * 10 * (60 + 4 + 16), 20 * 4 + 400 * 5 / 4)
    assert left["bytes"] == left["rows"] * 48


def test_every_join_of_a_chain_in_the_order_of_the_data(ticks: DataFrame) -> None:
    arguments: dict[str, Any] = {"on": "k", "time": "t", "window": "1 minute"}
    first = sj.join(ticks, ticks, **arguments).selectExpr("k", "t_left AS t").filter("k > 3")
    second = sj.join(ticks, first, how="left", name="second", **arguments).select("k")
    found = sj.explain(second, rates={"second": (1, 2)}).to_dict()["joins"]
    assert [(join["name"], join["how"]) for join in found] == [
        ("streamjoin", "inner"),
        ("second", "left"),
    ]
    assert [join["state"][0]["rate_given"] for join in found] == [False, True]
    with pytest.raises(
        sj.ConfigError, match=r"rates: got \(1, 2\) for 2 joins; allowed: {'second'"
    ):
        sj.explain(second, rates=(1, 2))
    with pytest.raises(sj.ConfigError, match="rates: got a join 'x'; allowed: second, streamjoin"):
        sj.explain(second, rates={"x": (1, 2)})


def test_the_joins_of_a_very_wide_result_are_found(ticks: DataFrame) -> None:
    wide = ticks.select("k", "t", *(ticks.x.alias(f"x{i}") for i in range(60)))
    assert len(explained(wide, on="k")["columns"]) == 123


def test_what_comes_out_and_what_it_takes(ticks: DataFrame) -> None:
    settings: dict[str, Any] = {"on": "k", "time": "t", "window": ("1 minute", "20 s"), "shards": 2}
    out = sj.join(ticks, ticks, freshness="2 minutes", **settings)
    said = sj.explain(out, rates=(200, 100), selectivities=0.001)
    found = said.to_dict()["joins"][0]["expected"]
    assert (found["basis"], found["cores"]) == ("given", 2)
    assert found["rows_per_second"] == pytest.approx(0.001 * 200 * 100 * 80)
    # 300 rows at 1 us; 200 x 60 + 100 x 20 rows are streamed past and 1,600 pairs looked at, at
    # 0.02 us; 1,600 results at 0.2 us
    assert found["cpu_s"] == pytest.approx((300 + 0.02 * (14_000 + 1600) + 0.2 * 1600) / 1e6)
    text = " ".join(str(said).split())
    assert "About 1,600 rows/s come out; about" in text
    assert "0.047 % of 2 cores: it fits." in text
    assert "| freshness left 2 minutes, right 2 minutes" in text
    guess = sj.explain(out, rates=(200, 100))
    assert "300 rows/s come out, if each row has one match" in " ".join(str(guess).split())
    assert "give rates=(left, right)" in " ".join(str(sj.explain(out)).split())
    assert first(out)["meanings"] is None


def test_too_little_cpu_is_said(ticks: DataFrame) -> None:
    out = sj.join(ticks, ticks, time="t", window="1 minute", idle_timeout="1 minute")
    found = sj.explain(out, rates=(2000, 2000), selectivities=1)
    assert "too_little_cpu" in codes(found.to_dict()["joins"][0])
    assert "too much, the query would fall behind" in " ".join(str(found).split())


def test_the_operators_from_the_result_to_the_streams(ticks: DataFrame) -> None:
    out = sj.join(ticks, ticks, on="k", time="t", window=("1 minute", None), lateness="1 second",
                  where="left.x < right.x AND left.s LIKE 'a%'", shards=2)  # fmt: skip
    text = str(sj.explain(out, rates=(10, 20)))
    tree = [line[17:] for line in text[text.index("  how it runs") :].splitlines()]
    assert tree[0].startswith("result: those of these rows that fulfil it; k, t_left, x_left, ")
    check = "`- left.s LIKE 'a%': checked on the rows that the join hands out; "
    assert any(line.startswith(check) for line in tree)
    assert "   `- inner window join: left.k = right.k; left.x < right.x" in tree
    assert any(line.startswith("      |  left -> right, just come: algorithm") for line in tree)
    assert any(line.startswith("      |  right -> left, last 1 minute: algorithm") for line in tree)
    assert "      `- shuffle: 2 shards, by key" in tree
    assert any(
        line.startswith("         +- left: 10 rows/s, window of 1 minute; ") for line in tree
    )
    assert any(line.startswith("         `- right: 20 rows/s, not remembered, ") for line in tree)


def test_text_and_json_say_the_same(ticks: DataFrame) -> None:
    found = sj.explain(sj.join(ticks, ticks, on="k", time="t", window="1 minute", late_rows="late"))
    text = str(found)
    assert text == repr(found)
    assert all(len(line) <= 100 for line in text.splitlines())
    assert "  ! no lateness" in text
    document = found.to_dict()
    late = document["joins"][0]["late"]
    assert late.endswith(f"counted and written to {Path('late').resolve()}")
    assert json.loads(json.dumps(document)) == document
    assert document["joins"][0]["conditions"] == [{"text": "left.k = right.k", "place": "key"}]


def test_batch_joins(spark: SparkSession) -> None:
    table = spark.range(3).selectExpr("id AS k", "timestamp_seconds(id) AS t")
    found = sj.explain(sj.join(table, table, on="k", time="t", window="1 minute", how="left"))
    (join,) = found.to_dict()["joins"]
    assert (join["state"], join["warnings"]) == ([], [])
    assert join["emitted"] == ["everything at the end: all rows are there"]
    assert "watermark" not in str(found)


def test_a_pipeline_file(spark: SparkSession) -> None:
    before = dict(spark.conf.getAll)
    found = first(EXAMPLES / "calls_without_trades.toml")
    assert dict(spark.conf.getAll) == before
    rates = [side["rows_per_second"] for side in found["state"]]
    assert (found["how"], rates) == ("anti", [500, 200])
    assert [condition["place"] for condition in found["conditions"]] == ["key", "operator"]


def test_what_is_no_join_is_refused(ticks: DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "p.toml"
    for frame, sentence in [
        (
            ticks,
            "frame: the DataFrame comes from no join of streamjoin; allowed: what sj.join returns",
        ),
        (3, "frame: got int; allowed: a DataFrame or a pipeline file's path"),
        (
            "p.csv",
            r"frame: got 'p.csv'; allowed: a DataFrame or a pipeline file \(\*.toml, \*.sql\)",
        ),
        (file, r"p\.toml: cannot be read: No such file"),
    ]:
        with pytest.raises(sj.ConfigError, match=sentence):
            sj.explain(frame)  # type: ignore[call-overload]
    joined = sj.join(ticks, ticks, on="k", time="t", window="1 minute")
    with pytest.raises(sj.ConfigError, match=r"rates: got \(0, 1\); allowed: a pair"):
        sj.explain(joined, rates=(0, 1))
