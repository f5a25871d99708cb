"""Conditions that are understood have the values that Spark gives them."""

import random
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from streamjoin._typing import Side
from streamjoin.core.predicate import mask
from streamjoin.errors import DataError
from streamjoin.joins.where import parse_where

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INF = float("inf")
ODD = [0.0, -0.0, 1.0, 1.5, -2.5, float("nan"), INF, -INF, 0.1, 1e16]
DAYS = [date(1900, 1, 1), date(2024, 2, 29), date(2024, 3, 1)]
MOMENT = datetime(2024, 3, 1, 12)
CHOICES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "b": (pa.int8(), [-5, 0, 1, 2, 3]),
    "i": (pa.int32(), [-3, 0, 1, 2, 100]),
    "j": (pa.int32(), [-(2**31), 2**31 - 1, 0, 1]),
    "l": (pa.int64(), [-4, 0, 1, 2, 7]),
    "k": (pa.int64(), [-(2**63), 2**63 - 1, 0, 2**53, 2**53 + 1]),
    "f": (pa.float32(), [*ODD[:-2], 0.10000000149011612, 16777216.0]),
    "d": (pa.float64(), [*ODD, float(2**53)]),
    "m": (pa.decimal128(10, 2), [Decimal(n).scaleb(-2) for n in (-150, 0, 12, 100, 250)]),
    "w": (pa.decimal128(30, 10), [Decimal(n).scaleb(-10) for n in (0, 10**10, -3, 10**25)]),
    "s": (pa.string(), ["", "a", "A", "ab", "é", "\ue000", "\U0001f600"]),
    "p": (pa.bool_(), [True, False]),
    "day": (pa.date32(), DAYS),
    "t": (
        pa.timestamp("us", "UTC"),
        [MOMENT.replace(tzinfo=timezone.utc) + timedelta(0, n) for n in range(3)],
    ),
    "n": (pa.timestamp("us"), [MOMENT + timedelta(0, 0, n) for n in range(3)]),
}
SCHEMA = pa.schema({name: kind for name, (kind, _) in CHOICES.items()})
LEFT = SCHEMA.append(pa.field("alone", pa.int32()))

CONDITIONS = [
    "left.i < right.l AND left.b <= right.i",
    "left.i = right.i OR left.s = right.s",
    "left.j < right.k",
    "left.k < right.d",
    "left.k <= right.f",
    "left.k = right.d AND left.p",
    "left.f < right.f AND left.d > 0",
    "left.f = right.d",
    "left.d = right.d OR false",
    "left.d < right.d",
    "left.d >= right.d",
    "left.d <=> right.d",
    "left.d <> right.f",
    "left.d IN (0, 1.5, 1e16)",
    "left.f IN (0.1, 1, NULL)",
    "left.k IN (9007199254740993, 1D)",
    "left.i NOT IN (1, 2.0, -3)",
    "left.s IN ('a', \"é\")",
    "left.p IN (true)",
    "left.day IN (DATE'2024-02-29', NULL)",
    "left.m IN (1, 2.5)",
    "left.s < right.s",
    "left.s >= 'ab'",
    "left.p < right.p",
    "left.p = (right.i > 0)",
    "left.p IS TRUE OR right.p IS NOT FALSE",
    "left.p IS DISTINCT FROM right.p",
    "left.day < right.day",
    "left.day = DATE'2024-3-1'",
    "left.t <= right.t",
    "left.t > TIMESTAMP'2024-03-01 12:00:00'",
    "left.t = TIMESTAMP'2024-03-01T14:00:01+02:00'",
    "left.n <> right.n",
    "left.n < TIMESTAMP_NTZ'2024-03-01 12:00:00.000002'",
    "left.m < right.m",
    "left.m = right.i",
    "left.m > right.w",
    "left.w <= right.k",
    "left.m * 1.5 - right.i >= right.m + 0.125",
    "abs(-left.m) > .5",
    "left.i > 0.5 AND left.i <= 2.",
    "left.k > 922337203685477580.75",
    "left.f <= 0.1",
    "left.d <= 0.1",
    "left.i / 2 > right.l / 3D",
    "right.d <> 0 AND left.d / right.d > 2",
    "right.l = 0 OR left.f / right.l >= 0.1",
    "left.b + left.i * right.l - 2 > -left.l",
    "left.f + right.f > left.f * 2",
    "left.f - right.d < 0.1e0",
    "abs(left.i - right.l) <= 3",
    "abs(left.i - right.i) < 2.5",
    "left.i BETWEEN right.l - 1 AND right.l + 2",
    "abs(left.d - right.d) <= 0.5",
    "abs(left.f - right.f) < 0.5",
    "left.d - right.d BETWEEN -1 AND 1",
    "left.d BETWEEN right.d - 1 AND right.d + 1",
    "left.i IS NULL OR right.i IS NOT NULL AND NOT left.p",
    "left.i + NULL > 1 OR left.p",
    "left.i NOT BETWEEN NULL AND 0",
    "left.p AND NULL",
    "NULL OR NOT left.p",
    "! left.i = 1",
    "left.i > 60 * 2 - 30.5",
    "LEFT.`I` > 0 AND alone < 3",
]


