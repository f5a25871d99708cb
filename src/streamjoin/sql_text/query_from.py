"""The streams of a query, and how they are joined."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sqlglot import Token, TokenType

from streamjoin._names import ANY_CASE
from streamjoin.sql_text.conjuncts import depths
from streamjoin.sql_text.query_text import Text, is_name, is_word

_MODIFIERS: Final = {
    "NATURAL", "ASOF", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "OUTER", "SEMI", "ANTI",
}  # fmt: skip
_HOWS: Final = {
    "": "inner", "INNER": "inner", "CROSS": "inner",
    "LEFT": "left", "LEFT OUTER": "left", "RIGHT": "right", "RIGHT OUTER": "right",
    "FULL": "full", "FULL OUTER": "full",
    "SEMI": "semi", "LEFT SEMI": "semi", "ANTI": "anti", "LEFT ANTI": "anti",
}  # fmt: skip
_KINDS: Final = "JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN, SEMI JOIN, ANTI JOIN"


@dataclass(frozen=True)
class Source:
    """A stream under the name that the query gives it."""

    alias: str
    stream: str
    start: int


@dataclass(frozen=True)
class Join:
    """How a stream is joined with those before it: `on` and `using` are words of the query."""

    how: str
    on: tuple[Token, ...]
    using: tuple[Token, ...]


@dataclass(frozen=True)
class From:
    """Two or more streams; `joins[i]` is how stream i + 1 comes in, `how` what they give."""

    sources: tuple[Source, ...]
    joins: tuple[Join, ...]

    @property
    def how(self) -> str:
        """The join's type: only two streams can have another one than inner."""
        return self.joins[0].how if len(self.joins) == 1 else "inner"


def read_from(text: Text, tokens: Sequence[Token]) -> From:
    """Read what is between FROM and WHERE.

    Examples
    --------
    >>> text = Text("calls c LEFT JOIN trades AS t USING (person)")
    >>> found = read_from(text, text.statements()[0])
    >>> [(source.alias, source.stream) for source in found.sources], found.how
    ([('c', 'calls'), ('t', 'trades')], 'left')
    """
    entries = list(_entries(tokens))
    for words, entry in entries:
        if not entry:
            start = words[0].start if words else tokens[0].start
            raise text.error(start, "a stream is missing; allowed: names, as in FROM a, b")
    sources = [_source(text, entry) for _, entry in entries]
    if len(sources) < 2:
        what = f"one stream {sources[0].stream!r}; allowed: two or more, as in FROM a, b"
        raise text.error(sources[0].start, what)
    for i, source in enumerate(sources):
        if ANY_CASE.find([other.alias for other in sources[:i]], source.alias) is not None:
            what = f"two streams called {source.alias!r}; allowed: names of their own, such as "
            raise text.error(source.start, f"{what}{source.stream} {source.alias}2")
    joins = [_join(text, words, entry) for words, entry in entries[1:]]
    for join, (words, _) in zip(joins, entries[1:], strict=True):
        if join.how != "inner" and len(sources) > 2:
            what = f"{join.how.upper()} JOIN of {len(sources)} streams; allowed: of two streams"
            raise text.error(words[0].start, what)
    return From(tuple(sources), tuple(joins))


def _entries(tokens: Sequence[Token]) -> Iterator[tuple[list[Token], list[Token]]]:
    """Each stream's words, and those that join it: a comma, or JOIN with what precedes it."""
    levels = list(depths(tokens))
    begin, words = 0, list[Token]()
    for i, token in enumerate(tokens):
        comma = token.token_type == TokenType.COMMA
        if levels[i] or not (comma or is_word(token, {"JOIN"})):
            continue
        end = i
        while not comma and end > begin and is_word(tokens[end - 1], _MODIFIERS):
            end -= 1
        yield words, list(tokens[begin:end])
        begin, words = i + 1, list(tokens[end : i + 1])
    yield words, list(tokens[begin:])


def _source(text: Text, entry: Sequence[Token]) -> Source:
    first = entry[0]
    second = entry[1] if len(entry) > 1 else None
    odd = second is not None and second.token_type in (TokenType.DOT, TokenType.L_PAREN)
    if not is_name(first) or odd or is_word(first, {"LATERAL", "VALUES", "TABLE"}):
        what = f"cannot read {first.text!r} as a stream; allowed: names of streams, as in FROM a, b"
        raise text.error(first.start, what)
    rest = entry[2:] if second is not None and is_word(second, {"AS"}) else entry[1:]
    named = bool(rest) and is_name(rest[0]) and not is_word(rest[0], {"ON", "USING"})
    behind = rest[1:] if named else rest
    if behind and not is_word(behind[0], {"ON", "USING"}):
        what = f"cannot read {behind[0].text!r} behind a stream; allowed: ON, USING or a comma"
        raise text.error(behind[0].start, what)
    return Source(rest[0].text if named else first.text, first.text, first.start)


def _join(text: Text, words: Sequence[Token], entry: Sequence[Token]) -> Join:
    kind = " ".join(token.text.upper() for token in words[:-1])
    if kind not in _HOWS:
        raise text.error(words[0].start, f"{kind} JOIN; allowed: {_KINDS}")
    at = next((i for i, token in enumerate(entry) if is_word(token, {"ON", "USING"})), len(entry))
    condition = tuple(entry[at + 1 :])
    using = at < len(entry) and is_word(entry[at], {"USING"})
    names = condition[1:-1:2] if using else ()
    commas = [token.text for token in (*condition[:1], *condition[2:-1:2], *condition[-1:])]
    if using and (not all(map(is_name, names)) or commas != ["(", *"," * (len(names) - 1), ")"]):
        what = f"USING: got {text.cut(entry[at:])!r}; allowed: USING (column, ...)"
        raise text.error(entry[at].start, what)
    how = _HOWS[kind]
    if how != "inner" and not condition:
        what = f"{kind} JOIN without ON; allowed: ON a.x = b.y, or USING (x)"
        raise text.error(words[0].start, what)
    return Join(how, () if using else condition, names)
