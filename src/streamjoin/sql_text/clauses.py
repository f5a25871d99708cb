"""The clauses of a query that standard SQL does not have: WINDOW, FRESHNESS and so on.

They come last, in any order, each once:

```
WINDOW 10 MINUTES                    of all streams
WINDOW a 10 MINUTES, b 500 ROWS      by stream
FRESHNESS 12 MINUTES                 of all streams, or by stream as above
LATENESS 30 SECONDS
BUDGET 0.3 CPU, 64 MB MEMORY         or 200 MS CPU; or 300 TUPLES PER SECOND
PLAN '((a b) c) d'
STRATEGY MJOIN                       or AUTO, TREE; STRATEGY MJOIN ORDER output-rate
TIME a.ts, b.at                      or one name for all streams
```
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from typing import Any, Final

from sqlglot import Token, TokenType

from streamjoin.budget import Budget
from streamjoin.durations import parse_duration
from streamjoin.errors import ConfigError
from streamjoin.joins.multi.arguments import STRATEGIES
from streamjoin.planning.many.nary import ORDERS
from streamjoin.sql_text.words import Text, allowed, depths, is_name, is_word, listed
from streamjoin.windows import Rows

EXAMPLES: Final = {
    "WINDOW": "WINDOW 10 MINUTES, or WINDOW a 10 MINUTES, b 500 ROWS",
    "FRESHNESS": "FRESHNESS 12 MINUTES, or FRESHNESS a 12 MINUTES, b 15 MINUTES",
    "LATENESS": "LATENESS 30 SECONDS",
    "BUDGET": "BUDGET 0.3 CPU, BUDGET 300 TUPLES PER SECOND, or BUDGET 64 MB MEMORY",
    "PLAN": "PLAN '((a b) c) d'",
    "STRATEGY": "STRATEGY MJOIN, or STRATEGY MJOIN ORDER output-rate",
    "TIME": "TIME a.ts, b.at, or TIME ts",
}
# What an expression cannot end with: a clause's word after one of these is a name.
_OPEN_WORDS: Final = {
    "SELECT", "DISTINCT", "ALL", "FROM", "JOIN", "ON", "USING", "WHERE", "AND", "OR", "NOT", "IN",
    "IS", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "ESCAPE", "AS", "CASE", "WHEN", "THEN",
    "ELSE", "DIV", "INTERVAL",
}  # fmt: skip
_ENDS: Final = (
    TokenType.NUMBER, TokenType.STRING, TokenType.IDENTIFIER,
    TokenType.R_PAREN, TokenType.R_BRACKET,
)  # fmt: skip
_ROWS: Final = re.compile(r"(-?\d{1,30})\s*(?:rows?|tuples?)", re.IGNORECASE)
_NUMBER: Final = r"(-?\d{1,30}(?:\.\d{1,30})?)"
_LIMITS: Final[list[tuple[str, re.Pattern[str], Callable[[str], Any]]]] = [
    (name, re.compile(pattern, re.IGNORECASE), made)
    for name, pattern, made in (
        ("cpu", _NUMBER + r"\s*cpu", float),
        ("rate", _NUMBER + r"\s*(?:tuples|rows)\s+per\s+second", float),
        ("memory", r"(-?\d{1,30})\s*(?:rows|tuples)\s+memory", lambda n: Rows(int(n))),
        ("cpu", r"(.+?)\s*cpu", str),
        ("memory", r"(.+?)\s*memory", str),
    )
]
_BUDGET: Final = "0.3 CPU, 200 MS CPU, 300 TUPLES PER SECOND, 64 MB MEMORY, 5000 ROWS MEMORY"
_HINT: Final = re.compile(r"/\*\+\s*budget\s*\((.*)\)\s*\*/", re.IGNORECASE | re.DOTALL)
_SETTING: Final = re.compile(
    r"\s*(cpu|rate|memory)\s*=\s*('[^']*'|\"[^\"]*\"|[^\s,]+)\s*", re.IGNORECASE
)
_STRATEGY: Final = re.compile(r"(\w+)(?:\s+order\s+([\w-]+))?", re.IGNORECASE)
_HINT_ALLOWED: Final = "/*+ BUDGET(cpu=0.3, memory='64 MB') */"


@dataclass(frozen=True)
class Given:
    """What a clause says of one stream, or of all that it does not name."""

    stream: str | None
    value: str | Rows
    start: int


@dataclass(frozen=True)
class Clauses:
    """All clauses of a query; empty or None where there is none. `starts` has their offsets."""

    window: tuple[Given, ...] = ()
    freshness: tuple[Given, ...] = ()
    time: tuple[Given, ...] = ()
    lateness: str | None = None
    budget: Budget | None = None
    plan: str | None = None
    strategy: str | None = None
    order: str | None = None
    starts: dict[str, int] = field(default_factory=dict)


def first_clause(tokens: Sequence[Token], after: int) -> int:
    """Position of the first clause's word behind some position; the end if there is none."""
    return next(iter(_clause_words(tokens, after)), len(tokens))


