"""Numbers of the queries of this process, in the form of Prometheus's library."""

import time
from collections.abc import Iterable
from threading import Lock
from typing import TYPE_CHECKING

from streamjoin.metrics.prometheus.families import JOIN_FAMILIES, QUERY_FAMILIES
from streamjoin.metrics.prometheus.family import Family, Seen
from streamjoin.metrics.prometheus.seen import Queries
from streamjoin.metrics.records import Record

if TYPE_CHECKING:
    from prometheus_client import Metric

Labels = dict[str, str]


class Collector:
    """Takes records in and gives numbers out; any thread may do either.

    Examples
    --------
    >>> from streamjoin.metrics import JoinMetrics
    >>> from streamjoin.metrics.records import BatchDone
    >>> collector = Collector()
    >>> collector.see("calls", BatchDone(JoinMetrics(pairs=7)))
    >>> found = {metric.name: metric.samples for metric in collector.collect()}
    >>> found["streamjoin_results"][0].labels, found["streamjoin_results"][0].value
    ({'query': 'calls', 'join': 'streamjoin'}, 7)
    """

    def __init__(self) -> None:
        self._queries, self._lock = Queries(), Lock()

    def see(self, query: str, record: Record) -> None:
        """Take in what happened to a query."""
        with self._lock:
            self._queries.see(query, record, time.monotonic())

    def collect(self) -> "list[Metric]":
        """The numbers of now: the library calls it at each scrape."""
        with self._lock:
            return self._metrics()

    def _metrics(self) -> "list[Metric]":
        queries = self._queries.at(time.monotonic())
        joins = [
            ({"query": name, "join": join}, query.running, seen)
            for name, query in queries.items()
            for join, seen in query.joins.items()
        ]
        every = [(labels, seen) for labels, _, seen in joins]
        # What a query that has ended remembers or lacks is no longer so; what it did stays.
        running = [(labels, seen) for labels, is_running, seen in joins if is_running]
        of_queries = [({"query": name}, seen) for name, seen in queries.items()]
        return [
            *(_metric(one, of_queries) for one in QUERY_FAMILIES),
            *(
                _metric(one, every if one.kind in ("counter", "histogram") else running)
                for one in JOIN_FAMILIES
            ),
        ]


def _metric(family: Family[Seen], all_seen: Iterable[tuple[Labels, Seen]]) -> "Metric":
    from prometheus_client import Metric

    metric = Metric(family.name.removesuffix("_total"), family.text, family.kind)
    for of_whom, seen in all_seen:
        for ending, labels, value in family.samples(seen):
            every = {name: _text(word) for name, word in {**of_whom, **labels}.items()}
            metric.add_sample(family.name + ending, every, value)
    return metric


def _text(word: str) -> str:
    """What UTF-8 can hold: half a character in one name would cost the numbers of all."""
    return word.encode("utf-8", "replace").decode("utf-8")
