"""Lengths of time as people write them, held as whole microseconds."""

import re
from datetime import timedelta
from fractions import Fraction
from typing import Final

from streamjoin.errors import ConfigError

Duration = str | timedelta

_UNITS: Final = {
    "microsecond": 1, "us": 1,
    "millisecond": 1_000, "ms": 1_000,
    "second": 1_000_000, "sec": 1_000_000, "s": 1_000_000,
    "minute": 60_000_000, "min": 60_000_000, "m": 60_000_000,
    "hour": 3_600_000_000, "h": 3_600_000_000,
    "day": 86_400_000_000, "d": 86_400_000_000,
    "week": 604_800_000_000,
}  # fmt: skip
_PART: Final = re.compile(r"\s*(-?\d{1,30}(?:\.\d{1,30})?)\s*([a-z]+)\s*,?")
_LONGEST_US: Final = 2**61  # 73,000 years: sums of a time and two windows stay inside 64 bits
_HINT: Final = 'a duration such as "30 seconds", "10 minutes" or "1 hour 30 minutes"'


def parse_duration(value: Duration, argument: str) -> int:
    """Microseconds of a duration; `argument` is what an error calls it.

    Examples
    --------
    >>> parse_duration("2 minutes", "window"), parse_duration("1h 30min", "window")
    (120000000, 5400000000)
    >>> parse_duration("soon", "lateness")
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: lateness: got 'soon'; allowed: a duration such as "30 seconds",
    "10 minutes" or "1 hour 30 minutes"
    """
    if isinstance(value, timedelta):
        us = round(value / timedelta(microseconds=1))
    elif isinstance(value, str):
        us = _parse_text(value, argument)
    else:
        raise ConfigError.at(argument, repr(value), _HINT)
    if abs(us) > _LONGEST_US:
        raise ConfigError.at(argument, repr(value), "at most 73,000 years")
    return us


def _parse_text(text: str, argument: str) -> int:
    total, at, rest = Fraction(0), 0, text.lower()
    while at < len(rest) or not rest:
        part = _PART.match(rest, at)
        unit = part and (_UNITS.get(part[2]) or _UNITS.get(part[2].removesuffix("s")))
        if not part or not unit:
            raise ConfigError.at(argument, repr(text), _HINT)
        total += Fraction(part[1]) * unit
        at = part.end()
    return round(total)


def format_duration(us: int) -> str:
    """Write microseconds in the largest unit that divides them.

    Examples
    --------
    >>> format_duration(600_000_000), format_duration(1_500_000)
    ('10 minutes', '1500 milliseconds')
    """
    for name in ("day", "hour", "minute", "second", "millisecond", "microsecond"):
        count, rest = divmod(us, _UNITS[name])
        if rest == 0 and count:
            return f"{count} {name}" + ("s" if count != 1 else "")
    return f"{us // 1_000_000} seconds"