def _side(schema: pa.Schema, n: int, seed: int) -> pa.StructArray:
    draw = random.Random(seed)
    columns = []
    for field in schema:
        values = CHOICES.get(field.name, (None, [1, 2, 3]))[1]
        drawn = [draw.choice([*values, None]) for _ in range(n)]
        columns.append(
            pa.array(drawn, pa.float64()).cast(field.type, safe=False)
            if pa.types.is_floating(field.type)
            else pa.array(drawn, field.type)
        )
    return pa.StructArray.from_arrays(columns, fields=list(schema))


def test_masks_are_those_of_spark(spark: "SparkSession") -> None:
    from pyspark.sql import functions as F

    n = 300
    sides = _side(LEFT, n, 1), _side(SCHEMA, n, 2)
    found = [parse_where(text, (LEFT, SCHEMA), "UTC") for text in CONDITIONS]
    assert [where.text for where in found if where.rest or where.equalities] == []
    rest = parse_where("upper(left.s) = 'A' AND alone % 2 = 1", (LEFT, SCHEMA)).rest

    rows = pa.table({"id": list(range(n)), "left": sides[0], "right": sides[1]})
    asked = [*(text.replace("alone", "left.alone") for text in CONDITIONS), *rest]
    answers = [F.expr(text).alias(f"c{i}") for i, text in enumerate(asked)]
    table = spark.createDataFrame(rows).select("id", *answers).toArrow().sort_by("id")

    def fetch(side: Side, position: int) -> pa.Array:
        return sides[side].field(position)

    for i, where in enumerate(found):
        theirs = table.column(f"c{i}").to_pylist()
        assert where.predicate is not None
        assert where.predicate.compute(fetch).data.to_pylist() == theirs, where.text
        assert mask(where.predicate, fetch).tolist() == [value is True for value in theirs]
    upper, odd = (table.column(f"c{len(found) + i}").to_pylist() for i in range(2))
    assert upper == [
        None if s is None else s.upper() == "A" for s in sides[0].field("s").to_pylist()
    ]
    assert odd == [None if a is None else a % 2 == 1 for a in sides[0].field("alone").to_pylist()]


@pytest.mark.parametrize(
    "text", ["left.k + right.k > 0", "left.i / right.i > 0", "abs(left.j) = 1"]
)
def test_what_fails_here_fails_in_spark(spark: "SparkSession", text: str) -> None:
    from pyspark.errors import ArithmeticException
    from pyspark.sql import functions as F

    values = {"k": 2**63 - 1, "i": 0, "j": -(2**31)}
    schema = pa.schema([SCHEMA.field(name) for name in values])
    side = pa.StructArray.from_arrays(
        [pa.array([v], schema.field(c).type) for c, v in values.items()], fields=list(schema)
    )
    frame = spark.createDataFrame(pa.table({"left": side, "right": side}))
    with pytest.raises(ArithmeticException):
        frame.select(F.expr(text)).collect()
    predicate = parse_where(text, (schema, schema)).predicate
    assert predicate is not None
    with pytest.raises(DataError, match=r"^where: "):
        mask(predicate, lambda _, position: side.field(position))
