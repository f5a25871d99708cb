"""What is said of joins of many streams before they run; no query is started here."""

import json
from typing import Any
from xml.etree import ElementTree

import pytest
from pyspark.sql import DataFrame, SparkSession

import streamjoin as sj
from streamjoin.errors import ConfigError
from tests.explanations.test_drawing import check_places

PLAN = "((a b) c) d"
RATES = {"a": 300.0, "b": 100.0, "c": 50.0, "d": 10.0}
CHAIN = ["a.k = b.k", "b.k = c.k", "c.s = d.s"]


@pytest.fixture
def ticks(spark: SparkSession) -> DataFrame:
    stream = spark.readStream.format("rate").load()
    return stream.selectExpr("value AS k", "timestamp AS t", "string(value) AS s")


def joined(ticks: DataFrame, **changes: Any) -> DataFrame:
    settings = {"on": "k", "time": "t", "window": "10 seconds", "lateness": "2 seconds", **changes}
    return sj.multi_join(dict.fromkeys("abcd", ticks), **settings)


def explained(frame: DataFrame, **said: Any) -> dict[str, Any]:
    """What programs get of the only join of many streams."""
    (plan,) = sj.explain(frame, **said).to_dict()["plans"]
    found: dict[str, Any] = plan
    return found


def section(frame: DataFrame, title: str, **said: Any) -> list[str]:
    """Lines of the text of the only join."""
    (report,) = sj.explain(frame, **said).reports
    return [line for line in report.sections[title] if line is not None]


def codes(join: dict[str, Any]) -> list[str]:
    return [warning["code"] for warning in join["warnings"]]


def test_the_plan_is_drawn_and_what_may_change_is_said(ticks: DataFrame) -> None:
    out = joined(ticks)
    text = str(sj.explain(out))
    head = (
        "streamjoin: join of 4 streams, a, b, c, d\n  Combines rows of a, b, c and d where a.k = "
    )
    assert text.startswith(head)
    assert "+- join of a b with c\n" in text
    assert "+- a: window of 10 seconds\n" in text
    assert max(map(len, text.splitlines())) <= 100
    found = explained(out)
    assert "every 16 batches another takes over" in found["plan"]
    assert found["plan"].endswith("results do not depend on it")
    assert "none goes stale" in found["states"][0]
    operators = [(one["plan"], one["key"]) for one in found["operators"]]
    assert operators == [(PLAN, ["a.k = b.k = c.k = d.k"])]
    assert found["numbers"] is None
    assert 'rates={"a": 300' in found["missing"]
    assert 'selectivities={"a b": 0.001, ...}' in found["missing"]
    assert codes(found) == ["unbounded_state"]


def test_operators_and_places_of_conditions(ticks: DataFrame) -> None:
    windows = {"a": "10 seconds", "b": "2 days", "c": None, "d": "10 seconds"}
    out = joined(ticks, on=CHAIN, where="a.s < d.s", window=windows, lateness="0 seconds")
    found = explained(out)
    assert [(one["name"], one["plan"], one["key"]) for one in found["operators"]] == [
        ("streamjoin 1", "(a b) c", ["a.k = b.k = c.k"]),
        ("streamjoin", "<streamjoin 1> d", ["c.s = d.s"]),
    ]
    assert "another key" in found["operators"][1]["text"]
    assert [(one["text"], one["place"]) for one in found["conditions"]] == [
        ("a.k = b.k = c.k", "key"),
        ("c.s = d.s", "key"),
        ("a.s < d.s", "spark"),
    ]
    assert found["windows"][1] == "a, d: 10 seconds; b: 2 days; c: only probes"
    assert found["plan"].endswith("it stays; results do not depend on it")
    assert codes(found) == ["left_to_spark", "unbounded_state", "no_lateness", "long_window"]


