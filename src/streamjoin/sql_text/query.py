"""A query taken apart by its words: what is selected, from which streams, where, and clauses.

Reading order: `query_text` (words and places), `clauses` (what standard SQL does not have),
`query_refusals` (what streams do not have), `query_from` (the streams), this module (the whole),
`query_columns` (what names mean), `query_places` (where each condition is evaluated), `query_plan`
(what becomes of the whole), `query_script` (files of several statements).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import Token, TokenType, exp, parse_one
from sqlglot.errors import SqlglotError

from streamjoin.errors import ConfigError
from streamjoin.sql_text.clauses import Clauses, first_clause, read_clauses
from streamjoin.sql_text.conjuncts import depths, parts
from streamjoin.sql_text.query_from import From, read_from
from streamjoin.sql_text.query_refusals import check_body
from streamjoin.sql_text.query_text import Text, is_word, listed


@dataclass(frozen=True)
class Part:
    """One condition, or one thing that is selected.

    Parameters
    ----------
    text
        As the user wrote it.
    start
        Offset of its first letter in the query's text.
    meaning
        What sqlglot made of it; its positions count from `start`.
    """

    text: str
    start: int
    meaning: exp.Expr


@dataclass(frozen=True)
class Query:
    """A query whose names are not yet looked up.

    Parameters
    ----------
    text
        The whole text, for places.
    items
        What is selected.
    streams
        Where from.
    on
        Conditions of ON; those of inner joins are the same as those of `where`.
    where
        Conditions of WHERE.
    clauses
        WINDOW and the others.
    end
        Offset of the end.
    """

    text: Text
    items: tuple[Part, ...]
    streams: From
    on: tuple[Part, ...]
    where: tuple[Part, ...]
    clauses: Clauses
    end: int


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
        msg = f"query: got {text!r}; allowed: SELECT ... FROM ... WHERE ... WINDOW ..."
        raise ConfigError(msg)
    whole = Text(text)
    statements = whole.statements()
    if len(statements) != 1:
        start = statements[1][0].start if statements else 0
        raise whole.error(start, f"{len(statements)} statements; allowed: one SELECT")
    return read_query(whole, statements[0])


def read_query(text: Text, tokens: Sequence[Token]) -> Query:
    """Read the query that some words of a text make up."""
    levels = list(depths(tokens))
    begin = tokens[0].token_type
    if begin not in (TokenType.SELECT, TokenType.WITH):
        what = f"cannot read {tokens[0].text!r}; allowed: a query that begins with SELECT"
        raise text.error(tokens[0].start, what)
    from_at = _from_at(tokens, levels)
    end = first_clause(tokens, from_at if from_at is not None else 0)
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
    found = []
    for item in listed(tokens, list(depths(tokens))) if tokens else [[]]:
        if not item:
            start = tokens[0].start if tokens else 0
            raise text.error(start, "SELECT with an empty place in its list; allowed: a, b, c")
        said = text.cut(item)
        found.append(Part(said, item[0].start, _selected(text, item)))
    return tuple(found)


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
        whole = parse_one(text.cut(tokens), read="spark", into=exp.Condition)
    except SqlglotError:
        raise _unreadable(text, tokens, "a condition") from None
    return [
        Part(text.cut(words), words[0].start, meaning)
        for words, meaning in parts(text.text, tokens, whole)
    ]


def _unreadable(text: Text, tokens: Sequence[Token], what: str) -> Exception:
    words = f"cannot read {text.cut(tokens)!r} as {what}; allowed: SQL as Spark reads it"
    return text.error(tokens[0].start, words)
