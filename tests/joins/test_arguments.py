"""Wrong use is refused when the call is made, in words of the user's argument."""

from typing import Any

import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin.errors import ConfigError, DataError, StreamJoinError
from streamjoin.joins.window.arguments import resolve
from streamjoin.joins.window.settings import WindowJoin

T = pa.timestamp("us", "UTC")
LEFT = pa.schema({"k": pa.int64(), "t": T, "name": pa.string(), "m": pa.map_(pa.string(), T)})
RIGHT = pa.schema({"k": pa.int32(), "t": T, "Name": pa.string(), "m": pa.map_(pa.string(), T)})
GOOD: dict[str, Any] = {
    "on": "k", "time": "t", "window": "10 s", "lateness": "0 s", "suffixes": ("_left", "_right"),
}  # fmt: skip


def call(left: pa.Schema = LEFT, right: pa.Schema = RIGHT, **changed: Any) -> WindowJoin:
    return resolve((left, right), **{**GOOD, **changed}).join


WRONG: list[tuple[dict[str, Any], type[StreamJoinError], str]] = [
    ({"on": "nme"}, DataError, "on: the left stream has no column 'nme' (did you mean 'name'?); "),
    ({"on": ("k", "q")}, DataError, "on: the right stream has no column 'q'; allowed: k, t, Name"),
    ({"on": []}, ConfigError, "on: got no column"),
    ({"on": 3}, ConfigError, "on: got 3; allowed: one str or a pair (left, right)"),
    ({"on": ["k", ("a", "b", "c")]}, ConfigError, "on: got ('a', 'b', 'c'); allowed"),
    ({"on": "m"}, DataError, "on: 'm' has type map<string, timestamp[us, tz=UTC]>; allowed"),
    ({"on": ("k", "Name")}, DataError, "on: 'k' is int64 on the left and 'Name' is string"),
    ({"time": "when"}, DataError, "time: the left stream has no column 'when'"),
    ({"time": ("t", "k")}, DataError, "time: right column 'k' has type int32; allowed: timestamp"),
    ({"time": 7}, ConfigError, "time: got 7; allowed: one str or a pair"),
    ({"window": "0 seconds"}, ConfigError, "window: got '0 seconds'; allowed: a positive duration"),
    ({"window": ("5 s", "-1 s")}, ConfigError, "window: got '-1 s'; allowed: zero or a positive"),
    ({"window": "soon"}, ConfigError, "window: got 'soon'; allowed: a duration such as"),
    ({"window": 10}, ConfigError, "window: got 10; allowed: a duration such as"),
    ({"window": ("1 s", "1 s", "1 s")}, ConfigError, "window: got ('1 s', '1 s', '1 s'); allowed"),
    ({"window": "99999999 days"}, ConfigError, "window: got '99999999 days'; allowed: at most"),
    ({"window": (None, "0 s")}, ConfigError, "window: got (None, '0 s'); allowed: a positive"),
    ({"window": None}, ConfigError, "window: got None; allowed: a positive duration for at least"),
    ({"how": "outer space"}, ConfigError, "how: got 'outer space'; allowed: inner, left, right"),
    ({"how": None}, ConfigError, "how: got None; allowed: inner, left, right, full, semi, anti, a"),
    ({"direction": "nearest"}, ConfigError, "direction: got 'nearest' with how='inner'; allowed"),
    ({"how": "asof", "direction": "up"}, ConfigError, "direction: got 'up'; allowed: backward, ne"),
    ({"how": "asof", "window": sj.rows(3)}, ConfigError, "window: got rows(3) with how='asof'; al"),
    ({"how": "asof", "where": "left.k > 1"}, ConfigError, "where: got 'left.k > 1' with how='asof"),
    ({"how": "anti", "where": "sqrt(left.k) > right.k"}, ConfigError, "where: 'sqrt(left.k) > rig"),
    ({"idle_timeout": "0 s"}, ConfigError, "idle_timeout: got '0 s'; allowed: a positive duration"),
    ({"idle_timeout": 5}, ConfigError, "idle_timeout: got 5; allowed: a duration such as"),
    ({"lateness": "-1 second"}, ConfigError, "lateness: got '-1 second'; allowed: zero or"),
    ({"suffixes": ("_a", "_a")}, ConfigError, "suffixes: with ('_a', '_a') the result has column"),
    ({"suffixes": None}, ConfigError, "suffixes: got None; allowed"),
]