def read_clauses(text: Text, tokens: Sequence[Token], hint: Token | None = None) -> Clauses:
    """Read clauses, the first of which begins with the first token.

    Examples
    --------
    >>> text = Text("WINDOW a 10 mins, b 500 ROWS BUDGET 0.3 CPU")
    >>> clauses = read_clauses(text, text.statements()[0])
    >>> [(given.stream, given.value) for given in clauses.window], clauses.budget.cpu
    ([('a', '10 mins'), ('b', Rows(n=500))], 0.3)
    """
    bodies: dict[str, list[Token]] = {}
    starts: dict[str, int] = {}
    for begin, end in pairwise([*_clause_words(tokens, -1), len(tokens)]):
        word, body = tokens[begin].text.upper(), list(tokens[begin + 1 : end])
        start = tokens[begin].start
        if word in bodies:
            raise text.error(start, f"a second {word}; allowed: one (commas separate streams)")
        if not body:
            raise text.error(start, f"nothing follows {word}; allowed: {EXAMPLES[word]}")
        _refuse_misspelt(text, body)
        bodies[word], starts[word] = body, start
    if hint is not None:
        if "BUDGET" in bodies:
            raise text.error(starts["BUDGET"], "a BUDGET beside the hint; allowed: one of them")
        starts["BUDGET"] = hint.start
    if "STRATEGY" in starts:
        starts["ORDER"] = starts["STRATEGY"]
    lateness = bodies.get("LATENESS")
    way, order = strategy(text, bodies.get("STRATEGY"))
    return Clauses(
        window=_by_stream(text, "WINDOW", bodies),
        freshness=_by_stream(text, "FRESHNESS", bodies),
        time=tuple(_time(text, item) for item in _items(text, "TIME", bodies)),
        lateness=None if lateness is None else duration(text, "LATENESS", lateness),
        budget=hinted(text, hint) if hint else budget(text, _items(text, "BUDGET", bodies)),
        plan=_plan(text, bodies.get("PLAN")),
        strategy=way,
        order=order,
        starts=starts,
    )


def _refuse_misspelt(text: Text, body: Sequence[Token]) -> None:
    """Refuse a word that all but begins a clause, before it is taken for a part of another one."""
    for before, token in pairwise(body):
        word = token.text.upper()
        is_part = before.token_type in (TokenType.COMMA, TokenType.DOT) or word in EXAMPLES
        if not is_part and is_misspelt(word):
            what = f"unknown clause {token.text!r}; {allowed(list(EXAMPLES), token.text)}"
            raise text.error(token.start, what)


def _clause_words(tokens: Sequence[Token], after: int) -> list[int]:
    begins: list[int] = []
    for i, level in enumerate(depths(tokens)):
        if i > after and level == 0 and is_word(tokens[i], EXAMPLES):
            fits = i == 0 or (i - 1 not in begins and _can_end(tokens, i - 1))
            begins += [i] if fits else []
    return begins


def _can_end(tokens: Sequence[Token], i: int) -> bool:
    """Whether an expression, or a list of streams, can end with a token."""
    token = tokens[i]
    if token.token_type in _ENDS or (i > 0 and tokens[i - 1].token_type == TokenType.DOT):
        return True
    return token.text.isidentifier() and token.text.upper() not in _OPEN_WORDS


