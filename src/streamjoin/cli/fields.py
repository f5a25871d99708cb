"""How the keys of a pipeline file are checked, and what is said of a mistake.

A line names the key and what is allowed there: the description of its field. Options of Spark's
formats may have their values in the environment; such a value is never shown.
"""

import os
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, NoReturn, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from streamjoin.budget import Budget
from streamjoin.durations import parse_duration

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

_OWN_WORDS: Final = "own_words"
"""Kind of a mistake whose message says all: of values that do not go together, for one."""


class Section(BaseModel):
    """A table of the file: no unknown keys, no change after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def allowed(what: str, default: Any = ..., **more: Any) -> Any:
    """A field, by what is allowed there: a wrong value is answered with it."""
    return Field(default, description=what, **more)


def refuse(words: str) -> NoReturn:
    """Refuse a value with a message that says all."""
    raise PydanticCustomError(_OWN_WORDS, "{words}", {"words": words})


def check_duration(text: str, *, least_us: int = 0) -> str:
    """Refuse a duration that is negative, or shorter than so much."""
    if parse_duration(text, "duration") < least_us:
        raise ValueError(text)
    return text


def _check_size(text: str) -> str:
    Budget(memory=text)
    return text


Duration = Annotated[str, AfterValidator(check_duration)]
PositiveDuration = Annotated[str, AfterValidator(partial(check_duration, least_us=1))]
Size = Annotated[str, AfterValidator(_check_size)]


def describe(table: str, error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    """Put each mistake in a table of the file into a line ``key `a.b`: got X; allowed: Y``."""
    seen = set()
    for problem in error.errors():
        key, what = _located(table, problem, problem["loc"], model)
        if key not in seen:  # a union reports a wrong value once per member
            seen.add(key)
            yield f"key `{key}`: {what}"


def unknown_name(name: str, known: Collection[str]) -> str:
    """Say that a name is not known, and which one it may have been.

    Examples
    --------
    >>> unknown_name("windw", ["on", "window"])
    'unknown; did you mean `window`? allowed: on, window'
    """
    close = get_close_matches(name, known, n=1)
    hint = f"did you mean `{close[0]}`? " if close else ""
    return f"unknown; {hint}allowed: {', '.join(known)}"


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
    if problem["type"] == _OWN_WORDS:
        return str(problem["msg"])
    got = "missing" if problem["type"] == "missing" else f"got {problem['input']!r}"
    return f"{got}; allowed: {fields[name].description}"


@dataclass(frozen=True)
class FromEnvironment:
    """``{ env = "NAME" }``: a value that is taken from the environment, and never shown."""

    name: str

    def read(self) -> str:
        """The value; from now on errors leave it out."""
        from streamjoin.spark.failures import keep

        return keep(os.environ.get(self.name, ""))


Option = str | bool | int | float | FromEnvironment


def check_variable(name: str) -> str:
    """Refuse the name of a variable that is not set.

    What does not look like a name may be the secret itself, so it is not shown.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        refuse("got no name of a variable (not shown); allowed: letters, digits and underscores")
    if not os.environ.get(name):
        refuse(f"got {name!r}, which is not set; allowed: an environment variable that is")
    return name


def _check_options(options: object) -> object:
    if not isinstance(options, Mapping):
        return options
    checked = dict(options)
    for name, value in options.items():
        if isinstance(value, Mapping) and set(value) == {"env"} and isinstance(value["env"], str):
            checked[name] = FromEnvironment(check_variable(value["env"]))
        elif not isinstance(value, str | int | float | FromEnvironment):
            kinds = 'text, a number, true or false, or { env = "NAME" }'
            refuse(f"got a {type(value).__name__} for {name!r}; allowed: {kinds}")
    return checked


Options = Annotated[dict[str, Any], BeforeValidator(_check_options)]
OPTIONS: Any = Field(default_factory=dict, description="a table of the Spark format's options")


def option_text(value: object) -> str:
    """Write a value the way Spark reads it.

    Examples
    --------
    >>> option_text(True), option_text(3)
    ('true', '3')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def texts(options: Mapping[str, Option]) -> dict[str, str]:
    """Options the way Spark reads them.

    Examples
    --------
    >>> texts({"header": True, "maxFilesPerTrigger": 3})
    {'header': 'true', 'maxFilesPerTrigger': '3'}
    """
    return {
        name: value.read() if isinstance(value, FromEnvironment) else option_text(value)
        for name, value in options.items()
    }


def secret_names(options: Mapping[str, Option]) -> list[str]:
    """The options whose values are in the environment."""
    return [name for name, value in options.items() if isinstance(value, FromEnvironment)]