@pytest.mark.parametrize(("changed", "error", "sentence"), WRONG, ids=[w[2][:50] for w in WRONG])
def test_refusals(changed: dict[str, Any], error: type[StreamJoinError], sentence: str) -> None:
    with pytest.raises(error) as refused:
        call(**changed)
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_duplicate_columns_are_refused() -> None:
    twice = pa.schema([("k", pa.int64()), ("t", T), ("k", pa.int64())])
    with pytest.raises(DataError, match="left: column 'k' is there more than once"):
        call(left=twice)


def test_times_of_different_kinds_are_refused() -> None:
    other = pa.schema({"k": pa.int64(), "t": pa.timestamp("us")})
    with pytest.raises(DataError, match="'t' of type timestamp and 't' of type timestamp_ntz"):
        call(right=other)


def test_what_differs_only_in_nullability_is_the_same_type() -> None:
    strict = pa.schema({"k": pa.list_(pa.field("element", pa.int64(), nullable=False)), "t": T})
    loose = pa.schema({"k": pa.list_(pa.field("element", pa.int64())), "t": T})
    join = call(left=strict, right=loose)
    assert join.left.schema == join.right.schema


def test_keys_that_cannot_be_compared_are_refused() -> None:
    unsigned = pa.schema({"k": pa.uint64(), "t": T})
    with pytest.raises(DataError, match=r"^on: 'k' is int64 on the left and 'k' is uint64 on the"):
        call(right=unsigned)
    with pytest.raises(DataError, match=r"^on: 'k' has type uint64; allowed"):
        call(left=unsigned, right=unsigned)


def names(join: WindowJoin) -> list[str]:
    return [column.name for column in join.output]


def test_names_clash_whatever_their_case() -> None:
    left, right = ["t_left", "name_left", "m_left"], ["t_right", "Name_right", "m_right"]
    assert names(call()) == ["k", *left, *right]


def test_keys_of_different_names_both_stay() -> None:
    right = pa.schema({"id": pa.int64(), "t2": T, "x": pa.int64()})
    join = call(right=right, on=("k", "id"), time=("t", "t2"))
    assert names(join) == ["k", "t", "name", "m", "id", "t2", "x"]


def test_own_suffixes() -> None:
    assert names(call(suffixes=("", "_r"))) == ["k", "t", "name", "m", "t_r", "Name_r", "m_r"]


def test_a_suffixed_name_may_not_hide_a_column() -> None:
    left = pa.schema({"k": pa.int64(), "t": T, "t_left": T})
    with pytest.raises(ConfigError, match="has column 't_left' twice"):
        call(left=left)


@pytest.mark.parametrize(
    ("spelling", "meant"),
    [("LEFT_OUTER", "left"), ("leftsemi", "semi"), ("outer", "full"), ("left anti", "anti")],
)
def test_types_may_be_spelled_as_spark_does(spelling: str, meant: str) -> None:
    assert call(how=spelling).how == meant


def test_a_semi_join_has_the_left_columns_as_they_are() -> None:
    assert names(call(how="semi")) == LEFT.names


def test_a_merged_key_has_the_wider_type() -> None:
    assert call(left=RIGHT, right=LEFT).output[0].type == pa.int64()
    assert call().output[0].type == pa.int64()


def test_equalities_of_the_predicate_are_keys_that_are_not_merged() -> None:
    join = call(on=None, where="left.k = right.k")
    assert join.left.key == join.right.key == (0,)
    assert names(join)[0] == "k_left"


def test_a_key_said_twice_is_one_key() -> None:
    join = call(on=["k"], where="left.k = right.k")
    assert join.left.key == (0,)
    assert join.left.has_exact_key


@pytest.mark.parametrize("on", [["k", "k"], ["k", ("k", "k")], ["k", "K"]])
def test_a_column_named_twice_is_refused(on: object) -> None:
    with pytest.raises(ConfigError, match=r"^on: got .* twice; allowed: each pair of columns once"):
        call(on=on)
