"""What a query over streams cannot have, and text that is no SQL."""

import re
from collections.abc import Sequence
from typing import Final

from sqlglot import Token, TokenType, exp, parse_one
from sqlglot.errors import ParseError, SqlglotError

from streamjoin.sql_text.clauses import is_misspelt, unknown_word
from streamjoin.sql_text.query_text import Text

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


def check_body(text: Text, body: Sequence[Token]) -> None:
    """Have sqlglot read what is standard SQL; refuse what streams do not have."""
    start = body[0].start
    before = re.sub(r"[^\n]", " ", text.text[:start])  # so that sqlglot counts as we do
    try:
        whole = parse_one(before + text.cut(body), read="spark")
    except SqlglotError as error:
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
            raise text.error(_offset(node), words)


def _offset(node: exp.Expr) -> int:
    """Where a part of what sqlglot read begins: its first name or value tells."""
    return min((int(part.meta["start"]) for part in node.walk() if "start" in part.meta), default=0)


def _unreadable(text: Text, body: Sequence[Token], error: SqlglotError) -> Exception:
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
