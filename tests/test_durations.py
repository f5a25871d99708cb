"""Durations as people write them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.durations import format_duration, parse_duration
from streamjoin.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("1 second", 10**6),
        ("90s", 90 * 10**6),
        ("1 hour 30 minutes", 5400 * 10**6),
        ("1h, 30min", 5400 * 10**6),
        (" 0.5 Seconds ", 500_000),
        ("250 ms", 250_000),
        ("2 days", 2 * 86400 * 10**6),
        ("1 week", 7 * 86400 * 10**6),
        ("-3 minutes", -180 * 10**6),
        (timedelta(milliseconds=1), 1000),
    ],
)
def test_what_is_understood(text: str | timedelta, us: int) -> None:
    assert parse_duration(text, "window") == us


@pytest.mark.parametrize(
    "text", ["", " ", "5", "minutes", "5 parsecs", "1 month", "5 minutes ago", None, 3.5]
)
def test_what_is_not(text: object) -> None:
    with pytest.raises(ConfigError, match=r"^lateness: got .*; allowed: a duration such as"):
        parse_duration(text, "lateness")  # type: ignore[arg-type]  # wrong on purpose


@given(st.integers(0, 2**60))
def test_written_and_read_again(us: int) -> None:
    assert parse_duration(format_duration(us), "window") == us
