"""A query taken apart by its words: what is selected, from which streams, where, and clauses.

Reading order: `query_text` (words and places), `clauses` (what standard SQL does not have),
`query_from` (the streams), this module (the whole), `query_columns` (what names mean),
`query_plan` (where each condition is evaluated), `query_script` (files of several statements).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from sqlglot import Token, TokenType, exp, parse_one
from sqlglot.errors import ParseError

from streamjoin.errors import ConfigError
from streamjoin.joins.sql.clauses import Clauses, first_clause, read_clauses, unknown_word
from streamjoin.joins.sql.conjuncts import depths, parts
from streamjoin.joins.sql.query_from import From, read_from
from streamjoin.joins.sql.query_text import Text, is_word, listed

_DO: Final = "apply it to the DataFrame that sj.sql returns"
_REFUSED: Final[dict[str, tuple[TokenType, str]]] = {
    "with_": (TokenType.WITH, "WITH; allowed: streams by their names (make the DataFrame first)"),
    "distinct": (TokenType.DISTINCT, f"DISTINCT; allowed: none ({_DO})"),
    "group": (TokenType.GROUP_BY, f"GROUP BY; allowed: none ({_DO})"),
    "having": (TokenType.HAVING, f"HAVING; allowed: none ({_DO})"),
    "order": (TokenType.ORDER_BY, f"ORDER BY; allowed: none ({_DO})"),
    "sort": (TokenType.SORT_BY, f"SORT BY; allowed: none ({_DO})"),
    "limit": (TokenType.LIMIT, f"LIMIT; allowed: none ({_DO})"),
    "offset": (TokenType.OFFSET, f"OFFSET; allowed: none ({_DO})"),
    "laterals": (TokenType.LATERAL, "LATERAL; allowed: streams by their names"),
    "windows": (TokenType.WINDOW, f"a named window; allowed: none ({_DO})"),
}  # fmt: skip
_KINDS: Final[dict[str, tuple[type, ...]]] = {
    "a subquery": (exp.Query,),
    "a window function": (exp.Window,),
    "an aggregate function": (exp.AggFunc,),
    "a placeholder": (exp.Placeholder, exp.Parameter),
}
_SETS: Final = (TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT)
_KNOWN: Final = {"kind", "hint", "expressions", "from_", "joins", "where", "operation_modifiers"}


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
    _check_body(text, body)
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


def _check_body(text: Text, body: Sequence[Token]) -> None:
    """Have sqlglot read what is standard SQL; refuse what streams do not have."""
    start = body[0].start
    try:
        whole = parse_one(text.cut(body), read="spark")
    except ParseError as error:
        raise _unreadable(text, body, error) from None
    except RecursionError:
        raise text.error(start, "too many levels; allowed: fewer") from None
    if isinstance(whole, exp.SetOperation):
        token = next(token for token in body if token.token_type in _SETS)
        what = f"{token.text.upper()}; allowed: one SELECT ({_DO})"
        raise text.error(token.start, what)
    for name, value in whole.args.items():
        if value and name not in _KNOWN:
            kind, what = _REFUSED.get(name, (None, f"{name.upper()}; allowed: none"))
            token = next((token for token in body if token.token_type == kind), body[0])
            raise text.error(token.start, what)
    for what, kinds in _KINDS.items():
        node = next((n for n in whole.walk() if isinstance(n, kinds) and n is not whole), None)
        if node is not None:
            words = f"{node.sql('spark')} is {what}; allowed: none ({_DO})"
            raise text.error(start + _offset(node), words)


def _offset(node: exp.Expr) -> int:
    """Where a part of what sqlglot read begins: its first name or value tells."""
    return min((int(part.meta["start"]) for part in node.walk() if "start" in part.meta), default=0)


def _unreadable(text: Text, body: Sequence[Token], error: ParseError) -> Exception:
    problem = error.errors[0] if error.errors else {}
    place = problem.get("line"), problem.get("col")
    at = next((i for i, t in enumerate(body) if (t.line, t.col) == place), len(body) - 1)
    token = body[at]
    description = str(problem.get("description", ""))
    if "Unexpected" not in description and "Required" not in description:
        what = f"cannot read on after {token.text!r}: {description.lower()}"
        return text.error(token.start, f"{what}; allowed: SQL as Spark reads it")
    meant = next((t for t in (token, body[at - 1]) if "did you" in unknown_word(t.text)), token)
    what = f"cannot read {meant.text!r} here; {unknown_word(meant.text)}"
    return text.error(meant.start, what)


def _items(text: Text, tokens: Sequence[Token]) -> tuple[Part, ...]:
    found = []
    for item in listed(tokens, list(depths(tokens))) if tokens else [[]]:
        if not item:
            start = tokens[0].start if tokens else 0
            raise text.error(start, "SELECT with an empty place in its list; allowed: a, b, c")
        said = text.cut(item)
        found.append(Part(said, item[0].start, _selected(said)))
    return tuple(found)


def _selected(said: str) -> exp.Expr:
    """What is selected; only behind a SELECT can it be a star or have a name of its own."""
    before = "SELECT "
    meaning = parse_one(f"{before}{said}", read="spark").expressions[0]
    for part in meaning.walk():
        for end in {"start", "end"} & part.meta.keys():
            part.meta[end] -= len(before)
    return cast("exp.Expr", meaning)


def _parts(text: Text, tokens: Sequence[Token]) -> list[Part]:
    """What ANDs connect."""
    if not tokens:
        return []
    whole = parse_one(text.cut(tokens), read="spark", into=exp.Condition)
    return [
        Part(text.cut(words), words[0].start, meaning)
        for words, meaning in parts(text.text, tokens, whole)
    ]
