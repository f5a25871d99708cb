"""Numbers of running queries for Prometheus, with a Grafana dashboard and rules for alerts.

Reading order: `seen` (what is kept of each query and join), `families` (every metric: its name,
what it means, and where its numbers come from), `exporter` (their values of now, served). The
files beside them: ``grafana.json``, a dashboard to import, and ``rules.yml``,
alerts to start from.
"""

from streamjoin.metrics.prometheus.exporter import PrometheusExporter, address_of, start_exporter

__all__ = ["PrometheusExporter", "address_of", "start_exporter"]
