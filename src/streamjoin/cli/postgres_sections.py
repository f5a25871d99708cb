"""What a pipeline file may say of a database: its address, and a table for results."""

import os
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from streamjoin.cli.options import check_variable
from streamjoin.cli.problems import own_words
from streamjoin.cli.sections import SINK_TYPES, Section

URI_ENV: Any = Field(
    None, min_length=1, description="the name of an environment variable that has the address"
)
URI: Any = Field(
    None,
    repr=False,
    validate_default=True,
    description='an address such as "postgresql://user@host/database"',
)


def _is_set(name: str | None) -> str | None:
    return name if name is None else check_variable(name)


def only_address(*others: str) -> BeforeValidator:
    """Refuse an address beside one of these keys, and none at all; it is never shown."""

    def check(uri: object, info: ValidationInfo) -> object:
        if uri is not None and not isinstance(uri, str):
            words = 'got no text; allowed: an address such as "postgresql://user@host/database"'
            raise own_words(words)
        said = [name for name in others if info.data.get(name, True) is not None]
        said += [] if uri is None else ["uri"]
        if len(said) != 1:
            came = " and ".join(said) or "no address"
            words = f"got {came}; allowed: one of {', '.join(('uri', *others))}"
            raise own_words(words)
        return uri

    return BeforeValidator(check)


UriEnv = Annotated[str | None, AfterValidator(_is_set)]


class PostgresSinkSection(Section):
    """``[sink]`` with ``type = "postgres"``: a table of PostgreSQL.

    A password may be in an address, so no value of `uri` is ever shown.
    """

    type: Literal["postgres"] = Field(description=SINK_TYPES)
    uri_env: UriEnv = URI_ENV
    uri: Annotated[str | None, only_address("uri_env")] = URI
    table: str = Field(
        pattern=r"^[^.]+(\.[^.]+)?$",
        description='the table\'s name in the database, such as "public.pairs"',
    )
    pair_id: Annotated[bool, Field(strict=True)] | Annotated[str, Field(min_length=1)] = Field(
        True, description="true, false, or the name of the column for the pair id"
    )

    @property
    def path(self) -> None:
        """A table has none."""

    @property
    def address(self) -> str:
        """The address, from wherever it comes."""
        return self.uri or os.environ.get(self.uri_env or "", "")