def test_half_way_joins_and_paths_in_numbers(ticks: DataFrame) -> None:
    said = {"b a": 0.002, "a b c": 0.01}
    found = explained(joined(ticks, plan=PLAN), rates=RATES, selectivities=said)["numbers"]
    assert found["selectivities"] == {"a b": 0.002, "a b c": 0.01, "a b c d": 0.001}
    by_label = {one["tuples"]: one for one in found["half_way"]}
    assert (by_label["a"]["probes"], by_label["a"]["productivity"]) == ("b", 0.002 * 1000)
    # of 3,000 x 1,000 pairs of rows in their windows two in a thousand match
    assert by_label["a b"]["state"] == pytest.approx(6000)
    assert by_label["a b"]["arriving"] == pytest.approx(300 * 2 + 100 * 6)
    assert by_label["a"]["allowance"] is None
    path = next(path for path in found["paths"] if path["stream"] == "c")
    assert path["steps"] == ["c -> a b", "a b c -> d"]
    # 60 of (a b), and 0.1 of d for each
    assert [path["results"], path["probes"]] == pytest.approx([6, 61])
    results = sum(RATES[path["stream"]] * path["results"] for path in found["paths"])
    assert found["results"] == pytest.approx(results)
    assert found["budget"] is None


def test_planners_and_allowances_within_a_budget(ticks: DataFrame) -> None:
    out = joined(ticks, budget=sj.Budget(rate=300), planner="exact")
    found = explained(out, rates=RATES)
    shares = {one["planner"]: one["share"] for one in found["numbers"]["planners"]}
    assert next(iter(shares)) == "exact"
    assert set(shares) == {
        "jaqpot", "exact", "grepp", "equal-hj", "global-hjpr", "e-best-hjp", "s-best-hjp"
    }  # fmt: skip
    assert all(0 <= share <= 1 for share in shares.values())
    half_way = found["numbers"]["half_way"]
    probes = [min(one["allowance"] or 0, one["arriving"]) for one in half_way]
    assert sum(probes) <= 300 * 1.001
    assert "divided by exact" in found["budget"][0]
    enough = joined(ticks, budget=sj.Budget(rate=1e6))
    assert explained(enough, rates=RATES)["numbers"]["planners"] == []
    costs = section(enough, "costs", rates=RATES)
    assert any("enough, nothing is left out" in line for line in costs)
    by_cpu = explained(joined(ticks, budget=sj.Budget(cpu="1 ms")), rates=RATES)
    assert by_cpu["numbers"]["unit"] == "us"
    assert any("taken as 2 us of CPU" in line for line in by_cpu["budget"])
    chain = joined(ticks, on=CHAIN, budget=sj.Budget(rate=300), shared="/shared/files")
    assert "one for all operators" in explained(chain)["budget"][1]
    assert explained(chain)["budget"][1].endswith("/shared/files")


def test_what_budgets_would_mean(ticks: DataFrame) -> None:
    found = explained(joined(ticks, plan=PLAN), rates=RATES, selectivities=0.01)
    expected, numbers, rows = found["expected"], found["numbers"], found["meanings"]["rows"]
    recalls = [row["recall"] for row in rows]
    assert [row["part"] for row in rows] == [1.0, 0.5, 0.25, 0.1]
    assert recalls == sorted(recalls, reverse=True)
    assert recalls[0] == 1
    assert 0 < recalls[1] < 1
    assert expected["rows_per_second"] == numbers["results"]
    # a row that comes and a probe at 2 us, a result at 0.2 us
    work = 2 * (sum(RATES.values()) + numbers["cost"]) + 0.2 * numbers["results"]
    assert expected["cpu_s"] == pytest.approx(work / 1e6)
    assert f"cpu={expected['cpu_s'] / expected['cores']:.2g}" == rows[0]["budget"]
    assert "divided by jaqpot" in found["meanings"]["note"]
    nary = explained(joined(ticks, strategy="mjoin"), rates=RATES)
    assert nary["meanings"]["rows"] == []


def test_a_tree_and_a_star_are_drawn(ticks: DataFrame) -> None:
    tree = sj.explain(joined(ticks, plan="(a b) (c d)", freshness="12 seconds"), rates=RATES)
    shown = tree.to_svg()
    for words in ("join of a b with c d", "state of c d", "300 rows/s, window of 10 seconds",
                  "freshness a, b, c, d 12 seconds"):  # fmt: skip
        assert words in shown
    check_places(ElementTree.fromstring(shown))
    star = sj.explain(joined(ticks, strategy="mjoin"), rates=RATES)
    assert "n-ary join" in star.to_svg()
    check_places(ElementTree.fromstring(star.to_svg()))


