"""Whether a tree or one n-ary join runs, and how: `strategy`, `order`, `selectivities`."""

from collections.abc import Mapping
from typing import Final, get_args

from streamjoin.errors import ConfigError
from streamjoin.joins.multi.keys import Keys
from streamjoin.joins.multi.settings import Strategy
from streamjoin.joins.multi.streams import stream_of
from streamjoin.planning.many.nary import ORDERS, Order, Sizes

STRATEGIES: Final[tuple[Strategy, ...]] = get_args(Strategy)
Selectivities = Mapping[str, float]
"""By names of streams, such as ``"a b"``: which part of all combinations of their rows match."""


def resolve_strategy(
    asked: str, order: str, given: Mapping[str, object], n_streams: int, one_key: bool
) -> tuple[Strategy, Order]:
    """What may run, or an error that names the argument.

    Parameters
    ----------
    asked, order
        The user's.
    given
        Other arguments that only a tree can fulfil, by name; None for those that were not given.
    n_streams, one_key
        How many streams there are, and whether one key joins all.

    Examples
    --------
    >>> resolve_strategy("auto", "adaptive", {"plan": None}, n_streams=3, one_key=True)
    ('auto', 'adaptive')
    >>> resolve_strategy("mjoin", "adaptive", {"plan": "(a b) c"}, n_streams=3, one_key=True)
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: strategy: got 'mjoin' with a plan; allowed: 'tree' or 'auto' \
(one n-ary join has none)
    """
    strategy = next((one for one in STRATEGIES if one == asked), None)
    if strategy is None:
        raise ConfigError.at("strategy", repr(asked), ", ".join(STRATEGIES))
    drives = next((one for one in ORDERS if one == order), None)
    if drives is None:
        raise ConfigError.at("order", repr(order), ", ".join(ORDERS))
    only_tree = next((name for name, value in given.items() if value is not None), None)
    if strategy == "mjoin" and only_tree is not None:
        raise ConfigError.at(
            "strategy",
            f"'mjoin' with {_said(only_tree)}",
            "'tree' or 'auto' (one n-ary join has none)",
        )
    if strategy == "auto" and (only_tree is not None or not one_key or n_streams == 2):
        strategy = "tree"
    if strategy == "tree" and drives != "adaptive":
        why = "strategy='tree'" if asked == "tree" else "two streams"
        if only_tree is not None:
            why = _said(only_tree)
        elif asked == "auto" and not one_key:
            why = "joins on different keys"
        raise ConfigError.at(
            "order",
            f"{order!r} with {why}",
            "'adaptive' (only an n-ary join, strategy='mjoin', has inputs that drive one after the"
            " other)",
        )
    return strategy, drives


def resolve_sizes(selectivities: Selectivities | None, names: list[str]) -> Sizes | None:
    """What the user knows of the streams, or an error that names the argument.

    Examples
    --------
    >>> sizes = resolve_sizes({"a b": 0.01, "b c": 0.001}, ["a", "b", "c"])
    >>> sizes.selectivity(frozenset([0, 1]))
    0.01
    """
    if selectivities is None:
        return None
    if not isinstance(selectivities, Mapping) or not selectivities:
        raise ConfigError.at(
            "selectivities", repr(selectivities), 'a mapping such as {"a b": 0.001}'
        )
    found: dict[frozenset[int], float] = {}
    for label, sigma in selectivities.items():
        known = dict.fromkeys(names)
        words = [stream_of(word, known, "selectivities") for word in str(label).split()]
        streams = frozenset(names.index(word) for word in words)
        is_number = isinstance(sigma, int | float) and not isinstance(sigma, bool)
        if len(words) != len(streams) or len(streams) < 2 or streams in found:
            raise ConfigError.at("selectivities", repr(label), "two streams or more, each set once")
        if not is_number or not 0 <= sigma <= 1:
            raise ConfigError.at("selectivities", f"{sigma!r} for {label!r}", "numbers from 0 to 1")
        found[streams] = float(sigma)
    _refuse_apart(found, names)
    return Sizes.given(found, len(names))


def attributes_of(keys: Keys, inputs: list[tuple[str, list[str]]]) -> tuple[dict[int, int], ...]:
    """For each class of equal columns, the position in each input that has one.

    `inputs` are names of streams and of their columns. In what order the user says what must be
    equal does not matter.
    """
    found = (
        {
            number: columns.index(one.columns[name])
            for number, (name, columns) in enumerate(inputs)
            if name in one.columns
        }
        for one in keys.classes
    )
    return tuple(sorted(found, key=lambda one: list(one.items())))


def _said(argument: str) -> str:
    return argument if argument.endswith("s") else f"a {argument}"


def _refuse_apart(found: Mapping[frozenset[int], float], names: list[str]) -> None:
    reached, grew = {0}, True
    pairs = [streams for streams in found if len(streams) == 2]
    while grew:
        new = {i for pair in pairs if pair & reached for i in pair} - reached
        reached |= new
        grew = bool(new)
    apart = next((name for i, name in enumerate(names) if i not in reached), None)
    if apart is not None:
        raise ConfigError.at(
            "selectivities",
            f"none that links {apart!r} to {names[0]!r}",
            f"pairs such as '{names[0]} {apart}' that link all streams",
        )
