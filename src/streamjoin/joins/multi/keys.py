"""Arguments that say something of each stream; which columns must be equal, from the user's `on`.

Columns that must be equal form *classes*: ``a.x = b.y`` and ``b.y = c.z`` make one of three. A join
of two sets of streams is on all classes that have columns on both sides.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeVar

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin.core.keys import can_be_key, comparable
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.columns import kind_name, position_of
from streamjoin.metrics.catalogue import PER_INPUT, many_stream_counters

OnMany = str | Sequence[str] | Mapping[str, str | Sequence[str]]
"""Columns that all streams have; or those of each stream; or equalities such as ``a.x = b.y``."""
Schemas = Mapping[str, pa.Schema]
T = TypeVar("T")
LookUp = Callable[[str, str], str]
"""From a stream and a name to the column's exact name."""

_NAME: Final = r"\s*(`(?:[^`]|``)*`|[^\s.=`]+)\s*"
_EQUALITY: Final = re.compile(rf"{_NAME}\.{_NAME}={{1,2}}{_NAME}\.{_NAME}")
_ALLOWED: Final = (
    'a column that all streams have, such as "k", a column for each stream, such as '
    '{"a": "x", "b": "y"}, or equalities, such as ["a.x = b.x", "b.y = c.z"]'
)


def check_streams(streams: object) -> None:
    """Refuse what is not a mapping of two streams or more, with usable names."""
    if not isinstance(streams, Mapping) or len(streams) < 2:
        got = f"{len(streams)} streams" if isinstance(streams, Mapping) else type(streams).__name__
        raise ConfigError.at("streams", got, 'a mapping of two or more, such as {"a": A, "b": B}')
    lower = [str(name).lower() for name in streams]
    for name in streams:
        usable = isinstance(name, str) and name.replace("_", "a").isalnum()
        if not usable or name.startswith("_") or lower.count(name.lower()) > 1:
            raise ConfigError.at(
                "streams",
                f"the name {name!r}",
                "letters, digits and _ (not first), different for each stream",
            )
    counters = Counter(many_stream_counters([name.lower() for name in streams]))
    for name in streams:
        for own in (f"{counted}_{name}" for counted in PER_INPUT):
            if counters[own.lower()] > 1:
                raise ConfigError.at(
                    "streams", f"the name {name!r}", f"another, as {own} counts something else"
                )


