"""Reports as text and JSON, and a join that explains itself, all without Spark."""

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from streamjoin.errors import ConfigError
from streamjoin.explanations.explanation import Explanation, explain_plans
from streamjoin.joins.plans import JoinPlan
from streamjoin.joins.report import Advice, Card, Report
from streamjoin.joins.routing import ByKey
from streamjoin.joins.window.arguments import resolve

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us")})


def report(kind: Any, title: str) -> Report:
    return Report(
        kind,
        title,
        {"index": ["by key", None, "then compared"], "late rows": [None], "budget": []},
        {"name": title, "lengths": (1, None)},
        ("It joins.",),
        (Advice("no_index", "make an index"),),
        f"{title}: a and b",
        Card("result", "result", ("k",)),
    )


def plan(name: str = "streamjoin") -> JoinPlan:
    resolved = resolve((SCHEMA, SCHEMA), on="k", time="t", window="10 s")
    return JoinPlan(name, resolved, ByKey(2), 2, True, None, None)


def test_a_report_as_text_leaves_out_what_is_not_said() -> None:
    assert str(Explanation((report("joins", "calls"),))).splitlines() == [
        "calls",
        "  It joins.",
        "  how it runs    result: k",
        "  index          by key",
        "                 then compared",
        "  ! make an index",
    ]


def test_reports_as_json_by_their_kinds() -> None:
    query = Report("queries", "a query", {}, {"how": "inner"})
    found = Explanation((report("plans", "a"), report("joins", "b"), query)).to_dict()
    assert list(found) == ["joins", "queries", "plans", "tables"]
    assert found["queries"] == [{"how": "inner"}]
    assert found["tables"] == []
    assert found["joins"] == [
        {
            "name": "b",
            "lengths": [1, None],
            "warnings": [{"code": "no_index", "text": "make an index"}],
            "answer": ["It joins."],
        }
    ]


def test_a_query_is_said_but_not_drawn() -> None:
    query = Report("queries", "a query", {"plan": ["a b"]}, {})
    found = Explanation((report("joins", "b"), query))
    assert str(found).endswith("\n\na query\n  plan           a b")
    assert "<title>b: a and b</title>" in found.to_svg()


def test_joins_are_in_the_order_of_the_data() -> None:
    plans = [plan("second"), plan("first")]
    found = explain_plans(plans, [], cores=2, rates={"first": (10, 20)})
    names = [(one.numbers["name"], one.numbers["expected"] is None) for one in found.reports]
    assert names == [("first", False), ("second", True)]
    with pytest.raises(ConfigError, match=r"^selectivities: got 0.1 with 2 joins; allowed: with o"):
        explain_plans(plans, [], cores=2, selectivities=0.1)


def test_a_join_explains_itself_without_spark() -> None:
    code = (
        "import sys; from tests.explanations.test_explanation import explain_plans, plan; "
        "print(explain_plans([plan()], [], cores=2, rates=(10, 20), selectivities=0.01)); "
        "print('pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    text = " ".join(done.stdout.split())
    assert "Pairs each row of left (10 rows/s) with the rows of right (20 rows/s) of" in text
    assert text.endswith("False")
