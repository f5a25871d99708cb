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

from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import pairwise
from typing import Final

from sqlglot import Token, TokenType

from streamjoin.budget import Budget
from streamjoin.sql_text.clauses_values import amount, budget, hinted, strategy
from streamjoin.sql_text.conjuncts import depths
from streamjoin.sql_text.query_text import Text, allowed, is_name, is_word, listed
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
    found: dict[str, list[Token]] = {}
    starts: dict[str, int] = {}
    begins = _clause_words(tokens, -1)
    for begin, end in pairwise([*begins, len(tokens)]):
        word, body = tokens[begin].text.upper(), list(tokens[begin + 1 : end])
        start = tokens[begin].start
        if word in found:
            raise text.error(start, f"a second {word}; allowed: one (commas separate streams)")
        if not body:
            raise text.error(start, f"nothing follows {word}; allowed: {EXAMPLES[word]}")
        _refuse_misspelt(text, body)
        found[word], starts[word] = body, start
    if hint is not None:
        if "BUDGET" in found:
            raise text.error(starts["BUDGET"], "a BUDGET beside the hint; allowed: one of them")
        starts["BUDGET"] = hint.start
    if "STRATEGY" in starts:
        starts["ORDER"] = starts["STRATEGY"]
    way, order = strategy(text, found.get("STRATEGY"))
    return Clauses(
        window=_by_stream(text, "WINDOW", found),
        freshness=_by_stream(text, "FRESHNESS", found),
        time=tuple(_time(text, item) for item in _items(text, "TIME", found)),
        lateness=_lateness(text, found.get("LATENESS")),
        budget=hinted(text, hint) if hint else budget(text, _items(text, "BUDGET", found)),
        plan=_plan(text, found.get("PLAN")),
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
    found: list[int] = []
    for i, level in enumerate(depths(tokens)):
        if i > after and level == 0 and is_word(tokens[i], EXAMPLES):
            fits = i == 0 or (i - 1 not in found and _can_end(tokens, i - 1))
            found += [i] if fits else []
    return found


def _can_end(tokens: Sequence[Token], i: int) -> bool:
    """Whether an expression, or a list of streams, can end with a token."""
    token = tokens[i]
    if token.token_type in _ENDS or (i > 0 and tokens[i - 1].token_type == TokenType.DOT):
        return True
    return token.text.isidentifier() and token.text.upper() not in _OPEN_WORDS


def _items(text: Text, word: str, found: dict[str, list[Token]]) -> list[list[Token]]:
    body = found.get(word)
    if body is None:
        return []
    items = listed(body, list(depths(body)))
    if not all(items):
        raise text.error(body[0].start, f"a comma too many; allowed: {EXAMPLES[word]}")
    return items


def _by_stream(text: Text, word: str, found: dict[str, list[Token]]) -> tuple[Given, ...]:
    return tuple(_given(text, word, item) for item in _items(text, word, found))


def _given(text: Text, word: str, item: list[Token]) -> Given:
    named = len(item) > 1 and is_name(item[0])
    stream = item[0].text if named else None
    rest = item[1:] if named else item
    return Given(stream, amount(text, word, rest, may_be_rows=True), item[0].start)


def _time(text: Text, item: list[Token]) -> Given:
    if len(item) == 1 and is_name(item[0]):
        return Given(None, item[0].text, item[0].start)
    if len(item) == 3 and item[1].token_type == TokenType.DOT:
        return Given(item[0].text, item[2].text, item[0].start)
    what = f"TIME: got {text.cut(item)!r}; allowed: {EXAMPLES['TIME']}"
    raise text.error(item[0].start, what)


def _lateness(text: Text, body: list[Token] | None) -> str | None:
    return None if body is None else str(amount(text, "LATENESS", body, may_be_rows=False))


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
