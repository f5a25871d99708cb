"""Numbers of the queries of this process in the form of Prometheus's library, and their server."""

import time
from collections.abc import Callable, Iterable
from threading import Lock
from typing import TYPE_CHECKING, Final

from streamjoin.errors import ConfigError, MissingExtraError
from streamjoin.metrics.prometheus.families import JOIN_FAMILIES, QUERY_FAMILIES, Family, Seen
from streamjoin.metrics.prometheus.seen import QuerySeen
from streamjoin.metrics.records import Record

if TYPE_CHECKING:
    from prometheus_client import Metric

Labels = dict[str, str]
DEFAULT_PORT: Final = 9464
LOOPBACK: Final = "127.0.0.1"
ENDED_SECONDS: Final = 900
"""A query that has ended is forgotten after so long: time enough for an alert."""

MOST_ENDED: Final = 100
"""So many queries that have ended are kept at most."""


class Collector:
    """Takes records in and gives numbers out; any thread may do either.

    Queries that ended are forgotten after a while.

    Examples
    --------
    >>> from streamjoin.metrics import JoinMetrics
    >>> from streamjoin.metrics.records import BatchDone
    >>> collector = Collector()
    >>> collector.see("calls", BatchDone(JoinMetrics(pairs=7)))
    >>> samples = {metric.name: metric.samples for metric in collector.collect()}
    >>> samples["streamjoin_results"][0].labels, samples["streamjoin_results"][0].value
    ({'query': 'calls', 'join': 'streamjoin'}, 7)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, Lock()
        self._queries: dict[str, QuerySeen] = {}

    def see(self, query: str, record: Record) -> None:
        """Take in what happened to a query."""
        with self._lock:
            self._forget()
            self._queries.setdefault(query, QuerySeen()).see(record, self._clock())

    def collect(self) -> "list[Metric]":
        """The numbers of now: the library calls it at each scrape."""
        with self._lock:
            self._forget()
            whole = [({"query": name}, query) for name, query in self._queries.items()]
            joins = {
                is_running: [
                    ({**labels, "join": join}, seen)
                    for labels, query in whole
                    for join, seen in query.joins.items()
                    if query.running or not is_running
                ]
                for is_running in (False, True)
            }
            # What a query that has ended remembers or lacks is no longer so; what it did stays.
            return [_metric(family, whole) for family in QUERY_FAMILIES] + [
                _metric(family, joins[family.kind in ("gauge", "summary")])
                for family in JOIN_FAMILIES
            ]

    def _forget(self) -> None:
        queries, now = self._queries.items(), self._clock()
        ended = {name: at for name, one in queries if (at := one.ended_at) is not None}
        newest = sorted(ended, key=ended.__getitem__, reverse=True)
        for place, name in enumerate(newest):
            if place >= MOST_ENDED or now - ended[name] > ENDED_SECONDS:
                del self._queries[name]


def _metric(family: Family[Seen], all_seen: Iterable[tuple[Labels, Seen]]) -> "Metric":
    from prometheus_client import Metric

    metric = Metric(family.name.removesuffix("_total"), family.text, family.kind)
    for owner, seen in all_seen:
        for ending, labels, value in family.samples(seen):
            # What UTF-8 can hold: half a character in one name would cost the numbers of all.
            words = {
                name: word.encode("utf-8", "replace").decode("utf-8")
                for name, word in {**owner, **labels}.items()
            }
            metric.add_sample(family.name + ending, words, value)
    return metric


class PrometheusExporter:
    """Numbers of the queries of this process, at an address for Prometheus.

    `start_exporter` makes one. Any thread may hand records to it.
    """

    def __init__(self, port: int, host: str) -> None:
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError as error:
            raise MissingExtraError.of(extra="metrics", module="prometheus-client") from error
        collector = Collector()
        self.see = collector.see
        """Takes in what happened to a query."""
        registry = CollectorRegistry()  # the default one is the application's
        registry.register(collector)
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except (OSError, OverflowError) as error:
            raise ConfigError.at(
                "port",
                f"{port} at {host}",
                f"one that is free, at an address of this machine ({error})",
            ) from error
        self.host, self.port = host, self._server.server_port

    @property
    def url(self) -> str:
        """Where Prometheus finds the numbers."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> "PrometheusExporter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def address_of(prometheus: int | str) -> tuple[str, int]:
    """Host and port, of a port of this machine alone or of both.

    Examples
    --------
    >>> address_of(9464), address_of("0.0.0.0:9464"), address_of("[::]:80")
    (('127.0.0.1', 9464), ('0.0.0.0', 9464), ('::', 80))
    """
    host, _, port = str(prometheus).rpartition(":")
    if isinstance(prometheus, bool) or not port.isdecimal() or int(port) > 65535:
        raise ConfigError.at("prometheus", repr(prometheus), 'a port such as 9464, or "host:port"')
    return host.strip("[]") or LOOPBACK, int(port)


def start_exporter(port: int = DEFAULT_PORT, host: str = LOOPBACK) -> PrometheusExporter:
    """Serve metrics for Prometheus, until `close` or the end of a ``with`` block.

    Parameters
    ----------
    port
        Where to listen; 0 takes one that is free: see `PrometheusExporter.port`.
    host
        Which of this machine's addresses. By default programs on this machine alone can read;
        ``"0.0.0.0"`` lets everybody who reaches it, without a password.

    Examples
    --------
    >>> from urllib.request import urlopen
    >>> from streamjoin.metrics import InputMetrics, JoinMetrics
    >>> from streamjoin.metrics.records import BatchDone
    >>> with start_exporter(port=0) as exporter:
    ...     exporter.see("calls", BatchDone(JoinMetrics(inputs=(InputMetrics("left", rows=5),))))
    ...     lines = urlopen(exporter.url).read().decode().splitlines()
    >>> [line for line in lines if line.startswith("streamjoin_rows_total")]
    ['streamjoin_rows_total{input="left",join="streamjoin",query="calls"} 5.0']
    """
    return PrometheusExporter(port, host)
