"""What a pipeline file may say of Kafka's topics."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field

from streamjoin.cli.options import OPTIONS, Options
from streamjoin.cli.problems import own_words
from streamjoin.cli.sections import SELECT, SINK_TYPES, SOURCE_TYPES, Section

_ADDRESS: Final = r"(\[[0-9a-fA-F:]+\]|[\w.-]+):\d{1,5}"
_SERVERS: Any = Field(
    pattern=rf"^{_ADDRESS}(,{_ADDRESS})*$",
    description='an address such as "broker:9092", or several with commas between them',
)
_TOPIC: Any = Field(
    pattern=r"^[a-zA-Z0-9._-]{1,249}$",
    description="the name of a topic: letters, digits, dots, underscores and hyphens",
)
_KEYS: Final = {
    "kafka.bootstrap.servers": "servers",
    "subscribe": "topic",
    "subscribepattern": "topic",
    "assign": "topic",
    "topic": "topic",
    "startingoffsets": "starting",
    "maxoffsetspertrigger": "max_rows_per_trigger",
}
"""Options of Spark that are keys of their own here."""


def _no_keys(options: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in options:
        if name.lower() in _KEYS:
            words = f"got {name!r}; allowed: the key {_KEYS[name.lower()]} in place of it"
            raise own_words(words)
    return options


KafkaOptions = Annotated[Options, AfterValidator(_no_keys)]


class KafkaSourceSection(Section):
    """``[sources.NAME]`` with ``type = "kafka"``: a topic whose values are JSON objects."""

    type: Literal["kafka"] = Field(description=SOURCE_TYPES)
    servers: str = _SERVERS
    topic: str = _TOPIC
    ddl: str = Field(
        alias="schema",
        min_length=1,
        description='the columns of the JSON values, such as "id BIGINT, at TIMESTAMP"',
    )
    starting: Literal["earliest", "latest"] = Field("earliest", description="earliest, latest")
    max_rows_per_trigger: int | None = Field(None, ge=1, description="a whole number, 1 or more")
    options: KafkaOptions = OPTIONS
    select: tuple[str, ...] = SELECT

    def spark_options(self) -> dict[str, Any]:
        """All of it as options of Spark's source."""
        most = self.max_rows_per_trigger
        return {
            **self.options,
            "kafka.bootstrap.servers": self.servers,
            "subscribe": self.topic,
            "startingOffsets": self.starting,
            **({} if most is None else {"maxOffsetsPerTrigger": most}),
        }


class KafkaSinkSection(Section):
    """``[sink]`` with ``type = "kafka"``: a message for each result."""

    type: Literal["kafka"] = Field(description=SINK_TYPES)
    servers: str = _SERVERS
    topic: str = _TOPIC
    pair_id: bool = Field(
        True,
        strict=True,
        description="true or false: whether the key of a message is its result's pair id",
    )
    options: KafkaOptions = OPTIONS

    @property
    def path(self) -> None:
        """A topic has none."""

    def spark_options(self) -> dict[str, Any]:
        """All of it as options of Spark's sink."""
        own = {"kafka.bootstrap.servers": self.servers, "topic": self.topic}
        return {**self.options, **own}
