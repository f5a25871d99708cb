"""Goes through the words of a statement, one after the other."""

from collections.abc import Sequence
from typing import NoReturn

from sqlglot import Token, TokenType

from streamjoin.sql_text.clauses_values import amount
from streamjoin.sql_text.conjuncts import depths
from streamjoin.sql_text.query_text import Text, is_name, is_word


class Reader:
    """A place in the words of a statement.

    Examples
    --------
    >>> text = Text("EVERY 2 SECONDS FOR 1 DAY")
    >>> reader = Reader(text, text.statements()[0])
    >>> reader.accept("EVERY"), reader.duration("EVERY", "FOR"), reader.sees("FOR")
    (True, '2 SECONDS', True)
    >>> reader.name("a colour")
    'FOR'
    >>> reader.name("a colour")
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: query: line 1, column 21: got '1'; allowed: a colour
    """

    def __init__(self, text: Text, tokens: Sequence[Token]) -> None:
        self.text = text
        self.tokens = tokens
        self.at = 0

    @property
    def here(self) -> Token | None:
        """The next word; None at the end."""
        return self.tokens[self.at] if self.at < len(self.tokens) else None

    @property
    def offset(self) -> int:
        """Where the next word begins, or where the last one ends."""
        return self.tokens[-1].end + 1 if self.here is None else self.here.start

    def sees(self, *words: str) -> bool:
        """Whether one of some words comes next."""
        return self.here is not None and is_word(self.here, words)

    def sees_text(self) -> bool:
        """Whether text in quotes comes next."""
        return self.here is not None and self.here.token_type == TokenType.STRING

    def accept(self, *words: str) -> bool:
        """Pass one of some words, if one comes next."""
        seen = self.sees(*words)
        self.at += seen
        return seen

    def fail(self, allowed: str) -> NoReturn:
        """Say that the next word is none that is allowed here."""
        got = "the end" if self.here is None else repr(self.here.text)
        raise self.text.error(self.offset, f"got {got}; allowed: {allowed}")

    def name(self, allowed: str) -> str:
        """Pass a name."""
        token = self.here
        if token is None or not is_name(token):
            self.fail(allowed)
        self.at += 1
        return token.text

    def text_in_quotes(self) -> str:
        """Pass text in quotes."""
        if not self.sees_text():
            self.fail("text in quotes, such as 'out/matches'")
        self.at += 1
        return self.tokens[self.at - 1].text

    def name_or_text(self, allowed: str) -> str:
        """Pass a name, in quotes or not."""
        return self.text_in_quotes() if self.sees_text() else self.name(allowed)

    def until(self, *words: str) -> list[Token]:
        """Pass what comes before one of some words."""
        begin = self.at
        while self.at < len(self.tokens) and not self.sees(*words):
            self.at += 1
        return list(self.tokens[begin : self.at])

    def parenthesis(self) -> list[Token] | None:
        """Pass what is in parentheses, if they come next."""
        if self.here is None or self.here.token_type != TokenType.L_PAREN:
            return None
        rest = self.tokens[self.at :]
        end = next((i for i, level in enumerate(depths(rest)) if level == 0), None)
        if end is None:
            raise self.text.error(self.offset, "a parenthesis that is not closed; allowed: )")
        self.at += end + 1
        return list(rest[1:end])

    def duration(self, word: str, *until: str) -> str:
        """Pass a duration, up to one of some words."""
        tokens = self.until(*until)
        if not tokens:
            self.fail(f"a duration behind {word}, such as {word} 10 SECONDS")
        return str(amount(self.text, word, tokens, may_be_rows=False))