def test_states_that_can_go_stale(ticks: DataFrame) -> None:
    states = {"a b": sj.rows(500), "a b c": sj.rows(200)}
    out = joined(
        ticks, plan=PLAN, states=states, freshness={"a": "12 seconds"}, shards=2,
        budget=sj.Budget(rate=300),
    )  # fmt: skip
    found = explained(out, rates=RATES)
    assert found["states"][0].startswith(
        "a b: the last 500; a b c: the last 200 results, however old"
    )
    assert found["freshness"][0].startswith("a 12 seconds: results with an older row")
    assert "results depend on it" in found["plan"]
    refresh = {one["tuples"]: one["refresh"] for one in found["numbers"]["half_way"]}
    assert refresh["a"] is None
    assert refresh["a b"] is not None
    # 2 s are left when the row leaves its own state; two states share them
    assert 500 / refresh["a b"] + 200 / (refresh["a b c"] or 0) <= 2.001
    blind = explained(joined(ticks, plan=PLAN, states=states), rates=RATES)
    assert "stale_states" in codes(blind)


def test_freshness_that_cannot_be_had(ticks: DataFrame) -> None:
    states = {"a b": sj.rows(50_000), "a b c": sj.rows(200)}
    out = joined(
        ticks, plan=PLAN, states=states, freshness={"a": "11 seconds"}, budget=sj.Budget(rate=300)
    )
    found = explained(out, rates=RATES)
    assert "infeasible" in codes(found)
    assert found["warnings"][0]["text"].startswith("freshness: ")


def test_strategies_before_anything_is_known(ticks: DataFrame) -> None:
    auto = explained(joined(ticks))["strategy"]
    assert (auto["strategy"], auto["order"]) == ("auto", "adaptive")
    assert (auto["expected"], auto["mjoin"]) == (None, None)
    assert auto["texts"][0].startswith("auto: each shard begins as one n-ary join")
    assert auto["texts"][-1] == "which of them is cheaper is found out while it runs"
    nary = explained(joined(ticks, strategy="mjoin", order="round-robin"))
    assert nary["strategy"]["texts"][1].startswith("order round-robin: the streams take turns")
    assert nary["plan"] == "none: one n-ary join of all streams"
    assert (nary["tree"], nary["states"]) == (None, [])
    assert nary["operators"][0]["plan"] == "a, b, c, d"
    for changes in ({"on": CHAIN}, {"budget": sj.Budget(rate=300)}):
        assert explained(joined(ticks, **changes))["strategy"] is None


def test_both_strategies_in_numbers(ticks: DataFrame) -> None:
    """Rows of a and b seldom match; an n-ary join lets those of c and d probe both (VAL-A3)."""
    said = {"a b": 1e-8, "a b c": 1e-3, "a b c d": 1e-3}
    rates = dict.fromkeys("abcd", 20_000.0)
    out = joined(ticks, shards=1)
    assert "at these rates the tree is cheaper" in str(
        sj.explain(out, rates=rates, selectivities=said)
    )
    found = explained(out, rates=rates, selectivities=said)["strategy"]
    assert found["sequences"] == {
        "a": ["b", "c", "d"], "b": ["a", "c", "d"], "c": ["a", "b", "d"], "d": ["a", "b", "c"]
    }  # fmt: skip
    assert (found["expected"], found["best_tree"]) == ("tree", "((a b) c) d")
    tree, mjoin = found["tree"], found["mjoin"]
    assert tree["cpu_us"] < mjoin["cpu_us"]
    # windows of 10 seconds and two more of lateness
    assert mjoin["rows"] == tree["rows"] == pytest.approx(4 * 12 * 20_000)
    pairs = 1e-8 * (12 * 20_000) ** 2
    assert tree["tuples"] == pytest.approx(pairs + pairs * 1e-3 * 12 * 20_000)
    assert tree["state_bytes"] > mjoin["state_bytes"]
    few = dict.fromkeys("abcd", 200.0)
    often = explained(out, rates=few, selectivities=1e-3)["strategy"]
    assert often["expected"] == "mjoin"
    assert "at these rates one n-ary join is cheaper" in " ".join(often["texts"])


