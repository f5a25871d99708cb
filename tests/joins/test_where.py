"""SQL text as keys, predicate, band and rest."""

import pickle
import subprocess
import sys
from fractions import Fraction
from math import isfinite
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamjoin._typing import SIDES, Side
from streamjoin.core.predicate import Band, mask
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.where import Where, parse_where

TYPES = {
    "b": pa.int8(),
    "i": pa.int32(),
    "l": pa.int64(),
    "f": pa.float32(),
    "d": pa.float64(),
    "m": pa.decimal128(10, 2),
    "s": pa.string(),
    "p": pa.bool_(),
    "day": pa.date32(),
    "t": pa.timestamp("us", "UTC"),
    "n": pa.timestamp("us"),
    "st": pa.struct({"a": pa.int32()}),
    "mp": pa.map_(pa.string(), pa.int32()),
    "end": pa.int32(),
}
COLUMNS = list(TYPES)
LEFT = pa.schema({**TYPES, "Price": pa.float64(), "a b": pa.int32(), "nested": TYPES["st"]})
RIGHT = pa.schema({**TYPES, "volume": pa.int64()})


def parse(text: str, time_zone: str | None = None) -> Where:
    return parse_where(text, (LEFT, RIGHT), time_zone)


def shown(text: str, time_zone: str | None = None) -> str | None:
    found = parse(text, time_zone)
    assert found.rest == ()
    assert found.equalities == ()
    return None if found.predicate is None else found.predicate.describe()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("left.i < right.l", "left.i < right.l"),
        ("left.i == 1 OR left.i != 2", "left.i = 1 OR left.i <> 2"),
        ("left.s <=> right.s", "left.s <=> right.s"),
        ("left.s IS DISTINCT FROM right.s", "NOT (left.s <=> right.s)"),
        ("left.i BETWEEN 1 AND 2.5", "left.i >= 1 AND left.i <= 2.5"),
        ("left.i NOT BETWEEN 1 AND 2", "NOT (left.i >= 1 AND left.i <= 2)"),
        ("left.s IN ('a', 'b', NULL)", "left.s IN ('a', 'b', NULL)"),
        ("left.d NOT IN (1, 2.5)", "NOT (left.d IN (1, 2.5))"),
        ("left.s IS NULL", "left.s IS NULL"),
        ("left.d + 1 IS NOT NULL", "NOT ((left.d + 1) IS NULL)"),
        ("left.p IS TRUE", "left.p <=> TRUE"),
        ("NOT left.p AND !right.p", "NOT (left.p) AND NOT (right.p)"),
        ("! left.i = 1", "NOT (left.i = 1)"),
        ("-left.i < +3", "-(left.i) < 3"),
        ("left.d / 2 > abs(right.d * -1.5e0)", "(left.d / 2) > abs(right.d * -1.5e0)"),
        ("left.l > -9223372036854775808", "left.l > -9223372036854775808"),
        ("left.l > 5L AND left.d < 5D", "left.l > 5L AND left.d < 5D"),
        ("left.m * 1.5 > right.m + right.i", "(left.m * 1.5) > (right.m + right.i)"),
        ("left.i > 60 * 60", "left.i > (60 * 60)"),
        ('left.s = "it\'s"', 'left.s = "it\'s"'),
        ("left.day >= DATE '2024-2-1'", "left.day >= DATE'2024-02-01'"),
        (
            "left.n < TIMESTAMP_NTZ'2024-02-01'",
            "left.n < TIMESTAMP_NTZ'2024-02-01 00:00:00.000000'",
        ),
        (
            "left.t < TIMESTAMP'2024-02-01T00:00:00.5+02:00'",
            "left.t < TIMESTAMP'2024-01-31 22:00:00.500000Z'",
        ),
        (
            "(left.i < 1) AND ((left.l < 2 AND left.d < 3))",
            "left.i < 1 AND left.l < 2 AND left.d < 3",
        ),
        ("left.i < 1 AND (left.l < 2 OR left.p)", "left.i < 1 AND (left.l < 2 OR left.p)"),
        ("left.p = (left.i IN (1, 2))", "left.p = (left.i IN (1, 2))"),
        ("LEFT.PRICE < Right.`VOLUME`", "left.Price < right.volume"),
        ("price < volume AND `a b` > 1", "left.Price < right.volume AND left.`a b` > 1"),
        ("left.i = 1; -- a comment", "left.i = 1"),
        ("left.i /* one */ = 1", "left.i = 1"),
        ("true", None),
        ("1 = 1 AND left.p", "left.p"),
        ("false", "FALSE"),
        ("NULL", "NULL"),
    ],
)
def test_forms_that_are_understood(text: str, expected: str | None) -> None:
    assert shown(text) == expected
    if expected is not None:
        assert shown(expected) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("left.s = right.s", ((6, 6),)),
        ("right.l = left.i AND (left.d = right.d)", ((1, 2), (4, 4))),
        ("left.st = right.st AND right.st = left.st", ((11, 11),)),
        ("price = right.d AND left.end = right.end", ((14, 4), (13, 13))),
    ],
)
def test_equalities_of_both_sides_are_keys(text: str, expected: tuple[Any, ...]) -> None:
    found = parse(text)
    assert (found.equalities, found.predicate, found.band, found.rest) == (expected, None, None, ())


