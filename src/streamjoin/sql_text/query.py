"""A query taken apart by its words: what is selected, from which streams, where, and clauses.

First comes what FROM says, then what streams cannot have, then the whole.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from sqlglot import Token, TokenType, exp, parse_one
from sqlglot.errors import ParseError, SqlglotError

from streamjoin._names import ANY_CASE
from streamjoin.errors import ConfigError
from streamjoin.sql_text.clauses import (
    Clauses,
    first_clause,
    is_misspelt,
    read_clauses,
    unknown_word,
)
from streamjoin.sql_text.translate import REFUSED
from streamjoin.sql_text.words import Text, depths, is_name, is_word, listed, parse_condition, parts

_MODIFIERS: Final = {
    "NATURAL", "ASOF", "LEFT", "RIGHT", "FULL", "INNER", "CROSS", "OUTER", "SEMI", "ANTI",
}  # fmt: skip
_HOWS: Final = {
    "": "inner", "INNER": "inner", "CROSS": "inner",
    "LEFT": "left", "LEFT OUTER": "left", "RIGHT": "right", "RIGHT OUTER": "right",
    "FULL": "full", "FULL OUTER": "full",
    "SEMI": "semi", "LEFT SEMI": "semi", "ANTI": "anti", "LEFT ANTI": "anti",
}  # fmt: skip
_JOIN_TYPES: Final = "JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN, SEMI JOIN, ANTI JOIN"
_NONE: Final = "allowed: none (apply it to the DataFrame that sj.sql returns)"
_REFUSED: Final[dict[str, tuple[TokenType, str]]] = {
    "with_": (TokenType.WITH, "WITH; allowed: streams by their names (make the DataFrame first)"),
    "distinct": (TokenType.DISTINCT, f"DISTINCT; {_NONE}"),
    "group": (TokenType.GROUP_BY, f"GROUP BY; {_NONE}"),
    "having": (TokenType.HAVING, f"HAVING; {_NONE}"),
    "order": (TokenType.ORDER_BY, f"ORDER BY; {_NONE}"),
    "sort": (TokenType.SORT_BY, f"SORT BY; {_NONE}"),
    "limit": (TokenType.LIMIT, f"LIMIT; {_NONE}"),
    "offset": (TokenType.OFFSET, f"OFFSET; {_NONE}"),
    "laterals": (TokenType.LATERAL, "LATERAL; allowed: streams by their names"),
    "windows": (TokenType.WINDOW, f"a named window; {_NONE}"),
}
_SETS: Final = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_KNOWN: Final = {"kind", "hint", "expressions", "from_", "joins", "where", "operation_modifiers"}


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
    >>> streams = read_from(text, text.statements()[0])
    >>> [(source.alias, source.stream) for source in streams.sources], streams.how
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
    begin, words = 0, list[Token]()
    for i, (token, level) in enumerate(zip(tokens, depths(tokens), strict=True)):
        comma = token.token_type == TokenType.COMMA
        if level or not (comma or is_word(token, {"JOIN"})):
            continue
        end = i
        while not comma and end > begin and is_word(tokens[end - 1], _MODIFIERS):
            end -= 1
        yield words, list(tokens[begin:end])
        begin, words = i + 1, list(tokens[end : i + 1])
    yield words, list(tokens[begin:])


def _source(text: Text, entry: Sequence[Token]) -> Source:
    first, second = entry[0], entry[1] if len(entry) > 1 else None
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
        raise text.error(words[0].start, f"{kind} JOIN; allowed: {_JOIN_TYPES}")
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


def check_body(text: Text, body: Sequence[Token]) -> None:
    """Have sqlglot read what is standard SQL; refuse what streams do not have."""
    start = body[0].start
    before = re.sub(r"[^\n]", " ", text.text[:start])  # so that sqlglot counts as we do
    try:
        whole = parse_one(before + text.cut(body), read="spark")
    except SqlglotError as error:
        raise _misread(text, body, error) from None
    except RecursionError:
        raise text.error(start, "too many levels; allowed: fewer") from None
    if isinstance(whole, exp.SetOperation):
        token = next(token for token in body if token.token_type in _SETS)
        what = _NONE.replace("none", "one SELECT")
        raise text.error(token.start, f"{token.text.upper()}; {what}")
    for name, value in whole.args.items():
        if value and name not in _KNOWN:
            kind, what = _REFUSED.get(name, (None, f"{name.upper()}; allowed: none"))
            token = next((token for token in body if token.token_type == kind), body[0])
            raise text.error(token.start, what)
    for what in ("a subquery", "a window function", "an aggregate function", "a placeholder"):
        parts_within = (n for n in whole.walk() if n is not whole)
        node = next((n for n in parts_within if isinstance(n, REFUSED[what])), None)
        if node is not None:  # where it begins is where its first name or value does
            starts = (int(part.meta["start"]) for part in node.walk() if "start" in part.meta)
            raise text.error(min(starts, default=0), f"{node.sql('spark')} is {what}; {_NONE}")


def _misread(text: Text, body: Sequence[Token], error: SqlglotError) -> Exception:
    problems = error.errors if isinstance(error, ParseError) else []
    problem = problems[0] if problems else {"description": "Unexpected"}
    place = problem.get("line"), problem.get("col")
    at = next((i for i, t in enumerate(body) if (t.line, t.col) == place), len(body) - 1)
    token = body[at]
    description = str(problem.get("description", ""))
    if "Unexpected" not in description and "Required" not in description:
        what = f"cannot read on after {token.text!r}: {description.lower()}"
        return text.error(token.start, f"{what}; allowed: SQL as Spark reads it")
    # What is misspelt may be read as a name, so that only a later word is out of place.
    near = (t for t in reversed(body[: at + 1]) if is_misspelt(t.text))
    close = (t for t in (token, body[at - 1]) if "did you" in unknown_word(t.text))
    meant = next(near, None) or next(close, token)
    what = f"cannot read {meant.text!r} here; {unknown_word(meant.text)}"
    return text.error(meant.start, what)


@dataclass(frozen=True)
class Part:
    """One condition, or one thing that is selected, as the user wrote it."""

    text: str
    start: int  # offset in the text of the query
    meaning: exp.Expr  # its positions count from `start`


@dataclass(frozen=True)
class Query:
    """A query whose names are not yet looked up."""

    text: Text
    items: tuple[Part, ...]
    streams: From
    on: tuple[Part, ...]  # of inner joins it means the same as `where`
    where: tuple[Part, ...]
    clauses: Clauses
    end: int  # offset


def parse_query(text: str) -> Query:
    """Read a query, or say what is wrong with it and where.

    Examples
    --------
    >>> query = parse_query("SELECT b.x * 2 AS y FROM s a JOIN s b ON a.k = b.k WINDOW 5 MINUTES")
    >>> [source.alias for source in query.streams.sources], query.on[0].text, query.items[0].text
    (['a', 'b'], 'a.k = b.k', 'b.x * 2 AS y')
    >>> parse_query("SELECT a.x FROM a, b WHERE a.x = b.x FRESHNES 12 MINUTES")
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: query: line 1, column 38: cannot read 'FRESHNES' here; allowed:
    FROM, JOIN, ON, WHERE, WINDOW, ... (did you mean FRESHNESS?)
    """
    if not isinstance(text, str) or not text.strip():
        raise ConfigError.at("query", repr(text), "SELECT ... FROM ... WHERE ... WINDOW ...")
    whole = Text(text)
    statements = whole.statements()
    if len(statements) != 1:
        start = statements[1][0].start if statements else 0
        raise whole.error(start, f"{len(statements)} statements; allowed: one SELECT")
    return read_query(whole, statements[0])


def read_query(text: Text, tokens: Sequence[Token]) -> Query:
    """Read the query that some words of a text make up."""
    levels = list(depths(tokens))
    if tokens[0].token_type not in (TokenType.SELECT, TokenType.WITH):
        what = f"cannot read {tokens[0].text!r}; allowed: a query that begins with SELECT"
        raise text.error(tokens[0].start, what)
    from_at = _from_at(tokens, levels)
    end = first_clause(tokens, from_at or 0)
    body = tokens[:end]
    check_body(text, body)
    if from_at is None:
        raise text.error(tokens[-1].end + 1, "no FROM; allowed: SELECT ... FROM a, b ...")
    where_at = next(
        (i for i in range(from_at, end) if levels[i] == 0 and is_word(tokens[i], {"WHERE"})), end
    )
    hint = next((t for t in body[:from_at] if t.token_type == TokenType.HINT), None)
    streams = read_from(text, tokens[from_at + 1 : where_at])
    return Query(
        text=text,
        items=_items(text, tokens[2 if hint else 1 : from_at]),
        streams=streams,
        on=tuple(part for join in streams.joins for part in _parts(text, join.on)),
        where=tuple(_parts(text, tokens[where_at + 1 : end])),
        clauses=read_clauses(text, tokens[end:], hint),
        end=tokens[-1].end + 1,
    )


def _from_at(tokens: Sequence[Token], levels: Sequence[int]) -> int | None:
    """The FROM of the query: not that of IS DISTINCT FROM, nor one in parentheses."""
    for i, token in enumerate(tokens):
        after_distinct = i > 1 and is_word(tokens[i - 1], {"DISTINCT"})
        if levels[i] == 0 and is_word(token, {"FROM"}) and not after_distinct:
            return i
    return None


def _items(text: Text, tokens: Sequence[Token]) -> tuple[Part, ...]:
    items = listed(tokens)
    if not all(items):
        start = tokens[0].start if tokens else 0
        raise text.error(start, "SELECT with an empty place in its list; allowed: a, b, c")
    return tuple(Part(text.cut(item), item[0].start, _selected(text, item)) for item in items)


def _selected(text: Text, item: Sequence[Token]) -> exp.Expr:
    """What is selected; only behind a SELECT can it be a star or have a name of its own."""
    before = "SELECT "
    try:
        meaning = parse_one(f"{before}{text.cut(item)}", read="spark").expressions[0]
    except SqlglotError:
        raise _unreadable(text, item, "an expression") from None
    for part in meaning.walk():
        for end in {"start", "end"} & part.meta.keys():
            part.meta[end] -= len(before)
    return cast("exp.Expr", meaning)


def _parts(text: Text, tokens: Sequence[Token]) -> list[Part]:
    """What ANDs connect."""
    if not tokens:
        return []
    try:
        whole = parse_condition(text.cut(tokens))
    except SqlglotError:
        raise _unreadable(text, tokens, "a condition") from None
    return [
        Part(text.cut(words), words[0].start, meaning)
        for words, meaning in parts(text, tokens, whole)
    ]


def _unreadable(text: Text, tokens: Sequence[Token], what: str) -> Exception:
    words = f"cannot read {text.cut(tokens)!r} as {what}; allowed: SQL as Spark reads it"
    return text.error(tokens[0].start, words)