def test_what_the_join_was_told_is_taken(ticks: DataFrame) -> None:
    told = {"a b": 1e-9, "b c": 1e-3, "c d": 1e-3}
    found = explained(joined(ticks, selectivities=told, shards=2), rates=RATES)["strategy"]
    assert found["sequences"]["b"][0] == "a"
    given = explained(joined(ticks, plan="(a b) (c d)"), rates=RATES)["strategy"]
    assert (given["strategy"], given["order"]) == ("tree", None)
    assert given["best_tree"] == "(a b) (c d)"


def test_an_n_ary_join_on_different_keys(ticks: DataFrame) -> None:
    out = joined(ticks, on=CHAIN, strategy="mjoin", shards=4)
    found = explained(out, rates=RATES)
    assert found["operators"][0]["key"] == ["a.k = b.k = c.k", "c.s = d.s"]
    (shards,) = section(out, "shards", rates=RATES)
    assert shards.startswith("grid of ")
    assert "of c to 1" in shards
    assert found["strategy"]["tree"] is None
    assert found["strategy"]["mjoin"]["rows"] > 12 * sum(RATES.values())
    assert "half-way joins" not in str(sj.explain(out, rates=RATES))
    assert "what the join costs" in explained(out)["missing"]


def test_json_and_several_joins(ticks: DataFrame) -> None:
    first = joined(ticks, on=CHAIN, name="first")
    both = sj.join(
        first.selectExpr("a_k AS k", "a_t AS t"), ticks.select("k", "t"), on="k", time="t",
        window="1 second", name="second",
    )  # fmt: skip
    rates: Any = {"first": RATES, "second": (5, 5)}
    found = sj.explain(both, rates=rates, selectivities=0.01)
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert (values["plans"][0]["name"], values["joins"][0]["name"]) == ("first", "second")
    assert values["plans"][0]["numbers"]["rates"] == RATES
    assert values["plans"][0]["strategy"] is None
    assert len(values["plans"][0]["operators"]) == 2


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"rates": (1, 2)}, "rates: got (1, 2); allowed: rows per second of each stream, {'a': 300"),
    ({"rates": {"a": 1}}, "rates: got {'a': 1}; allowed: rows per second of each stream"),
    ({"rates": {**RATES, "d": 0}}, "rates: got {'a': 300.0"),
    ({"rates": {**RATES, "e": 5}}, "rates: got {'a': 300.0"),
    ({"rates": {"x": RATES}}, "rates: got a join 'x'; allowed: streamjoin"),
    (
        {"rates": RATES, "selectivities": {"a c": 0.1}},
        "selectivities: got 'a c'; allowed: the plan's joins, 'a b', 'a b c', 'a b c d'",
    ),
    (
        {"rates": RATES, "selectivities": {"a b": 2}},
        "selectivities: got 2; allowed: shares above 0 and up to 1",
    ),
    ({"rates": RATES, "selectivities": "x"}, "selectivities: got 'x'; allowed: shares"),
]


@pytest.mark.parametrize(("said", "sentence"), REFUSED)
def test_refusals(ticks: DataFrame, said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        sj.explain(joined(ticks), **said)
    assert str(refused.value).startswith(sentence)


def test_selectivities_of_two_streams_are_one_number(ticks: DataFrame) -> None:
    two = sj.join(ticks, ticks, on="k", time="t", window="1 second")
    wrong: Any
    for wrong in ({"a b": 0.1}, 2, 0):
        with pytest.raises(ConfigError, match=r"^selectivities: got .* with two streams; allowed"):
            sj.explain(two, selectivities=wrong)
    twice = sj.join(
        two.selectExpr("k", "t_left AS t"), ticks, on="k", time="t", window="1 s", name="b"
    )
    with pytest.raises(
        ConfigError, match=r"^selectivities: got 0.1 with 2 joins; allowed: with on"
    ):
        sj.explain(twice, selectivities=0.1)
