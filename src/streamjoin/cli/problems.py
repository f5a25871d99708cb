"""Mistakes in a pipeline file, as sentences that name the key and what is allowed there."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

MISSING_HERE = "missing_here"
"""Kind of our own mistake: a key that only the values of other keys make necessary."""


def describe(table: str, error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    """Put each mistake in a table of the file into a line ``key `a.b`: got X; allowed: Y``."""
    aliases = {name: field.alias or name for name, field in model.model_fields.items()}
    fields = {aliases[name]: field for name, field in model.model_fields.items()}
    seen = set()
    for problem in error.errors():
        first = str(problem["loc"][0])
        name = aliases.get(first, first)  # an absent key is reported under the field's name
        if name not in seen:  # a union reports a wrong value once per member
            seen.add(name)
            yield f"key `{table}.{name}`: {_what_is_wrong(problem, name, fields)}"


def unknown_name(name: str, allowed: Collection[str]) -> str:
    """Say that a name is not known, and which one it may have been.

    Examples
    --------
    >>> unknown_name("windw", ["on", "window"])
    'unknown; did you mean `window`? allowed: on, window'
    """
    close = get_close_matches(name, allowed, n=1)
    hint = f"did you mean `{close[0]}`? " if close else ""
    return f"unknown; {hint}allowed: {', '.join(allowed)}"


def _what_is_wrong(problem: Any, name: str, fields: "dict[str, FieldInfo]") -> str:
    if problem["type"] == "extra_forbidden":
        return unknown_name(name, fields)
    allowed = fields[name].description
    if problem["type"] == "missing":
        return f"missing; allowed: {allowed}"
    if problem["type"] == MISSING_HERE:
        return str(problem["msg"])
    return f"got {problem['input']!r}; allowed: {allowed}"
