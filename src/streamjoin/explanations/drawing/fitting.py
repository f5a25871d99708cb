"""How wide words are, about: a drawing must not depend on the fonts of the machine that makes it.

Widths are those of common sans-serif fonts, a little on the safe side.
"""

import re
import unicodedata
from typing import Final

ELLIPSIS: Final = "\u2026"
_NARROW: Final = frozenset("ijlftI.,:;'|!()[]{}`/\\ \"-")
_WIDE: Final = frozenset("mwMW@%")
# What XML 1.0 has no place for: a name may come from anywhere.
_ILLEGAL: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    r"""Text in one line, without what XML cannot hold.

    Examples
    --------
    >>> clean("a\x00b\n  c")
    'a\ufffdb c'
    """
    return " ".join(_ILLEGAL.sub("\ufffd", text).split())


def width(text: str, size: float) -> float:
    """About how wide text of a size is.

    Examples
    --------
    >>> width("ill", 10) < width("mom", 10) < width("\u6f22\u5b57\u6f22", 10)
    True
    """
    return size * sum(map(_share, text))


def _share(char: str) -> float:
    """Width of a character as a part of the font's size."""
    if char in _NARROW:
        return 0.36
    if char in _WIDE or unicodedata.east_asian_width(char) in "WF":
        return 1.02
    return 0.72 if char.isupper() else 0.6


def cut(text: str, size: float, room: float) -> str:
    """Text that fits, with an ellipsis where some is cut off.

    Examples
    --------
    >>> cut("a name that is far too long", 10, 80)
    'a name that is\u2026'
    >>> cut("short", 10, 80)
    'short'
    """
    if width(text, size) <= room:
        return text
    while text and width(text + ELLIPSIS, size) > room:
        text = text[:-1]
    return text.rstrip() + ELLIPSIS


def wrap(text: str, size: float, room: float, most: int) -> list[str]:
    """Text in lines that fit, at most so many; the last is cut.

    Examples
    --------
    >>> wrap("one two three four", 10, 60, most=2)
    ['one two', 'three four']
    >>> wrap("one two three four five six", 10, 60, most=2)
    ['one two', 'three four\u2026']
    """
    lines: list[str] = []
    words = text.split()
    while words:
        if len(lines) == most - 1:
            return [*lines, cut(" ".join(words), size, room)]
        line = words.pop(0)
        while words and width(f"{line} {words[0]}", size) <= room:
            line = f"{line} {words.pop(0)}"
        lines.append(cut(line, size, room))
    return lines
