"""What a pipeline file may say where a stream is joined with a table."""

from typing import Annotated, Literal

from pydantic import Field, field_validator

from streamjoin.cli.postgres_sections import URI, URI_ENV, UriEnv, only_address
from streamjoin.cli.problems import own_words
from streamjoin.cli.sections import BudgetSection, Duration, Section

TYPES = "parquet, sql, postgres, generator"
KEY = Field(description='a column such as "id", or a list of columns')
COPY = Field(
    False,
    alias="copy",
    description="true or false: whether rows are copied beside the index, uncompressed",
)
UNIQUE = Field(False, description="true or false: whether no key is in the table twice")
COLUMNS = Field(
    None,
    description='a list of the table\'s columns such as ["name"], or a table such as '
    '{ name = "customer_name" }; or absent',
)

Key = str | list[str]
FrontShare = Annotated[float, Field(ge=0, lt=1, strict=True)]


class ParquetSection(Section):
    """``[table]`` with ``type = "parquet"``: a folder of Parquet files."""

    type: Literal["parquet"] = Field(description=TYPES)
    path: str = Field(min_length=1, description="a folder of Parquet files, or a file")
    key: Key = KEY
    unique: bool = UNIQUE
    is_copied: bool = COPY

    @property
    def name(self) -> str:
        """What the table is called on the screen."""
        return self.path.rstrip("/").rpartition("/")[2] or self.path


class SqlSection(Section):
    """``[table]`` with ``type = "sql"`` or ``"postgres"``: a table in a database.

    A password may be in an address, so no value of `uri` is ever shown.
    """

    type: Literal["sql", "postgres"] = Field(description=TYPES)
    uri_env: UriEnv = URI_ENV
    path: str | None = Field(None, min_length=1, description="the file of an SQLite database")
    uri: Annotated[str | None, only_address("uri_env", "path")] = URI
    table: str = Field(min_length=1, description="the table's name in the database")
    key: Key = KEY
    unique: bool = UNIQUE
    version: str | None = Field(
        None, min_length=1, description='SQL such as "max(updated_at)"; or absent'
    )
    rows_per_partition: int = Field(10_000, ge=1, description="a whole number, 1 or more")

    @property
    def name(self) -> str:
        """What the table is called on the screen."""
        return self.table


class GeneratorTableSection(Section):
    """``[table]`` with ``type = "generator"``: made-up people, in Parquet files that are kept."""

    type: Literal["generator"] = Field(description=TYPES)
    path: str = Field(min_length=1, description="a folder for the Parquet files")
    rows: int = Field(100_000, ge=1, le=100_000_000, description="1 to 100000000")
    seed: int = Field(0, ge=0, description="a whole number, 0 or more")
    is_copied: bool = COPY

    @property
    def name(self) -> str:
        """What the table is called on the screen."""
        return "people"


TableSection = ParquetSection | SqlSection | GeneratorTableSection


class TableJoinSection(Section):
    """``[join]`` beside ``[table]``: the arguments of `streamjoin.table_join`."""

    on: str | list[str] | dict[str, str] = Field(
        description="a column of the stream, a list of columns, or a table such as "
        "{ customer = \"id\" } from the stream's columns to the table's"
    )
    how: Literal["inner", "left"] = Field("inner", description="inner, left")
    columns: list[str] | dict[str, str] | None = COLUMNS
    budget: BudgetSection | None = Field(
        None, description='a table such as { memory = "256 MB" }; or absent'
    )
    algorithm: Literal[
        "auto", "inlj", "cinlj", "meshjoin", "cmeshjoin", "hybridjoin", "chybridjoin"
    ] = Field("auto", description="auto, inlj, cinlj, meshjoin, cmeshjoin, hybridjoin, chybridjoin")
    shed: Literal["considering", "upfront"] = Field(
        "considering", description="considering, upfront"
    )
    front_share: FrontShare | None = Field(
        None, description="a part of the memory, 0 or more and less than 1; or absent"
    )
    max_wait: Duration | None = Field(
        None, description='a duration such as "10 seconds"; or absent'
    )
    refresh: Literal["never"] | Duration = Field(
        "1 minute", description='a duration such as "1 minute", or "never"'
    )
    on_failure: Literal["fail", "stale"] = Field("fail", description="fail, stale")
    max_staleness: Duration = Field("10 minutes", description='a duration such as "10 minutes"')
    index_folder: str | None = Field(
        None, min_length=1, description="a folder on this machine; or absent"
    )
    shards: int | None = Field(None, ge=1, description="a whole number, 1 or more; or absent")

    @field_validator("budget")
    @classmethod
    def _is_of_bytes(cls, budget: BudgetSection | None) -> BudgetSection | None:
        if budget is not None and (budget.rate or not isinstance(budget.memory, str)):
            said = budget.made().describe()
            words = f'got {said}; allowed with a table: memory = "256 MB" and the like, and cpu'
            raise own_words(words)
        return budget
