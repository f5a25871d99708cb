"""Constants in SQL text, with the types that Spark gives them.

What may mean something else in Spark, or is no such constant, is a ValueError: not understood.
"""

import re
from datetime import date, datetime, timezone, tzinfo
from decimal import Decimal
from math import isfinite
from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from streamjoin.core.predicate.expressions import Literal

_WHOLE: Final = re.compile(r"-?\d{1,38}")  # not more digits than a decimal has
_DATE: Final = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)")
_TIME: Final = re.compile(
    _DATE.pattern + r"(?:[ T](\d\d?):(\d\d?):(\d\d?)(?:\.(\d{1,6}))?)?(Z|[+-]\d\d:\d\d)?"
)
_FORM: Final = "%Y-%m-%d %H:%M:%S.%f"
_MOST_DIGITS: Final = 38


def string(text: str) -> Literal:
    """A string.

    Examples
    --------
    >>> print(string("it's").text)
    "it's"
    """
    quote = '"' if "'" in text else "'"
    return Literal(pa.string(), text, f"{quote}{text}{quote}")


def number(text: str) -> Literal:
    """A number: an int or a bigint, a decimal if it is larger or has a point, a double with an e.

    Examples
    --------
    >>> [str(number(text).type) for text in ("7", "2147483648", "0.50", "1e3")]
    ['int32', 'int64', 'decimal128(2, 2)', 'double']
    """
    if "e" in text.lower():
        return double(text, text)
    value = Decimal(text)
    if _WHOLE.fullmatch(text):
        for kind in (pa.int32(), pa.int64()):
            if -(2 ** (kind.bit_width - 1)) <= int(text) < 2 ** (kind.bit_width - 1):
                return Literal(kind, int(text), text)
    _, digits, exponent = value.as_tuple()
    scale = -int(exponent)
    precision = max(len(digits), scale)
    if precision > _MOST_DIGITS:
        raise ValueError(text)
    return Literal(pa.decimal128(precision, scale), value, text)


def double(number: str, text: str) -> Literal:
    """A double.

    Examples
    --------
    >>> double("5", "5D").value
    5.0
    """
    value = float(number)  # sqlglot takes 1e for a number
    if not isfinite(value):
        raise ValueError(number)
    return Literal(pa.float64(), value, text)


def bigint(text: str) -> Literal:
    """A whole number that is a bigint however small it is.

    Examples
    --------
    >>> bigint("5")
    Literal(type=DataType(int64), value=5, text='5L')
    """
    if not _WHOLE.fullmatch(text) or int(text) >= 2**63:
        raise ValueError(text)
    return Literal(pa.int64(), int(text), f"{text}L")


def day(text: str) -> Literal:
    """A date.

    Examples
    --------
    >>> day("2024-2-29").text
    "DATE'2024-02-29'"
    """
    numbers = _DATE.fullmatch(text)
    if numbers is None:
        raise ValueError(text)
    value = date(*map(int, numbers.groups()))
    return Literal(pa.date32(), value, f"DATE'{value}'")


def moment(text: str, time_zone: str | None) -> Literal:
    """A timestamp; one without a time zone is of the given one.

    Examples
    --------
    >>> moment("2024-07-01 12:00:00", "Europe/Berlin").text
    "TIMESTAMP'2024-07-01 10:00:00.000000Z'"
    """
    value, zone = _parsed(text)
    if zone is None and time_zone is None:
        raise ValueError(text)
    try:
        place = ZoneInfo(time_zone) if zone is None and time_zone is not None else zone
        value = value.replace(tzinfo=place).astimezone(timezone.utc)
    except (KeyError, OverflowError):  # the years before 1 and after 9999 in UTC
        raise ValueError(text) from None
    return Literal(pa.timestamp("us", "UTC"), value, f"TIMESTAMP'{value:{_FORM}}Z'")


def local_moment(text: str) -> Literal:
    """A timestamp without a time zone.

    Examples
    --------
    >>> local_moment("2024-07-01").text
    "TIMESTAMP_NTZ'2024-07-01 00:00:00.000000'"
    """
    value, zone = _parsed(text)
    if zone is not None:
        raise ValueError(text)
    return Literal(pa.timestamp("us"), value, f"TIMESTAMP_NTZ'{value:{_FORM}}'")


def _parsed(text: str) -> tuple[datetime, tzinfo | None]:
    parts = _TIME.fullmatch(text)
    if parts is None:
        raise ValueError(text)
    year, month, day, hour, minute, second = (int(part or 0) for part in parts.groups()[:6])
    micros, zone = (parts[7] or "").ljust(6, "0"), (parts[8] or "").replace("Z", "+00:00")
    value = datetime(year, month, day, hour, minute, second, int(micros))
    return value, datetime.fromisoformat(f"2000-01-01T00:00:00{zone}").tzinfo