def test_other_equalities_are_conditions() -> None:
    text = "left.i = left.l AND left.i = right.i + 1 AND left.i <=> right.i AND left.i = right.m"
    found = parse(text)
    assert found.equalities == ()
    assert found.rest == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abs(left.i - right.l) <= 3", Band(1, 2, 3)),
        ("abs(right.i - left.i) < 3", Band(1, 1, 2)),
        ("2.5 >= abs(left.i - right.i)", Band(1, 1, 2)),
        ("left.i - right.i BETWEEN -3 AND 3", Band(1, 1, 3)),
        ("left.i BETWEEN right.i - 3 AND right.i + 60 * 60", Band(1, 1, 3600)),
        ("left.i <= right.i + 5 AND left.s > 'a' AND right.i - 2 <= left.i", Band(1, 1, 5)),
        ("left.i = right.i + 5", Band(1, 1, 5)),
        ("abs(left.b - right.b) <= 127", Band(0, 0, 127)),
        ("abs(left.b - right.b) <= 128", None),
        ("abs(left.d - right.d) <= 0.5", Band(4, 4, 0.5)),
        ("abs(left.f - right.f) <= 0.5", Band(3, 3, 0.5 * (1 + 2.0**-20))),
        ("left.i - right.d BETWEEN -0.5 AND 1", Band(1, 4, 1.0)),
        ("abs(left.i - right.i) <= 2.5e0", Band(1, 1, 2.5)),
        ("left.d BETWEEN right.d - 3 AND right.d + 3", Band(4, 4, 3.0, beyond_finite=True)),
        ("left.i = right.d", Band(1, 4, 0.0)),
        ("abs(left.s - right.i) <= 3", None),
        ("abs(left.m - right.m) <= 3", None),
        ("abs(left.i - left.l) <= 3", None),
        ("abs(left.i - right.i) <= -1", None),
        ("abs(left.i - right.i) >= 3", None),
        ("abs(left.i - right.i) <= right.l", None),
        ("abs(left.i + right.i) <= 3", None),
        ("abs(left.i - right.i) <= 3 OR left.p", None),
        ("left.i - right.i <= 3", None),
        ("left.d - right.d >= -5 AND right.d - left.d >= -5", None),  # true if any is NaN
        ("abs(left.d - right.d - 1e300) <= 1", None),  # rounds away what the columns differ by
        ("abs(left.i - right.i) <= NULL", None),
    ],
)
def test_bands(text: str, expected: Band | None) -> None:
    assert parse(text).band == expected


NUMBERS: dict[str, st.SearchStrategy[Any]] = {
    "b": st.integers(-128, 127),
    "i": st.integers(-5, 5) | st.integers(-(2**31), 2**31 - 1),
    "l": st.integers(-5, 5) | st.integers(-(2**63), 2**63 - 1),
    "f": st.floats(-5, 5, width=32) | st.floats(width=32),
    "d": st.floats(-5, 5) | st.floats(),
}
FORMS = [
    "abs({x} - {y}) <= {e}",
    "abs({y} - {x}) < {e}",
    "{y} - {x} BETWEEN -{e} AND {e}",
    "{x} BETWEEN {y} - {e} AND {y} + {e}",
    "{x} - {e} <= {y} AND {x} + {e} > {y}",
    "{x} = {y} - {e}",
]


