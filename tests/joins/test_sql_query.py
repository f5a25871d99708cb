"""Queries are taken apart as they should be, and wrong ones are refused with a place."""

import contextlib
import random
import re
from pathlib import Path

import pyarrow as pa
import pytest

from streamjoin.budget import Budget
from streamjoin.errors import StreamJoinError
from streamjoin.sql_text.query import parse_query
from streamjoin.sql_text.query_plan import QueryPlan, plan_query
from streamjoin.sql_text.query_script import read_script
from streamjoin.windows import Rows

TIME = pa.timestamp("us", "UTC")
STOCKS = pa.schema({"symbol": pa.string(), "price": pa.float64(), "volume": pa.int64(), "ts": TIME})
T = pa.schema({"k": pa.int64(), "x": pa.int64(), "name": pa.string(), "ts": TIME})
U = pa.schema({"k": pa.int64(), "y": pa.int64(), "at": TIME, "of": pa.struct({"z": pa.int64()})})
TWO_TIMES = pa.schema({"k": pa.int64(), "ts": TIME, "at": TIME})
NO_TIME = pa.schema({"k": pa.int64()})
STREAMS = {
    "stocksNYC": STOCKS, "stocksTokyo": STOCKS, "t": T, "u": U, "two": TWO_TIMES, "none": NO_TIME,
}  # fmt: skip
Q1 = (
    "SELECT B.symbol, B.price FROM stocksNYC A, stocksTokyo B "
    'WHERE A.symbol = "GOOG" and B.volume > A.volume WINDOW 10 mins'
)
TAIL = " WHERE a.k = b.k WINDOW 5 MINUTES"


def planned(text: str, time: str | dict[str, str] | None = None) -> QueryPlan:
    return plan_query(parse_query(text), STREAMS, time, "UTC")


def places(text: str) -> list[tuple[str, str, str | None]]:
    return [(c.sql, c.place, c.stream) for c in planned(text).conditions]


def test_the_papers_query_as_it_is_printed() -> None:
    plan = planned(Q1)
    assert places(Q1) == [
        ('A.symbol = "GOOG"', "stream", "A"),
        ("right.volume > left.volume", "join", None),
    ]
    assert plan.window == {"A": "10 mins", "B": "10 mins"}
    assert plan.columns == {"A": ("volume", "ts"), "B": ("symbol", "price", "volume", "ts")}
    assert plan.time == {"A": "ts", "B": "ts"}
    fresh = planned(f"{Q1} FRESHNESS stocksNYC 12 mins, stocksTokyo 15 mins")
    assert fresh.freshness == {"A": "12 mins", "B": "15 mins"}


def test_every_clause() -> None:
    plan = planned(
        "SELECT a.x FROM t a, t b, u c WHERE a.k = b.k AND b.k = c.k PLAN '(a b) c' "
        "WINDOW a 10 MINUTES, 500 ROWS FRESHNESS a 1 HOUR 30 MINUTES, c 500 ROWS "
        "LATENESS '30 seconds' TIME ts, c.at BUDGET 200 MS CPU, 5000 ROWS MEMORY"
    )
    assert plan.window == {"a": "10 MINUTES", "b": Rows(500), "c": Rows(500)}
    assert plan.freshness == {"a": "1 HOUR 30 MINUTES", "c": Rows(500)}
    assert plan.query.clauses.lateness == "30 seconds"
    assert plan.time == {"a": "ts", "b": "ts", "c": "at"}
    assert plan.query.clauses.budget == Budget(cpu="200 MS", memory=Rows(5000))
    assert plan.plan == "(a b) c"
    assert (plan.query.clauses.strategy, plan.query.clauses.order) == (None, None)
    assert plan.keys == ["a.k = b.k", "b.k = c.k"]


