"""What a metric is, and the ways in which numbers become its samples."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, Generic, Literal, TypeVar

from streamjoin.metrics.prometheus.seen import DURATIONS, JoinSeen
from streamjoin.metrics.windows import BasicWindows

Seen = TypeVar("Seen")
Sample = tuple[str, dict[str, str], float]
"""What is added to the name of the metric, labels, value."""

Samples = Callable[[Seen], Iterator[Sample]]
Span = Literal["total", "recent", "last"]
"""All batches, those of the last minute, the last one: see `JoinSeen`."""

QUANTILES: Final = (0.5, 0.95, 1.0)


@dataclass(frozen=True)
class Family(Generic[Seen]):
    """A metric.

    Parameters
    ----------
    name
        As it is served; of a histogram and a summary without the endings of its parts.
    kind
        Prometheus's type.
    text
        What it means.
    samples
        The numbers, from what was seen; none where they have no meaning.
    labels
        Besides the query and the join.
    """

    name: str
    kind: Literal["counter", "gauge", "histogram", "summary"]
    text: str
    samples: Samples[Seen]
    labels: tuple[str, ...] = ()


def single(value: Callable[[Seen], float | None]) -> Samples[Seen]:
    """One number, or none."""

    def samples(seen: Seen) -> Iterator[Sample]:
        found = value(seen)
        if found is not None:
            yield "", {}, found

    return samples


def plain(span: Span, name: str) -> Samples[JoinSeen]:
    """A field of `JoinMetrics`.

    Examples
    --------
    >>> from streamjoin.metrics import JoinMetrics
    >>> seen = JoinSeen()
    >>> seen.add(JoinMetrics(pairs=7))
    >>> list(plain("total", "pairs")(seen)), list(plain("last", "behind")(seen))
    ([('', {}, 7)], [])
    """
    return single(lambda seen: getattr(getattr(seen, span), name))


def in_seconds(name: str) -> Samples[JoinSeen]:
    """A total in microseconds; none where it is 0, which says that nothing is limited."""
    return single(lambda seen: getattr(seen.total, name) / 1e6 or None)


def of_inputs(span: Span, name: str) -> Samples[JoinSeen]:
    """A number of each input: a field of `InputMetrics`."""

    def samples(seen: JoinSeen) -> Iterator[Sample]:
        for one in getattr(seen, span).inputs:
            yield "", {"input": one.name}, getattr(one, name)

    return samples


def of_table(name: str) -> Samples[JoinSeen]:
    """A field of `TableMetrics`; only a join with a table has it."""
    return single(lambda seen: getattr(seen.total.table, name, None))


def of_basic_windows(
    values: Callable[[BasicWindows], tuple[float, ...]],
) -> Samples[JoinSeen]:
    """A number of each basic window of each input: there are about 20 to a window."""

    def samples(seen: JoinSeen) -> Iterator[Sample]:
        for name, strip in seen.last.windows.items():
            for place, value in enumerate(values(strip)):
                yield "", {"input": name, "basic_window": f"{place:02}"}, value

    return samples


def by_name(label: str, name: str, scale: float = 1.0) -> Samples[JoinSeen]:
    """The numbers of a field that has them by name."""

    def samples(seen: JoinSeen) -> Iterator[Sample]:
        for key, value in getattr(seen.last, name).items():
            yield "", {label: key}, value * scale

    return samples


def left_out(seen: JoinSeen) -> Iterator[Sample]:
    """Rows by cause, each under one, so that causes add up."""
    for one in seen.total.inputs:
        causes = {
            "late": one.late - one.idle_late,
            "idle_late": one.idle_late,
            "null": one.null,
            "ahead": one.ahead,
            "dropped": one.dropped,
            "cut": one.cut,
        }
        for cause, rows in causes.items():
            yield "", {"input": one.name, "cause": cause}, rows


def comparisons(seen: JoinSeen) -> Iterator[Sample]:
    """Comparisons made and skipped; together those of a full join."""
    for one in seen.total.inputs:
        for outcome, n in (("made", one.compared), ("skipped", one.skipped)):
            yield "", {"input": one.name, "outcome": outcome}, n


def durations(seen: JoinSeen) -> Iterator[Sample]:
    """Batches by how long they took: a histogram."""
    bounds = (*map(str, DURATIONS), "+Inf")
    for bound, n in zip(bounds, accumulate(seen.durations), strict=True):
        yield "_bucket", {"le": bound}, n
    yield "_count", {}, seen.total.batches
    yield "_sum", {}, seen.total.seconds


def ages(seen: JoinSeen) -> Iterator[Sample]:
    """How old results are: quantiles, and how many results they are of."""
    recent, total = seen.recent.ages, seen.total.ages
    if recent is not None and recent.n:
        for share in QUANTILES:
            age = recent.most if share == 1.0 else recent.quantile(share)
            yield "", {"quantile": str(share)}, age
    if total is not None:
        yield "_count", {}, total.n


def info(seen: JoinSeen) -> Iterator[Sample]:
    """What the join is, in labels; without numbers of shards, which would change all the time."""
    last = seen.last
    algorithm = re.sub(r" \d+", "", last.algorithm)
    yield "", {"kind": last.kind, "algorithm": algorithm}, 1
