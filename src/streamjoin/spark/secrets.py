"""Values that are never shown: whoever says what went wrong leaves them out."""

import re
from typing import Final

_HIDDEN: Final = "***"
_PASSWORD: Final = re.compile(
    r"""(?:password|secret)\s*=\s*(?:"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)'|([^\s;"']+))""",
    re.IGNORECASE,
)
_SHORTEST: Final = 4
"""Characters: what is shorter is in many words, and to hide it there would tell it."""
_kept: Final[set[str]] = set()


def keep(value: str) -> str:
    """Remember that a value is secret, and so are the passwords in it; return it."""
    parts = {value, *(part for found in _PASSWORD.findall(value) for part in found)}
    _kept.update(part for part in parts if len(part) >= _SHORTEST)
    return value


def hide(text: str) -> str:
    """A text without secret values.

    Examples
    --------
    >>> _ = keep('PlainLoginModule required username="ada" password="t0ps3cret";')
    >>> hide("login of ada with t0ps3cret failed")
    'login of ada with *** failed'
    """
    for value in sorted(_kept, key=len, reverse=True):
        text = text.replace(value, _HIDDEN)
    return text
