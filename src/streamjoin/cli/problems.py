"""Mistakes in a pipeline file, as sentences that name the key and what is allowed there."""

from collections.abc import Collection, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticCustomError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

MISSING_HERE = "missing_here"
"""Kind of our own mistake: a key that only the values of other keys make necessary."""
OWN_WORDS = "own_words"
"""Kind of our own mistake whose message says all: values that do not go together."""


def own_words(words: str) -> PydanticCustomError:
    """A mistake whose message says all."""
    return PydanticCustomError(OWN_WORDS, "{words}", {"words": words})


def describe(table: str, error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    """Put each mistake in a table of the file into a line ``key `a.b`: got X; allowed: Y``."""
    seen = set()
    for problem in error.errors():
        key, what = _located(table, problem, problem["loc"], model)
        if key not in seen:  # a union reports a wrong value once per member
            seen.add(key)
            yield f"key `{key}`: {what}"


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


def _located(
    table: str, problem: Any, place: tuple[int | str, ...], model: type[BaseModel]
) -> tuple[str, str]:
    """The key of a mistake, and what is wrong there; tables within the table have keys too."""
    aliases = {name: field.alias or name for name, field in model.model_fields.items()}
    fields = {aliases[name]: field for name, field in model.model_fields.items()}
    first = str(place[0])
    name = aliases.get(first, first)  # an absent key is reported under the field's name
    inner = _table(fields[name]) if name in fields else None
    if inner is not None and len(place) > 1:
        return _located(f"{table}.{name}", problem, place[1:], inner)
    return f"{table}.{name}", _what_is_wrong(problem, name, fields)


def _table(field: "FieldInfo") -> type[BaseModel] | None:
    """The model of a field that can only be a table, or absent."""
    kinds = [kind for kind in get_args(field.annotation) if kind is not type(None)]
    alone = kinds[0] if len(kinds) == 1 else None
    return alone if isinstance(alone, type) and issubclass(alone, BaseModel) else None


def _what_is_wrong(problem: Any, name: str, fields: "dict[str, FieldInfo]") -> str:
    if problem["type"] == "extra_forbidden":
        return unknown_name(name, fields)
    allowed = fields[name].description
    if problem["type"] == "missing":
        return f"missing; allowed: {allowed}"
    if problem["type"] in (MISSING_HERE, OWN_WORDS):
        return str(problem["msg"])
    return f"got {problem['input']!r}; allowed: {allowed}"
