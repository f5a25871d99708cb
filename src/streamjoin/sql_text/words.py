"""The text of a query or of a condition: its words, its parts, and where something is wrong."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from sqlglot import Token, TokenType, exp, parse_one, tokenize
from sqlglot.errors import ParseError, SqlglotError

from streamjoin._names import nearest
from streamjoin.errors import ConfigError, StreamJoinError

_CLOSED: Final = re.compile(
    r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^'"`/]|/(?!\*))*""",
    re.DOTALL,
)
_QUOTED: Final = (TokenType.STRING, TokenType.IDENTIFIER)
_OPEN: Final = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSE: Final = (TokenType.R_PAREN, TokenType.R_BRACKET)
_SIMPLE: Final = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Text:
    r"""The text as the user wrote it.

    Examples
    --------
    >>> print(Text("SELECT x\nFROM y").error(14, "unknown stream 'y'"))
    query: line 2, column 6: unknown stream 'y'
    """

    text: str
    argument: str = "query"  # what an error calls it

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1 on."""
        line = self.text.count("\n", 0, offset) + 1
        return line, offset - self.text.rfind("\n", 0, offset)

    def error(
        self, offset: int, what: str, kind: type[StreamJoinError] = ConfigError
    ) -> StreamJoinError:
        """An error that points at an offset."""
        line, column = self.place(offset)
        return kind(f"{self.argument}: line {line}, column {column}: {what}")

    def cut(self, tokens: Sequence[Token]) -> str:
        """The text of some words, without comments around them."""
        return self.text[tokens[0].start : tokens[-1].end + 1]

    def tokens(self) -> list[Token]:
        """All words."""
        return tokenize(self.text, read="spark")

    def statements(self) -> list[list[Token]]:
        """The words of each statement; semicolons part them."""
        try:
            tokens = self.tokens()
        except SqlglotError:
            closed = _CLOSED.match(self.text)
            what = "a quote or a comment that is not closed; allowed: closed ones"
            raise self.error(closed.end() if closed else 0, what) from None
        parts = groupby(tokens, lambda token: token.token_type == TokenType.SEMICOLON)
        return [list(words) for is_end, words in parts if not is_end]


def is_word(token: Token, words: Collection[str]) -> bool:
    """Whether a token is one of some words (in capitals), and not in quotes.

    Examples
    --------
    >>> [is_word(token, {"WINDOW"}) for token in tokenize("window 'window'")]
    [True, False]
    """
    return token.token_type not in _QUOTED and token.text.upper() in words


def is_name(token: Token) -> bool:
    """Whether a token can name a stream or a column."""
    return token.token_type == TokenType.IDENTIFIER or (
        token.token_type != TokenType.STRING and bool(_SIMPLE.fullmatch(token.text))
    )


def listed(tokens: Sequence[Token]) -> list[list[Token]]:
    """What commas separate, outside of parentheses."""
    items: list[list[Token]] = [[]]
    for token, level in zip(tokens, depths(tokens), strict=True):
        if token.token_type == TokenType.COMMA and level == 0:
            items.append([])
        else:
            items[-1].append(token)
    return items


def allowed(names: Collection[str], got: str) -> str:
    """Which names there are, and which one may have been meant.

    Examples
    --------
    >>> allowed(["nyc", "tokyo"], "tokio")
    'allowed: nyc, tokyo (did you mean tokyo?)'
    """
    close = nearest(got, names)
    hint = f" (did you mean {close}?)" if close and close.lower() != got.lower() else ""
    return f"allowed: {', '.join(names)}{hint}"


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


def parse_condition(text: str) -> exp.Expr:
    """What a condition means."""
    return parse_one(text, read="spark", into=exp.Condition)


def parts(
    text: Text, tokens: Sequence[Token], whole: exp.Expr
) -> list[tuple[Sequence[Token], exp.Expr]]:
    """The words of each part with their meaning; the whole if they do not tell the parts apart.

    Positions in the meaning count from the part's first word.

    Examples
    --------
    >>> text = Text("a > 1 AND (b BETWEEN 2 AND 3)")
    >>> [text.cut(words) for words, _ in parts(text, text.tokens(), parse_one(text.text))]
    ['a > 1', 'b BETWEEN 2 AND 3']
    """
    groups = list(_split(tokens))
    try:
        conditions = [parse_condition(text.cut(group)) for group in groups] if all(groups) else []
    except (ParseError, RecursionError):
        conditions = []
    if [condition.unnest() for condition in conditions] != list(_flat(whole)):
        return [(tokens, whole)]
    return list(zip(groups, conditions, strict=True))


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


def _flat(condition: exp.Expr) -> Iterator[exp.Expr]:
    """What ANDs connect, in whatever parentheses."""
    bare = condition.unnest()
    if not isinstance(bare, exp.And):
        yield bare
        return
    for part in bare.flatten():
        yield from _flat(part)