def stream_of(name: object, streams: Collection[str], argument: str) -> str:
    """The stream that a name means; upper and lower case are one."""
    for known in streams:
        if isinstance(name, str) and known.lower() == name.lower():
            return known
    close = get_close_matches(str(name), list(streams), n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ConfigError(f"{argument}: unknown stream {name!r}{hint}; allowed: {', '.join(streams)}")


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
    found: dict[str, T] = {}
    for name, one in value.items():
        stream = stream_of(name, streams, argument)
        if stream in found:
            raise ConfigError.at(argument, f"{stream!r} twice", "one for each stream")
        found[stream] = one
    return found


@dataclass(frozen=True)
class KeyClass:
    """Columns that must be equal: at most one of each stream, by name of the stream."""

    columns: Mapping[str, str]

    def describe(self) -> str:
        """In words."""
        return " = ".join(f"{stream}.{column}" for stream, column in self.columns.items())


@dataclass(frozen=True)
class Keys:
    """All classes."""

    classes: tuple[KeyClass, ...]  # each has columns of two streams at least
    shared: bool = False
    """Whether the streams call their columns the same, and these come out once."""

    def between(self, left: Iterable[str], right: Iterable[str]) -> tuple[int, ...]:
        """Numbers of the classes that have columns of both sides."""
        mine, others = set(left), set(right)
        return tuple(
            i
            for i, one in enumerate(self.classes)
            if mine & one.columns.keys() and others & one.columns.keys()
        )


def parse_on(
    on: OnMany, schemas: Schemas, *, may_be_cyclic: bool = False, naming: Naming = ANY_CASE
) -> Keys:
    """Read `on`, or say what is wrong with it.

    Equalities that form a cycle can only be checked by one n-ary join. In them a name that is no
    plain word stands in backquotes; elsewhere names are as they are.

    Examples
    --------
    >>> schema = pa.schema({"x": pa.int64(), "y": pa.int64()})
    >>> schemas = dict.fromkeys("abc", schema)
    >>> [one.describe() for one in parse_on(["a.x = b.x", "b.y = c.y"], schemas).classes]
    ['a.x = b.x', 'b.y = c.y']
    >>> [one.describe() for one in parse_on("x", schemas).classes]
    ['a.x = b.x = c.x']
    """

    def look_up(stream: str, column: str) -> str:
        schema = schemas[stream]
        return str(schema.names[position_of(schema, column, f"stream {stream!r}", "on", naming)])

    if isinstance(on, Mapping):
        classes, shared = _by_stream(on, schemas), False
    else:
        texts = [on] if isinstance(on, str) else list(on) if isinstance(on, list | tuple) else []
        if not texts or not all(isinstance(text, str) for text in texts):
            raise _wrong(on)
        known = [s.names for s in schemas.values()]
        shared = all(_is_column(text, known, naming) for text in texts)
        if shared:
            classes = [dict.fromkeys(schemas, text) for text in texts]
        else:
            classes = _united(_equality(text, schemas, look_up) for text in texts)
    found = tuple(KeyClass(_checked(one, schemas, look_up)) for one in classes)
    _refuse_twice(found)
    _refuse_disconnected(found, schemas)
    if not may_be_cyclic:
        _refuse_cycles(found, schemas)
    return Keys(found, shared)


def _is_column(text: str, known: Sequence[Sequence[str]], naming: Naming) -> bool:
    """Whether a text is meant as a column of all streams, and not as an equality."""
    there = [naming.find(names, text) is not None for names in known]
    return all(there) or not ("=" in text or ("." in text and not any(there)))


def _by_stream(on: Mapping[Any, Any], schemas: Schemas) -> list[dict[str, str]]:
    keys = for_some(on, list(schemas), "on")
    missing = [name for name in schemas if name not in keys]
    if missing:
        raise ConfigError.at("on", f"no column for {missing[0]!r}", "one for each stream")
    for name, value in keys.items():
        if not isinstance(value, str | list | tuple):
            raise ConfigError.at("on", f"{value!r} for {name!r}", "a column, or a list of columns")
    lists = {n: [v] if isinstance(v, str) else list(v) for n, v in keys.items()}
    lengths = {len(columns) for columns in lists.values()}
    if len(lengths) != 1 or 0 in lengths:
        raise ConfigError.at("on", repr(dict(on)), "as many columns of each stream")
    return [{name: lists[name][i] for name in schemas} for i in range(lengths.pop())]


def _equality(text: str, schemas: Schemas, look_up: LookUp) -> list[tuple[str, str]]:
    found = _EQUALITY.fullmatch(text)
    if found is None:
        raise _wrong(text)
    one, x, other, y = map(_unquoted, found.groups())
    streams = stream_of(one, schemas, "on"), stream_of(other, schemas, "on")
    ends = [(stream, look_up(stream, c)) for stream, c in zip(streams, (x, y), strict=True)]
    if ends[0][0] == ends[1][0]:
        raise ConfigError(f"on: {text!r} is about one stream; allowed: equalities between two")
    return ends


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _united(equalities: Iterable[list[tuple[str, str]]]) -> list[dict[str, str]]:
    """Classes of columns that are equal, directly or through others."""
    classes: list[dict[tuple[str, str], None]] = []
    for ends in equalities:
        touched = [one for one in classes if any(end in one for end in ends)]
        merged = dict.fromkeys(end for one in touched for end in one) | dict.fromkeys(ends)
        place = classes.index(touched[0]) if touched else len(classes)
        classes = [one for one in classes if one not in touched]
        classes.insert(place, merged)
    for one in classes:
        for stream, n in Counter(stream for stream, _ in one).items():
            if n > 1:
                first, second = (f"{stream}.{column}" for own, column in one if own == stream)
                raise ConfigError(
                    f"on: {first} and {second} must equal the same column; allowed: "
                    "one column of a stream (filter the stream first)"
                )
    return [dict(one.keys()) for one in classes]


def _checked(one: dict[str, str], schemas: Schemas, look_up: LookUp) -> dict[str, str]:
    """Columns by their exact names, of types that can be equal."""
    found = {name: look_up(name, column) for name, column in one.items()}
    fields = [(f"{n}.{c}", schemas[n].field(c).type) for n, c in found.items()]
    for name, kind in fields:
        if not can_be_key(kind):
            raise DataError(
                f"on: {name} has type {kind_name(kind)}; allowed: any type that can be compared "
                "for equality (maps cannot)"
            )
        if not comparable(fields[0][1], kind):
            raise DataError(
                f"on: {fields[0][0]} is {kind_name(fields[0][1])} and {name} is "
                f"{kind_name(kind)}; allowed: equal types (cast one of them)"
            )
    return found


def _refuse_twice(classes: Sequence[KeyClass]) -> None:
    columns = Counter(column for one in classes for column in one.columns.items())
    for column, n in columns.items():
        if n > 1:
            raise ConfigError.at("on", f"{'.'.join(column)} twice", "each column once")


def _refuse_disconnected(classes: Sequence[KeyClass], schemas: Schemas) -> None:
    names = list(schemas)
    reached = linked((one.columns for one in classes), names[0])
    apart = [name for name in names if name not in reached]
    if apart:
        here = ", ".join(name for name in names if name in reached)
        raise ConfigError(
            f"on: nothing says how {', '.join(apart)} and {here} are joined (that would be a cross "
            "join); allowed: equalities that connect all streams"
        )


def linked(groups: Iterable[Collection[T]], first: T) -> set[T]:
    """All that groups link to something, directly or through others."""
    known, reached, before = list(groups), {first}, 0
    while len(reached) > before:
        before = len(reached)
        reached.update(*(group for group in known if not reached.isdisjoint(group)))
    return reached


def _refuse_cycles(classes: Sequence[KeyClass], schemas: Schemas) -> None:
    """Refuse equalities that go round in a circle over different columns.

    Streams are edges over classes; what is left when ears are cut off is a cycle (the reduction of
    Graham, Yu and Ozsoyoglu).
    """
    edges = {name: {i for i, one in enumerate(classes) if name in one.columns} for name in schemas}
    before = None
    while edges != before:
        before = dict(edges)
        for name, held in before.items():
            others = [edges[other] for other in edges if other != name]
            shared = held.intersection(set().union(*others))
            if not others or any(shared <= other for other in others):
                del edges[name]
    if edges:
        raise ConfigError(
            f"on: the equalities of {', '.join(edges)} form a cycle; allowed: with "
            "strategy='mjoin', or equalities that do not (leave one out and filter the result)"
        )


def _wrong(on: object) -> ConfigError:
    return ConfigError(f"on: got {on!r}; allowed: {_ALLOWED}")
