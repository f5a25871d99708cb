"""Arguments that say something of each stream: one value for all, or a mapping by name."""

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, TypeVar

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin.errors import ConfigError
from streamjoin.joins.columns import position_of
from streamjoin.metrics.catalogue import PER_INPUT, many_stream_counters

T = TypeVar("T")
_RESERVED: Final = "_"


def check_streams(streams: object) -> None:
    """Refuse what is not a mapping of two streams or more, with usable names."""
    if not isinstance(streams, Mapping) or len(streams) < 2:
        got = f"{len(streams)} streams" if isinstance(streams, Mapping) else type(streams).__name__
        raise ConfigError.at("streams", got, 'a mapping of two or more, such as {"a": A, "b": B}')
    lower = [str(name).lower() for name in streams]
    for name in streams:
        usable = isinstance(name, str) and name.replace("_", "a").isalnum()
        if not usable or name.startswith(_RESERVED) or lower.count(name.lower()) > 1:
            raise ConfigError.at(
                "streams",
                f"the name {name!r}",
                "letters, digits and _ (not first), different for each stream",
            )
    counters = Counter(many_stream_counters([name.lower() for name in streams]))
    for name in streams:
        own = next(
            (f"{x}_{name}" for x in PER_INPUT if counters[f"{x}_{name}".lower()] > 1),
            None,
        )
        if own is not None:
            raise ConfigError.at(
                "streams", f"the name {name!r}", f"another, as {own} counts something else"
            )


def stream_of(name: object, streams: Mapping[str, Any], argument: str) -> str:
    """The stream that a name means; upper and lower case are one."""
    for known in streams:
        if isinstance(name, str) and known.lower() == name.lower():
            return known
    close = get_close_matches(str(name), list(streams), n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ConfigError(f"{argument}: unknown stream {name!r}{hint}; allowed: {', '.join(streams)}")


def column_of(
    schema: pa.Schema, name: object, stream: str, argument: str, naming: Naming = ANY_CASE
) -> str:
    """The exact name of a column, or an error that names the argument."""
    position = position_of(schema, name, f"stream {stream!r}", argument, naming)
    return str(schema.names[position])


def for_each(value: T | Mapping[str, T], streams: Sequence[str], argument: str) -> dict[str, T]:
    """A value for each stream.

    Examples
    --------
    >>> for_each("10 s", ["a", "b"], "window")
    {'a': '10 s', 'b': '10 s'}
    >>> for_each({"a": "10 s"}, ["a", "b"], "window")
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: window: got none for 'b'; allowed: one for each stream
    """
    if not isinstance(value, Mapping):
        return dict.fromkeys(streams, value)
    given = for_some(value, streams, argument)
    missing = next((name for name in streams if name not in given), None)
    if missing is not None:
        raise ConfigError.at(argument, f"none for {missing!r}", "one for each stream")
    return {name: given[name] for name in streams}


def for_some(value: Mapping[str, T], streams: Sequence[str], argument: str) -> dict[str, T]:
    """Values for some of the streams."""
    known = dict.fromkeys(streams)
    found: dict[str, T] = {}
    for name, one in value.items():
        stream = stream_of(name, known, argument)
        if stream in found:
            raise ConfigError.at(argument, f"{stream!r} twice", "one for each stream")
        found[stream] = one
    return found
