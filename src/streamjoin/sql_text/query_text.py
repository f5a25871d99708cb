"""The text of a query: its words, and where in it something is wrong."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from sqlglot import Token, TokenType, tokenize
from sqlglot.errors import SqlglotError

from streamjoin._names import nearest
from streamjoin.errors import ConfigError, StreamJoinError
from streamjoin.sql_text.conjuncts import cut, depths

_CLOSED: Final = re.compile(
    r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^'"`/]|/(?!\*))*""",
    re.DOTALL,
)
_QUOTED: Final = (TokenType.STRING, TokenType.IDENTIFIER)
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
        return cut(self.text, tokens)

    def statements(self) -> list[list[Token]]:
        """The words of each statement; semicolons part them."""
        try:
            tokens = tokenize(self.text, read="spark")
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