@pytest.mark.parametrize(
    ("clause", "strategy", "order"),
    [
        ("STRATEGY TREE", "tree", None),
        ("strategy 'auto' -- as by default", "auto", None),
        ("STRATEGY mjoin ORDER timestamp", "mjoin", "timestamp"),
        ("STRATEGY MJOIN ORDER 'Initial-Output-Size'", "mjoin", "initial-output-size"),
    ],
)
def test_strategies(clause: str, strategy: str, order: str | None) -> None:
    three = "SELECT a.x FROM t a, t b, t c WHERE a.k = b.k AND b.k = c.k"
    for text in (f"{three} {clause}\nWINDOW 1 DAY", f"{three} WINDOW 1 DAY {clause}"):
        plan = planned(text)
        assert (plan.query.clauses.strategy, plan.query.clauses.order) == (strategy, order)


def test_an_n_ary_join_looks_up_equalities_that_form_a_cycle() -> None:
    plan = planned(
        "SELECT a.x FROM t a, t b, t c WHERE a.k = b.k AND b.x = c.x AND c.name = a.name "
        "WINDOW 1 DAY STRATEGY MJOIN"
    )
    assert plan.keys == ["a.k = b.k", "b.x = c.x", "c.name = a.name"]


@pytest.mark.parametrize(
    ("clause", "budget"),
    [
        ("BUDGET 0.3 CPU", Budget(cpu=0.3)),
        ("BUDGET 300 TUPLES PER SECOND", Budget(rate=300)),
        ("BUDGET 0.5 CPU, 64 MB MEMORY", Budget(cpu=0.5, memory="64 MB")),
    ],
)
def test_budgets(clause: str, budget: Budget) -> None:
    assert parse_query(f"SELECT 1 FROM a, b WINDOW 1 DAY {clause}").clauses.budget == budget


def test_a_budget_as_a_hint() -> None:
    query = parse_query("SELECT /*+ BUDGET(cpu=0.3, memory='1 GB') */ x FROM a, b WINDOW 1 DAY")
    assert query.clauses.budget == Budget(cpu=0.3, memory="1 GB")
    assert [item.text for item in query.items] == ["x"]


def test_words_of_clauses_can_be_names() -> None:
    query = parse_query("SELECT plan FROM a, b WHERE a.time = time AND plan > b.budget WINDOW 1 s")
    assert [part.text for part in query.where] == ["a.time = time", "plan > b.budget"]


def test_conditions_go_where_they_belong() -> None:
    text = (
        "SELECT 1 AS one FROM t a JOIN u b ON (a.k = b.k AND abs(a.x - y) <= 5) "
        "WHERE lower(name) LIKE 'x%' AND b.of.z BETWEEN 1 AND 2 AND rand() < 0.5 "
        "AND concat(name, y) = 'p1' AND (a.x > 1 OR y > 1) WINDOW 5 MINUTES"
    )
    assert places(text) == [
        ("left.k = right.k", "key", None),
        ("abs(left.x - right.y) <= 5", "join", None),
        ("lower(name) LIKE 'x%'", "stream", "a"),
        ("b.of.z BETWEEN 1 AND 2", "stream", "b"),
        ("rand() < 0.5", "after", None),
        ("concat(a.name, b.y) = 'p1'", "after", None),
        ("left.x > 1 OR right.y > 1", "join", None),
    ]


def test_with_three_streams_only_keys_are_the_joins() -> None:
    text = (
        "SELECT * FROM t a, t b, u c WHERE a.k = b.k AND b.x = c.y AND a.x < c.y AND a.x > 3 "
        "AND (b.k = c.k) IS TRUE WINDOW 5 MINUTES"
    )
    assert [c.place for c in planned(text).conditions] == ["key", "key", "after", "stream", "after"]


@pytest.mark.parametrize(
    ("how", "on_left", "on_right", "where_left", "where_right"),
    [
        ("LEFT", "join", "stream", "stream", "after"),
        ("RIGHT", "stream", "join", "after", "stream"),
        ("FULL", "join", "join", "after", "after"),
        ("SEMI", "stream", "stream", "stream", None),
        ("ANTI", "join", "stream", "stream", None),
    ],
)
def test_outer_joins_filter_only_what_does_not_change_them(
    how: str, on_left: str, on_right: str, where_left: str, where_right: str | None
) -> None:
    text = f"SELECT a.x FROM t a {how} JOIN u b ON a.k = b.k AND a.x > 1 AND b.y > 1 WHERE a.x < 9"
    text += " AND b.y < 9" if where_right else ""
    plan = planned(f"{text} WINDOW 1 DAY")
    found = [c.place for c in plan.conditions]
    assert found == ["key", on_left, on_right, where_left, *([where_right] if where_right else [])]
    assert plan.query.streams.how == how.lower()