def _items(text: Text, word: str, bodies: dict[str, list[Token]]) -> list[list[Token]]:
    body = bodies.get(word)
    if body is None:
        return []
    items = listed(body)
    if not all(items):
        raise text.error(body[0].start, f"a comma too many; allowed: {EXAMPLES[word]}")
    return items


def _by_stream(text: Text, word: str, bodies: dict[str, list[Token]]) -> tuple[Given, ...]:
    given = []
    for item in _items(text, word, bodies):
        named = len(item) > 1 and is_name(item[0])
        value = amount(text, word, item[1:] if named else item, may_be_rows=True)
        given.append(Given(item[0].text if named else None, value, item[0].start))
    return tuple(given)


def _time(text: Text, item: list[Token]) -> Given:
    if len(item) == 1 and is_name(item[0]):
        return Given(None, item[0].text, item[0].start)
    if len(item) == 3 and item[1].token_type == TokenType.DOT:
        return Given(item[0].text, item[2].text, item[0].start)
    what = f"TIME: got {text.cut(item)!r}; allowed: {EXAMPLES['TIME']}"
    raise text.error(item[0].start, what)


def _plan(text: Text, body: list[Token] | None) -> str | None:
    if body is None:
        return None
    if len(body) > 1 or body[0].token_type != TokenType.STRING:
        what = f"PLAN: got {text.cut(body)}; allowed: {EXAMPLES['PLAN']}"
        raise text.error(body[0].start, what)
    return body[0].text


def is_misspelt(word: str) -> bool:
    """Whether a word is all but a clause's.

    Examples
    --------
    >>> [is_misspelt(word) for word in ("FRESHNES", "freshness", "minutes")]
    [True, False, False]
    """
    upper = word.upper()
    return upper not in EXAMPLES and bool(get_close_matches(upper, EXAMPLES, cutoff=0.75))


def unknown_word(got: str) -> str:
    """What could be meant by a word that is no clause's."""
    return allowed(["FROM", "JOIN", "ON", "WHERE", *EXAMPLES], got)


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
            raise ConfigError.at(word, repr(value), "zero or a positive duration")
    except ConfigError as error:
        or_rows = ", or a number of rows such as 500 ROWS" if may_be_rows and not rows else ""
        raise text.error(start, f"{error}{or_rows}") from None
    return value


def duration(text: Text, word: str, tokens: Sequence[Token]) -> str:
    """A length of time."""
    return str(amount(text, word, tokens, may_be_rows=False))


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
    words = _STRATEGY.fullmatch(re.sub("['\"]", "", said).lower())
    way, order = words.groups() if words else (None, None)
    if way not in STRATEGIES or order not in (None, *ORDERS):
        what = f"{', '.join(STRATEGIES).upper()}; then ORDER and one of {', '.join(ORDERS)}"
        raise text.error(body[0].start, f"STRATEGY: got {said}; allowed: {what}")
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
    for name, pattern, made in _LIMITS:
        words = pattern.fullmatch(said)
        if words:
            try:
                return name, made(words[1])
            except ConfigError as error:
                raise text.error(item[0].start, str(error)) from None
    raise text.error(item[0].start, f"BUDGET: got {said!r}; allowed: {_BUDGET}")


def hinted(text: Text, hint: Token) -> Budget:
    """What the hint ``/*+ BUDGET(cpu=0.3) */`` allows."""
    said = text.cut([hint])
    inner = _HINT.fullmatch(said)
    settings: dict[str, Any] = {}
    for item in inner[1].split(",") if inner else [""]:
        setting = _SETTING.fullmatch(item)
        if setting is None:
            raise text.error(hint.start, f"hint: got {said}; allowed: {_HINT_ALLOWED}")
        name, value = setting.groups()
        if value[0] in "'\"":
            value = value[1:-1]
        elif re.fullmatch(_NUMBER, value):
            value = float(value)
        settings[name.lower()] = value
    return _made(text, hint.start, settings)


def _made(text: Text, start: int, settings: dict[str, Any]) -> Budget:
    try:
        return Budget(**settings)
    except ConfigError as error:
        raise text.error(start, str(error)) from None
