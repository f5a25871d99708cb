"""The text of a query: its words, and where in it something is wrong."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from sqlglot import Token, TokenType, tokenize
from sqlglot.errors import SqlglotError

from streamjoin.errors import ConfigError, StreamJoinError
from streamjoin.sql_text.conjuncts import cut

_CLOSED: Final = re.compile(
    r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`|--[^\n]*|/\*.*?\*/|[^'"`/]|/(?!\*))*""",
    re.DOTALL,
)
_QUOTED: Final = (TokenType.STRING, TokenType.IDENTIFIER)
_SIMPLE: Final = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Text:
    r"""The text as the user wrote it.

    Parameters
    ----------
    text
        All of it; offsets count from its start.
    argument
        What an error calls it.

    Examples
    --------
    >>> print(Text("SELECT x\nFROM y").error(14, "unknown stream 'y'"))
    query: line 2, column 6: unknown stream 'y'
    """

    text: str
    argument: str = "query"

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
        found: list[list[Token]] = [[]]
        for token in tokens:
            if token.token_type == TokenType.SEMICOLON:
                found.append([])
            else:
                found[-1].append(token)
        return [statement for statement in found if statement]


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


def listed(tokens: Sequence[Token], levels: Sequence[int]) -> list[list[Token]]:
    """What commas separate, outside of parentheses."""
    found: list[list[Token]] = [[]]
    for token, level in zip(tokens, levels, strict=True):
        if token.token_type == TokenType.COMMA and level == 0:
            found.append([])
        else:
            found[-1].append(token)
    return found


def allowed(names: Collection[str], got: str) -> str:
    """Which names there are, and which one may have been meant.

    Examples
    --------
    >>> allowed(["nyc", "tokyo"], "tokio")
    'allowed: nyc, tokyo (did you mean tokyo?)'
    """
    lower = {name.lower(): name for name in names}
    close = get_close_matches(got.lower(), lower, n=1)
    hint = f" (did you mean {lower[close[0]]}?)" if close and close[0] != got.lower() else ""
    return f"allowed: {', '.join(names)}{hint}"