@pytest.mark.parametrize(
    ("text", "selected"),
    [
        ("SELECT a.*, y FROM t a, u b" + TAIL, ["a.k AS k", "a.x AS x", "a.name AS name",
                                                "a.ts AS ts", "b.y"]),
        ("SELECT * FROM t a JOIN u b USING (k) WINDOW 1 DAY",
         ["a.k AS k", "a.x AS x", "a.name AS name", "a.ts AS ts", "b.y AS y", "b.at AS at",
          "b.of AS of"]),
        ("SELECT K, x FROM t a RIGHT JOIN u b USING (k) WINDOW 1 DAY", ["b.K", "a.x"]),
        ("SELECT k, k + 1 AS n FROM t a FULL JOIN u b USING (k) WINDOW 1 DAY",
         ["coalesce(a.k, b.k) AS k", "coalesce(a.k, b.k) + 1 AS n"]),
        ("SELECT a.x AS p, p + 1 AS q, b.of.z, transform(array(1), v -> v + y) AS w FROM t a, u b"
         + TAIL, ["a.x AS p", "p + 1 AS q", "b.of.z", "transform(array(1), v -> v + b.y) AS w"]),
        ("SELECT * FROM t a, t b WHERE a.k = b.k AND a.x < b.x WINDOW 1 DAY",
         [f"{s}.{c} AS {s}_{c}" for s in "ab" for c in ("k", "x", "name", "ts")]),
        ("SELECT * FROM u a JOIN t b ON a.k = b.k JOIN t c USING (x) WINDOW 1 DAY",
         ["a.k AS a_k", "a.y AS y", "a.at AS at", "a.of AS of", "b.k AS b_k", "b.x AS x",
          "b.name AS b_name", "b.ts AS b_ts", "c.k AS c_k", "c.name AS c_name", "c.ts AS c_ts"]),
    ],
)  # fmt: skip
def test_what_is_selected(text: str, selected: list[str]) -> None:
    assert [output.sql for output in planned(text).outputs] == selected


