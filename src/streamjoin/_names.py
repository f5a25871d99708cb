"""Names of columns: how SQL has them, and which of them are one to Spark."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")


def backquoted(name: str) -> str:
    """A name as Spark's SQL has it, whatever is in it.

    Examples
    --------
    >>> backquoted("a.b"), backquoted("a`b")
    ('`a.b`', '`a``b`')
    """
    return "`" + name.replace("`", "``") + "`"


def quoted(name: str) -> str:
    """The same, without backquotes where SQL needs none.

    Examples
    --------
    >>> quoted("a"), quoted("my stream")
    ('a', '`my stream`')
    """
    return name if _PLAIN.fullmatch(name) else backquoted(name)


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The name that may have been meant, if one is close, with letters of either case.

    Examples
    --------
    >>> nearest("Ammount", ["id", "amount"]), nearest("x", ["id", "amount"])
    ('amount', None)
    """
    lower = {known.lower(): known for known in names}
    close = get_close_matches(name.lower(), lower, n=1)
    return lower[close[0]] if close else None


@dataclass(frozen=True)
class Naming:
    """Which names are one: as Spark is set, and that is with letters of either case by default.

    Examples
    --------
    >>> Naming().find(["k", "t"], "K"), Naming(case_sensitive=True).find(["k", "t"], "K")
    (0, None)
    >>> Naming().twice(["k", "t", "K"]), Naming(case_sensitive=True).twice(["k", "t", "K"])
    (('k', 'K'), None)
    """

    case_sensitive: bool = False

    def fold(self, name: str) -> str:
        """What names that are one have in common."""
        if self.case_sensitive:
            return name
        return name.lower() if name.isascii() else "".join(map(_either_case, name))

    def same(self, one: str, other: str) -> bool:
        """Whether two names are one."""
        return self.fold(one) == self.fold(other)

    def find(self, names: Sequence[str], name: object) -> int | None:
        """Position of a name, spelled exactly so if possible; None if it is not there."""
        if not isinstance(name, str):
            return None
        exact = (i for i, known in enumerate(names) if known == name)
        alike = (i for i, known in enumerate(names) if self.same(known, name))
        return next(exact, next(alike, None))

    def twice(self, names: Iterable[str]) -> tuple[str, str] | None:
        """The first two names that are one; None if all differ."""
        seen: dict[str, str] = {}
        for name in names:
            folded = self.fold(name)
            if folded in seen:
                return seen[folded], name
            seen[folded] = name
        return None


ANY_CASE: Final = Naming()
"""Spark's default."""


def _either_case(letter: str) -> str:
    """A letter as Java compares it where case is ignored: letter by letter, never two for one."""
    upper = letter.upper()
    return (upper if len(upper) == 1 else letter).lower()[0]
