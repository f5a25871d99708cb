"""Serves the numbers where Prometheus fetches them."""

from typing import Final

from streamjoin.errors import ConfigError, MissingExtraError
from streamjoin.metrics.prometheus.collector import Collector
from streamjoin.metrics.records import Record

DEFAULT_PORT: Final = 9464
LOOPBACK: Final = "127.0.0.1"


class PrometheusExporter:
    """Numbers of the queries of this process, at an address for Prometheus.

    `start_exporter` makes one. Any thread may hand records to it.
    """

    def __init__(self, port: int, host: str) -> None:
        try:
            from prometheus_client import CollectorRegistry, start_http_server
        except ImportError as error:
            raise MissingExtraError.of(extra="metrics", module="prometheus-client") from error
        self._collector = Collector()
        registry = CollectorRegistry()  # the default one is the application's
        registry.register(self._collector)
        try:
            self._server, self._thread = start_http_server(port, host, registry)
        except (OSError, OverflowError) as error:
            msg = (
                f"port: got {port} at {host}; allowed: one that is free, at an address of this "
                f"machine ({error})"
            )
            raise ConfigError(msg) from error
        self.host, self.port = host, self._server.server_port

    @property
    def url(self) -> str:
        """Where Prometheus finds the numbers."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}/metrics"

    def see(self, query: str, record: Record) -> None:
        """Take in what happened to a query."""
        self._collector.see(query, record)

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
        msg = f'prometheus: got {prometheus!r}; allowed: a port such as 9464, or "host:port"'
        raise ConfigError(msg)
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
