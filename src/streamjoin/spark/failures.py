"""Spark's errors, condensed to the sentence that a user can act on; secret values are left out."""

import logging
import re
from typing import Final

from streamjoin import errors

PREFIXES = (
    r"\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ",
    r"(?:[\w$]+\.)+[\w$]*(?:Exception|Error): ",  # a Java class name
    r"Job aborted due to stage failure: Task .*? failed \d+ times?, most recent failure: .*?: ",
    r"SQLSTATE: \w+.*$",  # where in the SQL text may follow
)
FULL = "No space left on device"
VAGUE = ".UNCATEGORIZED]"
"""Spark's word for a failure whose cause says more than it does."""

_HIDDEN: Final = "***"
_PASSWORD: Final = re.compile(
    r"""(?:password|secret)\s*=\s*(?:"((?:[^"\\]|\\.)+)"|'((?:[^'\\]|\\.)+)'|([^\s;"']+))""",
    re.IGNORECASE,
)
_SHORTEST: Final = 4
"""Characters: what is shorter is in many words, and to hide it there would tell it."""
_kept: Final[set[str]] = set()


def root_cause(error: BaseException) -> str:
    r"""Sentence at the root of an error: without class names, states and stack traces.

    Examples
    --------
    >>> root_cause(RuntimeError("[STREAM_FAILED] Query [id = 1, runId = 2] terminated with "
    ...     "exception: disk full SQLSTATE: XXKST\n\tat org.apache.spark.Foo.bar(Foo.scala)"))
    'disk full'
    >>> root_cause(ValueError())
    'ValueError'
    """
    text = str(error).strip()
    stack = getattr(error, "_stackTrace", None) or ""  # of Java, where PySpark keeps it to itself
    line = (
        _last_python_error(text)
        or _mistake(text)
        or _last_java_cause(text)
        or text.partition("\n")[0]
    )
    if VAGUE in line:
        line = _last_java_cause(stack) or line
    for prefix in PREFIXES:
        line = re.sub(prefix, "", line).strip()
    if FULL in text or FULL in stack:
        line = (
            f"a disk is full ({line}); make room where the checkpoint, the results and Spark's "
            "local folder are, and start again: nothing is lost"
        )
    return hide(line) or type(error).__name__


def _last_python_error(text: str) -> str | None:
    r"""Last line of the last Python traceback, where the exception and its message stand.

    Examples
    --------
    >>> _last_python_error("Traceback (most recent call last):\n  File x\nKeyError: 'a'\n\tat y")
    "KeyError: 'a'"
    """
    _, found, traceback = text.rpartition("Traceback (most recent call last):")
    if not found:
        return None
    line = next((line for line in traceback.splitlines() if line[:1].strip()), "")
    name, _, message = line.partition(": ")
    ours = getattr(errors, name.rpartition(".")[2], None)
    return message if ours is not None and message else line


def _mistake(text: str) -> str | None:
    r"""Spark's own sentence about a query that is wrong, which says more than what it met inside.

    Examples
    --------
    >>> _mistake("An error occurred.\n: org.x.Foo: [NO_SOURCE] No source: x. SQLSTATE: 42K02\n")
    '[NO_SOURCE] No source: x. SQLSTATE: 42K02'
    """
    found = re.search(r"\[[A-Z0-9_.]+\] [^\n]* SQLSTATE: 42\w*", text)
    return found[0] if found else None


def _last_java_cause(text: str) -> str | None:
    causes = re.findall(r"^Caused by: (.+)$", text, re.MULTILINE)
    return causes[-1] if causes else None


def hush() -> None:
    """Keep PySpark from logging the Java stack of each mistake in a query; the error says enough.

    Examples
    --------
    >>> hush()
    """
    from pyspark.logger import PySparkLogger

    for context in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(context).setLevel(logging.CRITICAL)


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
