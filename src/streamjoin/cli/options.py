"""Options of Spark's formats in a pipeline file; their values may be in the environment."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from streamjoin.cli.problems import own_words

_ALLOWED = 'text, a number, true or false, or { env = "NAME" }'


@dataclass(frozen=True)
class FromEnvironment:
    """``{ env = "NAME" }``: a value that is taken from the environment, and never shown."""

    name: str

    def read(self) -> str:
        """The value; from now on errors leave it out."""
        from streamjoin.spark.secrets import keep

        return keep(os.environ.get(self.name, ""))


Option = str | bool | int | float | FromEnvironment


def check_variable(name: str) -> str:
    """Refuse the name of a variable that is not set.

    What does not look like a name may be the secret itself, so it is not shown.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        words = "got no name of a variable (not shown); allowed: letters, digits and underscores"
        raise own_words(words)
    if not os.environ.get(name):
        words = f"got {name!r}, which is not set; allowed: an environment variable that is"
        raise own_words(words)
    return name


def _checked(options: object) -> object:
    if not isinstance(options, Mapping):
        return options
    return {name: _option(name, value) for name, value in options.items()}


def _option(name: str, value: object) -> object:
    if isinstance(value, str | int | float | FromEnvironment):
        return value
    if isinstance(value, Mapping) and set(value) == {"env"} and isinstance(value["env"], str):
        return FromEnvironment(check_variable(value["env"]))
    words = f"got a {type(value).__name__} for {name!r}; allowed: {_ALLOWED}"
    raise own_words(words)


Options = Annotated[dict[str, Any], BeforeValidator(_checked)]
OPTIONS: Any = Field(default_factory=dict, description="a table of the Spark format's options")


def texts(options: Mapping[str, Option]) -> dict[str, str]:
    """Options the way Spark reads them.

    Examples
    --------
    >>> texts({"header": True, "maxFilesPerTrigger": 3})
    {'header': 'true', 'maxFilesPerTrigger': '3'}
    """
    return {name: _text(value) for name, value in options.items()}


def _text(value: Option) -> str:
    if isinstance(value, FromEnvironment):
        return value.read()
    return option_text(value)


def option_text(value: object) -> str:
    """Write a value the way Spark reads it.

    Examples
    --------
    >>> option_text(True), option_text(3)
    ('true', '3')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def secret_names(options: Mapping[str, Option]) -> list[str]:
    """The options whose values are in the environment."""
    return [name for name, value in options.items() if isinstance(value, FromEnvironment)]