@given(
    st.sampled_from(FORMS),
    st.sampled_from(list(NUMBERS)),
    st.sampled_from(list(NUMBERS)),
    st.sampled_from(["0", "1", "3", "0.1", "2.5", "1e-1", "4e0"]),
    st.data(),
)
def test_what_matches_is_within_the_band(
    form: str, x: str, y: str, e: str, data: st.DataObject
) -> None:
    found = parse(form.format(x=f"left.{x}", y=f"right.{y}", e=e))
    assume(found.band is not None)  # a decimal with a double, or less than 0
    assert found.predicate is not None
    assert found.band is not None
    left, right = data.draw(NUMBERS[x]), data.draw(NUMBERS[y])
    if data.draw(st.booleans()) and isfinite(left):  # meet at the edge
        right = pa.scalar(left, TYPES[x]).cast(TYPES[y], safe=False).as_py()
        right = right + float(e) if y in "fd" else max(-128, min(127, right))
    values = (left, x), (right, y)

    def fetch(side: Side, position: int) -> pa.Array:
        value, name = values[side]
        first = pa.float64() if name in "fd" else TYPES[name]
        return pa.array([value], first).cast(TYPES[name], safe=False)

    if not mask(found.predicate, fetch)[0]:
        return
    a, b = (fetch(side, 0)[0].as_py() for side in SIDES)
    if not (isfinite(a) and isfinite(b)):
        assert found.band.beyond_finite
        assert str(a) == str(b)
    elif isinstance(found.band.width, int):
        assert abs(a - b) <= found.band.width
    else:
        distance = abs(Fraction(a) - Fraction(b))
        rounding = Fraction(2) ** -51 * (abs(Fraction(a)) + Fraction(found.band.width))
        assert distance <= Fraction(found.band.width) + rounding


@pytest.mark.parametrize(
    "text",
    [
        "left.s LIKE 'a%'",
        "upper(left.s) = 'A'",
        "left.s > 5",
        "left.day > '2024-01-01'",
        "left.t < left.n",
        "left.m > right.d",
        "left.m / 2 > 1",
        "left.st.a = 1",
        "left.mp = right.mp",
        "left.mp['a'] = 1",
        "CAST(left.d AS INT) = 1",
        "left.i % 2 = 0",
        "left.i IN (right.i)",
        "left.t - right.t < INTERVAL 5 SECONDS",
        "left.t > TIMESTAMP'2024-01-01'",
        "left.day = DATE'2023-02-29'",
        "left.s = 'a\\nb'",
        "left.s = 'it''s'",
        "left.i = 1 = left.p",  # Spark and sqlglot group these in different ways
        "left.p = left.i IN (1, 2)",
        "left.i BETWEEN 1 AND left.l = 2",
        "CASE WHEN left.p AND right.p THEN left.end = 1 AND left.p END",
        "exists(array(left.i), x -> x > right.i AND x < 3)",
        "left.p OR upper(left.s) = 'A'",
        "NULL = NULL",
        "left.d > 1e400",
        "left.l < 99999999999999999999",  # true in Spark, even of null
        "left.i /* why */ % 2 = 0",
    ],
)
def test_the_rest_stays_as_it_is_written(text: str) -> None:
    assert parse(text).rest == (text,)
    found = parse(f"left.p AND ({text}) AND left.s = right.s -- and no more")
    assert found.rest == (text,)
    assert found.equalities == ((6, 6),)
    assert found.predicate is not None
    assert found.predicate.describe() == "left.p"


def test_names_in_the_rest_get_their_side() -> None:
    text = "volume % 2 = `a b` AND nested.a = 1 AND left.i = 2 OR exists(array(1), p -> p < price)"
    assert parse(text).rest == (
        "right.volume % 2 = left.`a b` AND left.nested.a = 1 AND left.i = 2 "
        "OR exists(array(1), p -> p < left.price)",
    )


def test_words_that_cannot_be_told_apart_stay_together() -> None:
    left, right = pa.schema({"end": pa.bool_(), "s": pa.string()}), pa.schema({"k": pa.string()})
    found = parse_where("end AND s = k", (left, right))
    assert (found.equalities, found.rest) == (((1, 0),), ())
    found = parse_where("CASE WHEN end AND s = k THEN true END AND s = k", (left, right))
    assert found.rest == (
        "CASE WHEN left.end AND left.s = right.k THEN true END AND left.s = right.k",
    )


