"""A SQL condition taken apart at its ANDs, each part as far as it is understood."""

from collections.abc import Iterator, Sequence
from typing import Final

from sqlglot import Token, TokenType, exp, parse_one, tokenize
from sqlglot.errors import ParseError, SqlglotError

from streamjoin.core.predicate import Expression
from streamjoin.core.predicate.build import NotUnderstoodError
from streamjoin.errors import ConfigError
from streamjoin.sql_text.columns import Columns, names
from streamjoin.sql_text.translate import Translator, set_functions

Conjunct = tuple[int, int] | Expression | str
"""Positions of two columns that are equal and can be keys, a condition, or text for Spark."""

REFUSED: Final[dict[str, tuple[type, ...]]] = {
    "a subquery": (exp.Query,),
    "a window function": (exp.Window,),
    "an aggregate function": (exp.AggFunc,),
    "a function that makes rows": (exp.UDTF,),
    "a placeholder": (exp.Placeholder, exp.Parameter),
    "a star": (exp.Star,),
}
_ALLOWED: Final = "a condition on one pair of rows, such as 'left.x < right.y'"
_OPEN: Final = {TokenType.L_PAREN, TokenType.L_BRACKET}
_CLOSE: Final = {TokenType.R_PAREN, TokenType.R_BRACKET}


def conjuncts(text: str, columns: Columns, time_zone: str | None) -> list[Conjunct]:
    """The parts of a condition that must all hold.

    Examples
    --------
    >>> import pyarrow as pa
    >>> schema = pa.schema({"k": pa.string(), "x": pa.int64()})
    >>> columns = Columns((schema, schema))
    >>> key, bound, rest = conjuncts(
    ...     "left.k = right.k AND left.x > 3 AND rand() < 0.5", columns, None)
    >>> key, bound.describe(), rest
    ((0, 0), 'left.x > 3', 'rand() < 0.5')
    """
    tokens = _tokens(text)
    whole = _parse(cut(text, tokens))
    _refuse(whole)
    for name in names(whole):
        columns.find(name)
    translator = Translator(columns, time_zone)
    return [
        _conjunct(text, words, condition, columns, translator)
        for words, condition in parts(text, tokens, whole)
    ]


def _conjunct(
    text: str,
    words: Sequence[Token],
    condition: exp.Expr,
    columns: Columns,
    translator: Translator,
) -> Conjunct:
    equality = columns.equality(condition)
    if equality is not None:
        return equality
    try:
        if _is_special(text, words):
            raise NotUnderstoodError
        return translator.conjunct(condition)
    except NotUnderstoodError:
        said = cut(text, words)
        _refuse_sets(said, condition)
        return columns.qualified(said, condition)


def _is_special(text: str, words: Sequence[Token]) -> bool:
    """Whether there are escapes or variables, which are Spark's business; names have no escapes."""
    others = (cut(text, [word]) for word in words if word.token_type != TokenType.IDENTIFIER)
    return "${" in cut(text, words) or any("\\" in other for other in others)


def _refuse_sets(text: str, condition: exp.Expr) -> None:
    """Refuse a condition that neither the join nor Spark can evaluate."""
    name = next(set_functions(condition), None)
    if name is not None:
        raise ConfigError(
            f"where: {text!r} has parts that only Spark can evaluate, and Spark has no {name}; "
            f"allowed: {name} with comparisons, arithmetic, AND, OR, NOT"
        )


def parts(
    text: str, tokens: Sequence[Token], whole: exp.Expr
) -> list[tuple[Sequence[Token], exp.Expr]]:
    """The words of each part with their meaning; the whole if they do not tell the parts apart.

    Positions in the meaning count from the part's first word.

    Examples
    --------
    >>> text = "a > 1 AND (b BETWEEN 2 AND 3)"
    >>> [cut(text, words) for words, _ in parts(text, tokenize(text), parse_one(text))]
    ['a > 1', 'b BETWEEN 2 AND 3']
    """
    groups = list(_split(tokens))
    try:
        conditions = [_parse(cut(text, group)) for group in groups] if all(groups) else []
    except ConfigError:
        conditions = []
    if [_bare(condition) for condition in conditions] != list(_flat(whole)):
        return [(tokens, whole)]
    return list(zip(groups, conditions, strict=True))


def _tokens(text: str) -> list[Token]:
    try:
        tokens = tokenize(text, read="spark")
    except SqlglotError:
        raise _unreadable(text) from None
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens or any(token.token_type == TokenType.SEMICOLON for token in tokens):
        raise ConfigError.at("where", repr(text), "one condition, such as 'left.x < right.y'")
    return tokens


def _parse(text: str) -> exp.Expr:
    try:
        return parse_one(text, read="spark", into=exp.Condition)
    except ParseError as error:
        near = error.errors[0].get("highlight") if error.errors else None
        raise _unreadable(text, f" near {near!r}" if near else "") from None
    except RecursionError:
        raise _unreadable(text, " with so many levels") from None


def _unreadable(text: str, place: str = "") -> ConfigError:
    return ConfigError(f"where: cannot read {text!r} as SQL{place}; allowed: {_ALLOWED}")


def _refuse(condition: exp.Expr) -> None:
    for what, kinds in REFUSED.items():
        node = condition.find(*kinds)
        if node is not None:
            raise ConfigError(f"where: {node.sql('spark')} is {what}; allowed: {_ALLOWED}")


def cut(text: str, tokens: Sequence[Token]) -> str:
    """The text of some tokens, without comments around them."""
    return text[tokens[0].start : tokens[-1].end + 1]


def _split(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Parts between the ANDs that hold the whole together, in whatever parentheses."""
    levels = list(depths(tokens))
    enclosed = len(tokens) > 2 and 0 not in levels[:-1]
    if enclosed and tokens[0].token_type == TokenType.L_PAREN:
        yield from _split(tokens[1:-1])
        return
    ands, in_between = list[int](), 0
    for i, (token, depth) in enumerate(zip(tokens, levels, strict=True)):
        if depth > 0:
            continue
        if token.token_type == TokenType.OR:
            ands = []
            break
        if token.token_type == TokenType.BETWEEN:
            in_between += 1
        elif token.token_type == TokenType.AND and in_between:
            in_between -= 1
        elif token.token_type == TokenType.AND:
            ands.append(i)
    if not ands:
        yield tokens
        return
    for start, end in zip([-1, *ands], [*ands, len(tokens)], strict=True):
        yield from _split(tokens[start + 1 : end])


def depths(tokens: Sequence[Token]) -> Iterator[int]:
    """How many parentheses and CASEs are open after each token."""
    depth, n_cases, before = 0, 0, None
    for token in tokens:
        kind = token.token_type
        if before != TokenType.DOT:  # else the word is a name
            n_cases += (kind == TokenType.CASE) - (kind == TokenType.END and n_cases > 0)
        depth += (kind in _OPEN) - (kind in _CLOSE)
        before = kind
        yield depth + n_cases


def _bare(condition: exp.Expr) -> exp.Expr:
    return _bare(condition.this) if isinstance(condition, exp.Paren) else condition


def _flat(condition: exp.Expr) -> Iterator[exp.Expr]:
    """What the ANDs connect."""
    condition = _bare(condition)
    if not isinstance(condition, exp.And):
        yield condition
        return
    for part in condition.flatten():
        yield from _flat(part)
