"""How an explanation is written: titles at the left, sentences folded beside them."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

WIDTH: Final = 100
INDENT: Final = 17


def section(title: str, texts: Sequence[str | None]) -> Iterator[str]:
    r"""A title with its lines; nothing if there are none.

    Examples
    --------
    >>> print(*section("index", ["by key", "then compared"]), sep="\n")
      index          by key
                     then compared
    """
    for number, text in enumerate(text for text in texts if text is not None):
        head = f"  {title if number == 0 else '':<{INDENT - 2}}"
        yield from wrapped(head, " " * INDENT, text)


def drawn(title: str, lines: Sequence[str]) -> Iterator[str]:
    """A title with lines that keep their form: what is too long goes on where its text begins."""
    for number, line in enumerate(lines):
        head = f"  {title if number == 0 else '':<{INDENT - 2}}"
        text = line.lstrip(" |`+-")
        marks = line[: len(line) - len(text)]
        more = marks.replace("`", " ").replace("+", "|").replace("-", " ")
        yield from wrapped(head + marks, " " * INDENT + more + "  ", text)


def wrapped(head: str, indent: str, text: str) -> list[str]:
    """A paragraph within the width."""
    wrapper = textwrap.TextWrapper(WIDTH, head, indent, break_long_words=False)
    wrapper.break_on_hyphens = False
    return wrapper.wrap(text)