def test_a_time_zone_gives_a_timestamp_its_meaning() -> None:
    text = "left.t > TIMESTAMP'2024-07-01 12:00:00'"
    assert shown(text, "Europe/Berlin") == "left.t > TIMESTAMP'2024-07-01 10:00:00.000000Z'"
    gap, twice = (
        "left.t > TIMESTAMP'2024-03-31 02:30:00'",
        "left.t > TIMESTAMP'2024-10-27 02:30:00'",
    )
    assert shown(gap, "Europe/Berlin") == "left.t > TIMESTAMP'2024-03-31 01:30:00.000000Z'"
    assert shown(twice, "Europe/Berlin") == "left.t > TIMESTAMP'2024-10-27 00:30:00.000000Z'"
    assert parse(text, "GMT+1").rest == (text,)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", ConfigError, "where: got ''; allowed: a SQL condition"),
        (" \n", ConfigError, "where: got ' \\n'; allowed"),
        (None, ConfigError, "where: got None; allowed"),
        ("-- nothing", ConfigError, "where: got '-- nothing'; allowed: one condition"),
        ("left.i = 1; left.i = 2", ConfigError, "allowed: one condition"),
        ("left.i = ", ConfigError, "where: cannot read 'left.i =' as SQL near '='; allowed"),
        ("left.i = 'a", ConfigError, 'where: cannot read "left.i = \'a" as SQL; allowed'),
        ("SELECT 1", ConfigError, "where: cannot read 'SELECT 1' as SQL near 'SELECT'"),
        ("left.i AS x", ConfigError, "near 'AS'"),
        ("(" * 500 + "left.p" + ")" * 500, ConfigError, "as SQL with so many levels; allowed"),
        ("left.i > (SELECT 1)", ConfigError, "where: (SELECT 1) is a subquery; allowed"),
        ("left.i IN (SELECT 1)", ConfigError, "is a subquery"),
        ("EXISTS (SELECT 1)", ConfigError, "is a subquery"),
        ("sum(left.i) > 1", ConfigError, "where: SUM(left.i) is an aggregate function; allowed"),
        ("count(*) > 1", ConfigError, "where: COUNT(*) is an aggregate function; allowed"),
        ("row_number() OVER (ORDER BY left.i) = 1", ConfigError, "is a window function; allowed"),
        ("explode(left.mp) = 1", ConfigError, "is a function that makes rows; allowed"),
        ("left.i = ?", ConfigError, "where: ? is a placeholder; allowed"),
        ("left.i = :x", ConfigError, "where: :x is a placeholder; allowed"),
        ("left.*", ConfigError, "is a star; allowed"),
        ("left.i + 1", ConfigError, "where: left.i + 1 is of type int32; allowed: a condition"),
        ("left.i AND true", ConfigError, "where: left.i is of type int32; allowed: a condition"),
        ("NOT left.s", ConfigError, "where: left.s is of type string; allowed: a condition"),
        ("left.d > 1 / 0", ConfigError, "where: 1 / 0 divides by zero; allowed"),
        (
            "left.prise > 1",
            DataError,
            "where: there is no column 'prise' on the left (did you mean 'Price'?); allowed: b, i,",
        ),
        ("right.price > 1", DataError, "there is no column 'price' on the right; allowed: b, i,"),
        ("volumes > 1", DataError, "'volumes' on either side (did you mean 'volume'?); allowed"),
        ("upper(left.x) = 'A'", DataError, "where: there is no column 'x' on the left; allowed"),
        ("i = 1", DataError, "both streams have a column 'i'; allowed: left.i, right.i"),
        ("trades.i = 1", DataError, "where: got 'trades.i'; allowed: columns as left.name or"),
    ],
)
def test_what_is_refused(text: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error) as caught:
        parse(text)
    assert message in str(caught.value)
    assert str(caught.value).startswith("where: ")


def test_many_parts_are_no_problem() -> None:
    text = " AND ".join(f"left.i <> {n}" for n in range(2000))
    predicate = parse(text).predicate
    assert predicate is not None
    assert mask(predicate, lambda *_: pa.array([5, 5000], pa.int32())).tolist() == [False, True]


def test_a_parsed_condition_is_a_value() -> None:
    text = "left.s = right.s AND abs(left.i - right.i) <= 3 AND left.s LIKE 'a%'"
    found = parse(text)
    assert pickle.loads(pickle.dumps(found)) == found == parse(text)
    assert hash(found) == hash(parse(text))
    assert found.text == text


def test_sqlglot_is_loaded_when_there_is_sql() -> None:
    code = (
        "import sys, streamjoin.joins.where as w, pyarrow as pa; print('sqlglot' in sys.modules); "
        "s = pa.schema({'x': pa.int64()}); w.parse_where('left.x < right.x', (s, s)); "
        "print('sqlglot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