REFUSED = [
    ("\n  SELECT x FROM t a, u b\n  WHERE a.k = b.k )", "line 3, column 19: cannot read '.' here"),
    ("\n  SELECT x, sum(x)\n  FROM t a, u b WINDOW 1 DAY", "line 2, column 13: SUM"),
    ("SELECT x FROM t,\n stoks b", "line 2, column 2: unknown stream 'stoks'; allowed: stocksNYC"),
    ("SELECT a.xx FROM t a, u b" + TAIL, "column 10: a has no column 'xx'; allowed: k, x"),
    ("SELECT zz FROM t a, u b" + TAIL, "column 8: no stream has a column 'zz'"),
    ("SELECT c.x FROM t a, u b" + TAIL, "column 8: unknown stream 'c'; allowed: a, b"),
    ("SELECT c.* FROM t a, u b" + TAIL, "column 8: unknown stream 'c'"),
    ("SELECT k FROM t a, u b" + TAIL, "column 8: several streams have a column 'k'; allowed: a.k"),
    ("SELECT a.k, b.k FROM t a, u b" + TAIL, "column 13: two columns of the result are called 'k'"),
    ("SELECT y FROM t a SEMI JOIN u b ON a.k = b.k WINDOW 1 DAY", "a semi join gives no column"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k", "column 39: no WINDOW; allowed: WINDOW 10 MINUTES"),
    ("SELECT x FROM t a, u b WHERE a.k > 5 WINDOW 1 DAY", "column 20: nothing joins 'b' with a"),
    ("SELECT a.x FROM t a LEFT JOIN u b ON b.y > 1 WHERE a.k = b.k WINDOW 1 DAY", "nothing joins"),
    ("SELECT x FROM t a CROSS JOIN u b WINDOW 1 DAY", "which would be a cross join"),
    ("SELECT a.x FROM t a, t b, u c WHERE a.k = b.k AND c.y > a.x WINDOW 1 DAY",
     "column 27: nothing joins 'c' with a, b"),
    ("SELECT a.x FROM t a, t b, t c WHERE a.k = b.k AND b.x = c.x AND c.name = a.name WINDOW 1 DAY",
     r"column 65: .* form a cycle; .* with STRATEGY MJOIN, or .* \(c.name = a.name\) IS TRUE"),
    ("SELECT x FROM t a, u b WHERE a.name = b.y WINDOW 1 DAY",
     "column 30: .* 'name' is string and 'y' is int64; allowed: types that can be compared"),
    ("SELECT x FROM t a JOIN u b USING (x) WINDOW 1 DAY", "b has no column 'x'|no stream has"),
    ("SELECT x FROM t a LEFT JOIN u b ON a.k = b.k AND concat(a.name, b.y) = 'p' WINDOW 1 DAY",
     "column 50: .* only be evaluated after an inner join"),
    ("SELECT x FROM t a, two b" + TAIL, "stream 'b' has timestamps ts, at; .* TIME b.ts"),
    ("SELECT x FROM t a, none b" + TAIL, "column 20: stream 'b' has no timestamp"),
    ("SELECT x FROM t a, u b" + TAIL + " TIME b.y", "TIME: b.y has type int64; allowed: timestamp"),
    ("SELECT x FROM t a, u b" + TAIL + " TIME b.zz", "TIME: b has no column 'zz'"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k WINDOW c 5 MINUTES", "column 47: WINDOW of 'c'"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k WINDOW a 5 MINUTES", "WINDOW leaves out 'b'"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k WINDOW 5 mintes", "column 47: WINDOW: got '5 mintes'"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k WINDOW -5 MINUTES", "zero or a positive duration"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k WINDOW 0 ROWS", "n a whole number from 1 on"),
    ("SELECT x FROM t a, u b" + TAIL + " FRESHNESS 4 MINUTES", "'a' is shorter than its window"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k WINDOW 9 ROWS FRESHNESS 8 ROWS", "9 rows or more"),
    ("SELECT x FROM t a, u b" + TAIL + " FRESHNESS soon", "FRESHNESS: got 'soon'"),
    ("SELECT x FROM t a, u b" + TAIL + " FRESHNES 9 MINUTES", "unknown clause 'FRESHNES'"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k FRESHNES 9 MINUTES", "did you mean FRESHNESS"),
    ("SELECT x FRM t a, u b" + TAIL, "column 10: cannot read 'FRM' here; .*did you mean FROM"),
    ("SELECT x FROM t a, u b" + TAIL + " BUDGET 1.5 CPU", "column 64: budget: got cpu=1.5"),
    ("SELECT x FROM t a, u b" + TAIL + " BUDGET some", "BUDGET: got 'some'; allowed: 0.3 CPU"),
    ("SELECT x FROM t a, u b" + TAIL + " BUDGET 1 CPU, 0.5 CPU", "BUDGET: cpu twice"),
    ("SELECT /*+ BROADCAST(a) */ x FROM t a, u b" + TAIL, "column 8: hint: got"),
    ("SELECT x FROM t a, u b" + TAIL + " WINDOW 1 DAY", "column 57: a second WINDOW"),
    ("SELECT x FROM t a, u b" + TAIL + " PLAN '(a c)'", "column 57: plan: .* names 'c'"),
    ("SELECT x FROM t a, u b" + TAIL + " PLAN a", "PLAN: got a; allowed: PLAN"),
    ("SELECT x FROM t a, u b" + TAIL + " STRATEGY trees",
     "column 66: STRATEGY: got trees; allowed: AUTO, MJOIN, TREE; then ORDER and one of adaptive,"),
    ("SELECT x FROM t a, u b" + TAIL + " STRATEGY MJOIN timestamp", "got MJOIN timestamp; allowed"),
    ("SELECT x FROM t a, u b" + TAIL + " STRATEGY MJOIN ORDER random", "allowed: AUTO, MJOIN, TR"),
    ("SELECT x FROM t a, u b" + TAIL + " STRATGY MJOIN", "unknown clause 'STRATGY'"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k WINDOW", "column 40: nothing follows WINDOW"),
    ("SELECT x FROM t a, u b WHERE (a.k = b.k WINDOW 1 DAY", "expecting \\)"),
    ("SELECT x, FROM t a, u b" + TAIL, "an empty place"),
    ("SELECT 'x FROM t a, u b" + TAIL, "column 8: a quote or a comment that is not closed"),
    ("SELECT x FROM t a; SELECT y FROM u b", "column 20: 2 statements; allowed: one SELECT"),
    ("UPDATE t", "column 1: cannot read 'UPDATE'; allowed: a query that begins with SELECT"),
    ("SELECT 1", "no FROM"),
    ("SELECT x FROM t WINDOW 1 DAY", "one stream 't'; allowed: two or more"),
    ("SELECT x FROM t, t WINDOW 1 DAY", "column 18: two streams called 't'"),
    ("SELECT x FROM range(3) a, u b" + TAIL, "column 15: cannot read 'range' as a stream"),
    ("SELECT x FROM t a LEFT JOIN u b ON a.k = b.k JOIN t c ON c.k = a.k WINDOW 1 DAY",
     "column 19: LEFT JOIN of 3 streams"),
    ("SELECT x FROM t a NATURAL JOIN u b WINDOW 1 DAY", "column 19: NATURAL JOIN; allowed: JOIN"),
    ("SELECT x FROM t a FULL JOIN u b WINDOW 1 DAY", "FULL JOIN without ON"),
    ("SELECT x FROM t a JOIN u b USING k WINDOW 1 DAY", "column 28: USING: got 'USING k'|cannot"),
    ("SELECT x FROM t a,, u b" + TAIL, "column 18: a stream is missing"),
    ("SELECT DISTINCT x FROM t a, u b" + TAIL, "column 8: DISTINCT; .* that sj.sql returns"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k GROUP BY x WINDOW 1 DAY", "column 40: GROUP BY"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k ORDER BY x WINDOW 1 DAY", "column 40: ORDER BY"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k LIMIT 5 WINDOW 1 DAY", "column 40: LIMIT"),
    ("SELECT x FROM t a, u b WHERE a.k = b.k HAVING x > 1 WINDOW 1 DAY", "column 40: HAVING"),
    ("SELECT x FROM t a UNION SELECT x FROM u b WINDOW 1 DAY", "column 19: UNION"),
    ("WITH q AS (SELECT 1) SELECT x FROM q, u b WINDOW 1 DAY", "column 1: WITH"),
    ("SELECT x FROM t a, (SELECT 1) b WINDOW 1 DAY", "is a subquery"),
    ("SELECT x FROM t a, u b WHERE x IN (SELECT 1) WINDOW 1 DAY", "is a subquery"),
    ("SELECT sum(x) FROM t a, u b" + TAIL, r"column 8: SUM\(x\) is an aggregate function"),
    ("SELECT rank() OVER (ORDER BY x) FROM t a, u b" + TAIL, "column 8: .* is a window function"),
    ("SELECT * EXCEPT (x) FROM t a, u b" + TAIL, "a star with more"),
    ("", "query: got ''"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_wrong_queries_are_refused_with_a_place(text: str, message: str) -> None:
    with pytest.raises(StreamJoinError, match=message) as refused:
        planned(text)
    assert "\n" not in str(refused.value)
    assert "allowed:" in str(refused.value)
    assert re.match("query: (line|got)", str(refused.value))


def test_mutilated_queries_are_read_or_refused() -> None:
    rng = random.Random(7)
    for _ in range(400):
        words = re.findall(r"\s+|\w+|[^\w\s]", rng.choice(REFUSED[:-1])[0])
        for _ in range(rng.randint(1, 3)):
            place = rng.randrange(len(words))
            words[place : place + rng.randint(0, 1)] = [rng.choice([*words, "(", "'", ",", ""])]
        with contextlib.suppress(StreamJoinError):
            planned("".join(words))


def test_event_times_by_argument() -> None:
    text = "SELECT 1 AS one FROM two a, u b" + TAIL
    assert planned(text, {"TWO": "at"}).time == {"a": "at", "b": "at"}
    assert planned(text, "at").time == {"a": "at", "b": "at"}


SCRIPT = """
SET master = 'local[2]';
-- two streams
CREATE STREAM t (k BIGINT, ts TIMESTAMP) USING parquet
  OPTIONS (path 'data/t', maxFilesPerTrigger = 1) TIME ts LATENESS 10 SECONDS;
CREATE STREAM u USING generator OPTIONS (workload 'calls', rate 5)
  AS SELECT person AS k, coalesce(called_at, now()) AS at;
INSERT INTO parquet 'out' OPTIONS (compression 'zstd') CHECKPOINT 'cp' EVERY 2 SECONDS FOR 1 MINUTE
SELECT a.k FROM t a JOIN u b USING (k) WINDOW 1 DAY;
"""


def test_a_script() -> None:
    script = read_script(SCRIPT, "q.sql")
    first, second = script.streams
    assert (first.schema, first.time, first.lateness) == (
        "k BIGINT, ts TIMESTAMP",
        "ts",
        "10 SECONDS",
    )
    assert first.options == {"path": "data/t", "maxFilesPerTrigger": "1"}
    assert second.select == ("person AS k", "coalesce(called_at, now()) AS at")
    target = script.target
    assert (target.format, target.path, target.checkpoint) == ("parquet", "out", "cp")
    assert (target.every, target.duration) == ("2 SECONDS", "1 MINUTE")
    assert target.options == {"compression": "zstd"}
    assert script.settings == {"master": "local[2]"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("USING parquet", "FROM parquet", "line 4, column 42: got 'FROM'; allowed: USING"),
        ("STREAM t", "TABLE t", "line 4, column 1: got 'CREATE'; allowed: SET"),
        ("STREAM u", "STREAM T", "line 6, column 1: a second stream 'T'"),
        ("rate 5)", "5)", "line 6, column 60: OPTIONS: cannot read it"),
        ("rate 5)", "rate 5", "line 6, column 41: a parenthesis that is not closed"),
        ("LATENESS 10 SECONDS", "LATENESS soon", "line 5, column 68: LATENESS: got 'soon'"),
        ("LATENESS 10 SECONDS", "LATENESS", "got the end; allowed: a duration behind LATENESS"),
        ("CHECKPOINT 'cp'", "CHECKPOINT cp", "got 'cp'; allowed: text in quotes"),
        ("EVERY 2", "EACH 2", "got 'EACH'; allowed: OPTIONS"),
        ("SET master = 'local[2]'", "SET master", "SET: cannot read it"),
        ("SELECT a.k FROM", "SELECT a.k, FROM", "line 9, column 8: SELECT with an empty place"),
        ("AS SELECT person AS k,", "AS SELECT ,", "allowed: expressions"),
    ],
)
def test_wrong_scripts_are_refused_with_a_place(old: str, new: str, message: str) -> None:
    assert old in SCRIPT
    with pytest.raises(StreamJoinError, match=f"^q.sql: .*{message}"):
        read_script(SCRIPT.replace(old, new, 1), "q.sql")


def test_the_pages_queries_can_be_read() -> None:
    page = (Path(__file__).parents[2] / "docs" / "sql.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sql\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 8
    for block in blocks:
        is_query = block.startswith("SELECT")
        query = parse_query(block) if is_query else read_script(block, "page").query
        plan_query(query, {"nyc": STOCKS, "tokyo": STOCKS})
