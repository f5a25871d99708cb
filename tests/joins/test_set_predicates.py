"""Conditions on sets: how they are read, and joins with them against the oracle (GED-A14)."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamjoin import oracle
from streamjoin.core.predicate import Band
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.where import Where, parse_where
from streamjoin.local import LocalJoin
from tests.joins.feeding import fixed_streams, ids
from tests.strategies import HOWS, SCHEMA_X, Case, Condition, Ids, Row, cases, table

COMMON = {
    **{field.name: field.type for field in SCHEMA_X},
    "tags": pa.list_(pa.string()),
    "words": pa.map_(pa.string(), pa.float64()),
    "weights": pa.list_(pa.float32()),
}
SCHEMAS = (
    pa.schema({**COMMON, "nums": pa.list_(pa.int32())}),
    pa.schema({**COMMON, "nums": pa.list_(pa.int64()), "nested": pa.list_(pa.list_(pa.int8()))}),
)
WEIGHTS = [0.25, 0.5, -0.5, 1.0, 2.0, float("inf"), float("-inf"), float("nan"), None]


def parse(text: str) -> Where:
    return parse_where(text, SCHEMAS)


def with_sets(row: Row, rng: random.Random) -> Row:
    def drawn(items: list[Any]) -> list[Any] | None:
        return None if rng.random() < 0.1 else rng.choices([*items, None], k=rng.randrange(6))

    tags, nums = drawn(["a", "b", "c", "d"]), drawn([1, 2, 3, 4])
    n = len(nums or []) + (rng.random() < 0.1)
    words = None if tags is None else {tag: rng.choice(WEIGHTS) for tag in tags if tag is not None}
    weights = None if rng.random() < 0.1 else rng.choices(WEIGHTS, k=n)
    return {**row, "tags": tags, "nums": nums, "words": words, "weights": weights}


@st.composite
def set_cases(draw: st.DrawFn) -> Case:
    """Streams of `cases` with sets in every row."""
    case = draw(cases())
    rng = random.Random(draw(st.integers(0, 2**32)))
    batches = [
        ([with_sets(row, rng) for row in left], [with_sets(row, rng) for row in right])
        for left, right in case.batches
    ]
    return replace(case, batches=batches, where=draw(st.sampled_from(CONDITIONS)))


Test = Callable[[Any], bool]


def tags(test: Test) -> Callable[[oracle.Row, oracle.Row], bool | None]:
    return lambda a, b: _known(oracle.overlap(a["tags"], b["tags"]), test)


def nums(test: Test) -> Callable[[oracle.Row, oracle.Row], bool | None]:
    return lambda a, b: _known(oracle.overlap(a["nums"], b["nums"]), test)


def words(test: Test) -> Callable[[oracle.Row, oracle.Row], bool | None]:
    return lambda a, b: _known(oracle.inner_product(a["words"], b["words"]), test)


def arrays(test: Test) -> Callable[[oracle.Row, oracle.Row], bool | None]:
    def product(a: oracle.Row, b: oracle.Row) -> float | None:
        return oracle.inner_product((a["nums"], a["weights"]), (b["nums"], b["weights"]))

    return lambda a, b: _known(product(a, b), test)


def _known(value: float | None, test: Test) -> bool | None:
    return None if value is None else test(value)


def _smaller(a: oracle.Row, b: oracle.Row) -> bool:
    return a["x"] is not None and b["x"] is not None and a["x"] < b["x"]


def _near(a: oracle.Row, b: oracle.Row) -> bool:
    return a["x"] is not None and b["x"] is not None and abs(a["x"] - b["x"]) <= 3


CONDITIONS = (
    Condition("overlap(left.tags, right.tags) >= 2", tags(lambda n: n >= 2)),
    Condition("1.5 < overlap(right.nums, left.nums)", nums(lambda n: n > 1.5)),
    Condition("arrays_overlap(left.tags, right.tags)", tags(lambda n: n >= 1)),
    Condition("overlap(left.tags, right.tags) >= 0", tags(lambda n: True)),
    Condition("overlap(left.tags, right.tags) > 99", tags(lambda n: False)),
    Condition("NOT overlap(left.nums, right.nums) > 1", nums(lambda n: n <= 1)),
    Condition(
        "overlap(left.tags, right.tags) = 1 OR left.x < right.x",
        lambda a, b: tags(lambda n: n == 1)(a, b) or _smaller(a, b),
    ),
    Condition(
        "abs(left.x - right.x) <= 3 AND overlap(left.nums, right.nums) > 0",
        lambda a, b: nums(lambda n: n > 0)(a, b) and _near(a, b),
    ),
    Condition("inner_product(left.words, right.words) >= 0.25", words(lambda x: x >= 0.25)),
    Condition("inner_product(left.words, right.words) < 0", words(lambda x: x < 0)),
    Condition(
        "inner_product(left.nums, left.weights, right.nums, right.weights) > 0 "
        "AND overlap(left.tags, right.tags) <= 1",
        lambda a, b: arrays(lambda x: x > 0)(a, b) and tags(lambda n: n <= 1)(a, b),
    ),
)


def rows_of(rows: list[Row], schema: pa.Schema) -> pa.Table:
    lists = [{**r, "words": r["words"] and list(r["words"].items())} for r in rows]
    known = pa.schema([field for field in schema if field.name != "nested"])
    return table(lists, known)


def results(case: Case) -> list[Ids]:
    left, right = SCHEMAS[0], SCHEMAS[1].remove(SCHEMAS[1].get_field_index("nested"))
    join = LocalJoin(left, right, **case.arguments())
    tables = [join.push(rows_of(a, left), rows_of(b, right)) for a, b in case.batches]
    return [ids(result, case.how) for result in (*tables, join.finish())]


@pytest.mark.parametrize("where", CONDITIONS, ids=lambda where: where.text)
def test_every_condition_finds_its_pairs(where: Condition) -> None:
    rng = random.Random(5)
    batches = [
        ([with_sets(row, rng) for row in left], [with_sets(row, rng) for row in right])
        for left, right in fixed_streams()
    ]
    case = Case(batches, (7, 11), "full", keyed=False, where=where, lateness=4)
    assert results(case) == case.answers()
    assert bool(case.pairs()) == ("99" not in where.text)


@pytest.mark.parametrize("how", HOWS)
@settings(max_examples=12)
@given(case=set_cases())
def test_each_batch_brings_what_the_oracle_says(how: str, case: Case) -> None:
    case = replace(case, how=how)
    assert results(case) == case.answers()


@pytest.mark.parametrize(
    ("text", "fewest", "least"),
    [
        ("overlap(left.tags, right.tags) >= 3", 3, None),
        ("overlap(right.tags, left.tags) > 3", 4, None),
        ("2L < overlap(left.tags, right.tags)", 3, None),
        ("overlap(left.tags, right.tags) >= 2.5", 3, None),
        ("overlap(left.tags, right.tags) >= 9223372036854775807", 2**31, None),
        ("overlap(left.tags, right.tags) > 0.5e0", 1, None),
        ("(arrays_overlap(right.tags, left.tags))", 1, None),
        ("inner_product(left.words, right.words) >= 0.5", 1, 0.5),
        ("inner_product(left.words, right.words) > 0", 1, 5e-324),
        ("1e-3 <= INNER_PRODUCT(left.words, right.words)", 1, 0.001),
    ],
)
def test_what_is_indexed(text: str, fewest: int, least: float | None) -> None:
    found = parse(f"left.x < right.x AND {text}").sets
    assert found is not None
    position = SCHEMAS[0].get_field_index("tags" if least is None else "words")
    assert (found.left, found.right) == ((position,), (position,))
    assert (found.fewest, found.least) == (fewest, least)


@pytest.mark.parametrize(
    "text",
    [
        "overlap(left.tags, right.tags) >= 0",
        "overlap(left.tags, right.tags) <= 3",
        "overlap(left.tags, right.tags) = 3",
        "overlap(left.tags, right.tags) >= left.x",
        "overlap(left.tags, right.tags) + 1 >= 3",
        "overlap(left.tags, right.tags) >= 3 OR left.x = 1",
        "overlap(left.tags, right.tags) >= NULL",
        "inner_product(left.words, right.words) >= 0",
        "inner_product(left.words, right.words) > -1",
    ],
)
def test_what_is_only_evaluated(text: str) -> None:
    found = parse(text)
    assert found.sets is None
    assert found.predicate is not None


def test_sets_are_indexed_rather_than_a_band() -> None:
    band = "abs(left.x - right.x) <= 3"
    assert parse(band).band == Band(4, 4, 3)
    both = parse(f"{band} AND overlap(left.nums, right.nums) >= 2")
    assert both.band is None
    assert both.sets is not None
    rest = both.sets.rest_of(both.predicate)
    assert rest is not None
    assert rest.describe() == band
    assert both.sets.rest_of(both.sets.condition) is None


def test_items_and_weights_may_meet_a_map() -> None:
    text = "inner_product(left.tags, left.weights, right.words) > 1"
    found = parse(text)
    assert found.predicate is not None
    assert found.predicate.describe() == text
    assert found.sets is not None
    assert [len(side) for side in (found.sets.left, found.sets.right)] == [2, 1]


@pytest.mark.parametrize(
    "text", ["NOT arrays_overlap(left.tags, right.tags)", "arrays_overlap(left.tags, array('a'))"]
)
def test_arrays_overlap_is_left_to_spark_where_null_matters(text: str) -> None:
    assert parse(text).rest == (text,)


ONE_OF_EACH = "allowed: an array of each side, as in overlap(left.x, right.y)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("overlap(left.tags) > 1", f"where: got overlap(left.tags); {ONE_OF_EACH}"),
        (
            "overlap(left.tags, left.nums) > 1",
            f"where: got overlap(left.tags, left.nums); {ONE_OF_EACH}",
        ),
        (
            "overlap(left.tags, array('a')) > 1",
            f"where: got overlap(left.tags, ARRAY('a')); {ONE_OF_EACH}",
        ),
        (
            "inner_product(left.words, 3) > 1",
            "where: got inner_product(left.words, 3); allowed: of each side a map, or an array of "
            "items and one of weights",
        ),
        (
            "overlap(left.tags, right.tags) > size(left.tags)",
            "where: 'overlap(left.tags, right.tags) > size(left.tags)' has parts that only Spark "
            "can evaluate, and Spark has no overlap; allowed: overlap with comparisons, "
            "arithmetic, AND, OR, NOT",
        ),
        (
            "overlap(left.tags, right.tags)",
            "where: overlap(left.tags, right.tags) is of type int32; allowed: a condition, that "
            "is true or false",
        ),
    ],
)
def test_wrong_arguments_are_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("overlap(left.tags, right.x) > 1", "right.x is int64; allowed: arrays"),
        ("overlap(left.words, right.tags) > 1", "left.words is map<string, double>; allowed: ar"),
        ("inner_product(left.tags, right.tags) > 1", "left.tags is list<item: string>; allowed: a"),
        ("overlap(left.nums, right.nested) > 1", "right.nested is list<item: list<item: int8>>"),
        ("overlap(left.tags, right.nums) > 1", "the items are string on the left and int64 on the"),
        (
            "inner_product(left.tags, left.tags, right.words) > 1",
            "left.tags is list<item: string>; allowed: weights that are numbers",
        ),
    ],
)
def test_columns_of_other_types_are_refused(text: str, problem: str) -> None:
    call = text.removesuffix(" > 1")
    with pytest.raises(DataError) as caught:
        parse(text)
    assert str(caught.value).startswith(f"where: in {call} {problem}")


def test_sets_are_indexed_over_the_rows_that_arrive() -> None:
    where = "overlap(left.tags, right.tags) >= 2"
    problem = "algorithm: got 'hash' with sets in `where`; allowed: 'auto' or 'batch'"
    with pytest.raises(ConfigError) as caught:
        LocalJoin(*SCHEMAS, where=where, time="t", window="1 second", algorithm="hash")
    assert str(caught.value) == problem
    with pytest.raises(ConfigError, match="with how='asof'; allowed: none"):
        LocalJoin(*SCHEMAS, on="k", where=where, time="t", window="1 second", how="asof")
