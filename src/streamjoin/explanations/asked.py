"""What is known of the streams of joins: what the user says, and what a file says."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from streamjoin.errors import ConfigError
from streamjoin.joins.plans import AnyPlan
from streamjoin.workloads import GeneratedStream

if TYPE_CHECKING:
    from streamjoin.sql_text.query_plan import QueryPlan

Pair = tuple[float, float]
StreamRates = Mapping[str, float]
JoinRates = Pair | StreamRates
"""Rows per second (left, right) of two streams; by the name of the stream of many."""
Rates = JoinRates | Mapping[str, JoinRates] | None
"""Rates of a join; or such by the name of the join, where there are several."""
Selectivities = float | Mapping[str, float] | None
"""Share of the pairs of two inputs that match: of every join, or by its streams, as in "a b"."""

MAX_SAMPLED_ROWS: Final = 20_000
"""Of a stream: enough for some thousand matches of usual keys."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a generated stream: those that pass the stream's own filters."""

    rows: pa.Table
    rate: float  # rows per second that pass
    seconds: float  # over which the rows are spread
    stream: GeneratedStream

    @property
    def is_whole(self) -> bool:
        """Whether it has all rows of its time, and not some of them."""
        return self.stream.rate_per_second * self.seconds <= MAX_SAMPLED_ROWS


@dataclass(frozen=True)
class Sources:
    """What a pipeline file says of its streams besides the join."""

    names: tuple[str, ...] = ()  # in the order of the join
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # before the join
    samples: Mapping[str, Sample] = field(default_factory=dict)  # none unless all are generated

    @property
    def is_reflexive(self) -> bool:
        """Whether a stream is joined with itself, so that a row also meets itself."""
        streams = [sample.stream for sample in self.samples.values()]
        return len(set(streams)) < len(streams)

    @property
    def burst(self) -> float:
        """How many times as many rows as usual come at most."""
        bursts = (sample.stream.burst for sample in self.samples.values())
        return max((burst.times for burst in bursts if burst is not None), default=1.0)


NOTHING_KNOWN: Final = Sources()


@dataclass(frozen=True)
class Asked:
    """What a join is explained for."""

    cores: int
    rates: Any = None  # `JoinRates`, as the join's streams are: checked
    selectivities: Selectivities = None
    sources: Sources = NOTHING_KNOWN
    query: "QueryPlan | None" = None  # whose only join it is


def rates_by_join(rates: Rates, joins: Sequence[AnyPlan]) -> dict[str, JoinRates]:
    """Rows per second of the streams of each join, by its name; refused unless that is clear."""
    if rates is None:
        return {}
    known = {join.name: join for join in joins if join.inputs}
    if not known:
        raise ConfigError.at("rates", f"{rates!r} for a join with a table", "with joins of streams")
    by_name: Any = rates
    if not isinstance(rates, Mapping) or any(isinstance(r, int | float) for r in rates.values()):
        first = next(iter(known.values()))
        if len(known) > 1:
            form = "(left, right)" if first.stream_names is None else "{'a': 300, ...}"
            raise ConfigError.at(
                "rates", f"{rates!r} for {len(known)} joins", f"{{{first.name!r}: {form}}}"
            )
        by_name = {first.name: rates}
    for name, given in by_name.items():
        if name not in known:
            raise ConfigError.at("rates", f"a join {name!r}", ", ".join(known))
        _check_rates(given, known[name].stream_names)
    return dict(by_name)


def selectivities_by_join(
    selectivities: Selectivities, joins: Sequence[AnyPlan]
) -> dict[str, Selectivities]:
    """Selectivities of the one join that they can be of, by its name.

    That is the one of many streams, if there is one; what it is told is checked with its plan.
    """
    if selectivities is None:
        return {}
    streams = [join for join in joins if join.inputs]
    meant = [join for join in streams if join.stream_names is not None] or streams
    if len(meant) != 1:
        raise ConfigError.at(
            "selectivities", f"{selectivities!r} with {len(streams)} joins", "with one"
        )
    if meant[0].stream_names is None and not is_share(selectivities):
        raise ConfigError.at(
            "selectivities",
            f"{selectivities!r} with two streams",
            "the share of pairs that match, above 0 and up to 1",
        )
    return {meant[0].name: selectivities}


def _check_rates(rates: object, names: Sequence[str] | None) -> None:
    """Refuse rates that are not positive numbers: of two streams, or one for each of many."""
    if names is None:
        two = list(rates) if isinstance(rates, tuple | list) else []
        if len(two) != 2 or not all(isinstance(r, int | float) and 0 < r < math.inf for r in two):
            raise ConfigError.at("rates", repr(rates), "a pair (left, right) of rows per second")
        return
    given = rates if isinstance(rates, Mapping) else {}
    if set(given) != set(names) or not all(map(_is_positive, given.values())):
        example = ", ".join(f"{name!r}: 300" for name in names)
        raise ConfigError.at("rates", repr(rates), f"rows per second of each stream, {{{example}}}")


def _is_positive(rate: object) -> bool:
    return isinstance(rate, int | float) and not isinstance(rate, bool) and 0 < rate < math.inf


def is_share(sigma: object) -> bool:
    """Whether something is a number above 0 and up to 1."""
    return _is_positive(sigma) and sigma <= 1  # type: ignore[operator]  # a number
