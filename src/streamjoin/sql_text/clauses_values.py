"""What clauses hold: lengths of time, numbers of rows, budgets, strategies."""

import re
from collections.abc import Sequence
from typing import Any, Final

from sqlglot import Token, TokenType

from streamjoin.budget import Budget
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError
from streamjoin.joins.multi.strategies import STRATEGIES
from streamjoin.planning.many.nary import ORDERS
from streamjoin.sql_text.query_text import Text
from streamjoin.windows import Rows

_ROWS: Final = re.compile(r"(-?\d{1,30})\s*(?:rows?|tuples?)", re.IGNORECASE)
_NUMBER: Final = r"(-?\d{1,30}(?:\.\d{1,30})?)"
_CPU: Final = re.compile(_NUMBER + r"\s*cpu", re.IGNORECASE)
_CPU_TIME: Final = re.compile(r"(.+?)\s*cpu", re.IGNORECASE)
_RATE: Final = re.compile(_NUMBER + r"\s*(?:tuples|rows)\s+per\s+second", re.IGNORECASE)
_MEMORY_ROWS: Final = re.compile(r"(-?\d{1,30})\s*(?:rows|tuples)\s+memory", re.IGNORECASE)
_MEMORY: Final = re.compile(r"(.+?)\s*memory", re.IGNORECASE)
_BUDGET: Final = "0.3 CPU, 200 MS CPU, 300 TUPLES PER SECOND, 64 MB MEMORY, 5000 ROWS MEMORY"
_HINT: Final = re.compile(r"/\*\+\s*budget\s*\((.*)\)\s*\*/", re.IGNORECASE | re.DOTALL)
_SETTING: Final = re.compile(
    r"\s*(cpu|rate|memory)\s*=\s*('[^']*'|\"[^\"]*\"|[^\s,]+)\s*",
    re.IGNORECASE,
)
_STRATEGY: Final = re.compile(r"(\w+)(?:\s+order\s+([\w-]+))?", re.IGNORECASE)
_HINT_ALLOWED: Final = "/*+ BUDGET(cpu=0.3, memory='64 MB') */"


def amount(text: Text, word: str, tokens: Sequence[Token], *, may_be_rows: bool) -> str | Rows:
    """A length of time, or a number of rows.

    Examples
    --------
    >>> text = Text("1 HOUR 30 MINUTES")
    >>> amount(text, "WINDOW", text.statements()[0], may_be_rows=True)
    '1 HOUR 30 MINUTES'
    """
    start = tokens[0].start
    alone = len(tokens) == 1 and tokens[0].token_type == TokenType.STRING
    value = tokens[0].text if alone else text.cut(tokens)
    rows = _ROWS.fullmatch(value)
    try:
        if rows and may_be_rows:
            return Rows(int(rows[1]))
        if parse_duration(value, word) < 0:
            msg = f"{word}: got {value!r}; allowed: zero or a positive duration"
            raise ConfigError(msg)
    except ConfigError as error:
        or_rows = ", or a number of rows such as 500 ROWS" if may_be_rows and not rows else ""
        raise text.error(start, f"{error}{or_rows}") from None
    return value


def strategy(text: Text, body: Sequence[Token] | None) -> tuple[str | None, str | None]:
    """How results are found, and which stream of an n-ary join drives; None where nothing is said.

    Examples
    --------
    >>> text = Text("MJOIN ORDER output-rate")
    >>> strategy(text, text.statements()[0])
    ('mjoin', 'output-rate')
    """
    if body is None:
        return None, None
    said = text.cut(body)
    found = _STRATEGY.fullmatch(re.sub("['\"]", "", said).lower())
    way, order = found.groups() if found else (None, None)
    if way not in STRATEGIES or order not in (None, *ORDERS):
        words = f"{', '.join(STRATEGIES).upper()}; then ORDER and one of {', '.join(ORDERS)}"
        raise text.error(body[0].start, f"STRATEGY: got {said}; allowed: {words}")
    return way, order


def budget(text: Text, items: Sequence[Sequence[Token]]) -> Budget | None:
    """What a BUDGET clause allows; None if there is none.

    Examples
    --------
    >>> text = Text("200 MS CPU")
    >>> budget(text, text.statements())
    Budget(cpu='200 MS', rate=None, memory=None)
    """
    if not items:
        return None
    settings: dict[str, Any] = {}
    for item in items:
        name, value = _limit(text, item)
        if name in settings:
            raise text.error(item[0].start, f"BUDGET: {name} twice; allowed: once")
        settings[name] = value
    return _made(text, items[0][0].start, settings)


def _limit(text: Text, item: Sequence[Token]) -> tuple[str, Any]:
    said = text.cut(item)
    for name, pattern, made in (
        ("cpu", _CPU, float),
        ("rate", _RATE, float),
        ("memory", _MEMORY_ROWS, _rows),
        ("cpu", _CPU_TIME, str),
        ("memory", _MEMORY, str),
    ):
        found = pattern.fullmatch(said)
        if found:
            try:
                return name, made(found[1])
            except ConfigError as error:
                raise text.error(item[0].start, str(error)) from None
    raise text.error(item[0].start, f"BUDGET: got {said!r}; allowed: {_BUDGET}")


def _rows(number: str) -> Rows:
    return Rows(int(number))


def hinted(text: Text, hint: Token) -> Budget:
    """What the hint ``/*+ BUDGET(cpu=0.3) */`` allows."""
    found = _HINT.fullmatch(text.text[hint.start : hint.end + 1])
    settings: dict[str, Any] = {}
    for item in found[1].split(",") if found else [""]:
        setting = _SETTING.fullmatch(item)
        if setting is None:
            said = text.text[hint.start : hint.end + 1]
            raise text.error(hint.start, f"hint: got {said}; allowed: {_HINT_ALLOWED}")
        settings[setting[1].lower()] = _value(setting[2])
    return _made(text, hint.start, settings)


def _value(said: str) -> str | float:
    if said[0] in "'\"":
        return said[1:-1]
    return float(said) if re.fullmatch(_NUMBER, said) else said


def _made(text: Text, start: int, settings: dict[str, Any]) -> Budget:
    try:
        return Budget(**settings)
    except ConfigError as error:
        raise text.error(start, str(error)) from None
