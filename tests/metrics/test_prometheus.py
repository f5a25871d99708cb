import re
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from typing import Any
from urllib.request import urlopen

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families

from streamjoin.errors import ConfigError, MissingExtraError
from streamjoin.metrics import InputMetrics, JoinMetrics
from streamjoin.metrics.prometheus import PrometheusExporter, start_exporter
from streamjoin.metrics.prometheus.exporter import ENDED_SECONDS, MOST_ENDED, Collector
from streamjoin.metrics.prometheus.families import JOIN_FAMILIES, QUERY_FAMILIES, Family
from streamjoin.metrics.prometheus.seen import MOST_RECENT, QuerySeen
from streamjoin.metrics.records import BatchDone, Decision, Ended, Started
from tests.metrics.batches import of_many_streams, selective, with_a_table
from tests.metrics.strategies import batches

FAMILIES: list[Family[Any]] = [*QUERY_FAMILIES, *JOIN_FAMILIES]
Numbers = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture
def collector() -> Collector:
    return Collector()


def text(collector: Collector) -> str:
    """What a scrape gets."""
    registry = CollectorRegistry()
    registry.register(collector)
    return generate_latest(registry).decode()


def numbers(collector: Collector) -> Numbers:
    """What a scrape gets, as Prometheus's own parser reads it."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text(collector))
        for sample in family.samples
    }


def number(collector: Collector, name: str, **labels: str) -> float | None:
    wanted = frozenset({"query": "calls", "join": "streamjoin", **labels}.items())
    return numbers(collector).get((name, wanted))


def see(collector: Collector, *some: JoinMetrics, query: str = "calls") -> None:
    for one in some:
        collector.see(query, BatchDone(one))


def test_every_metric_is_served_with_its_help_and_its_labels(collector: Collector) -> None:
    collector.see("calls", Started("calls", trigger=2.0))
    see(collector, selective(), of_many_streams(), with_a_table())
    served = {family.name: family for family in text_string_to_metric_families(text(collector))}
    assert len(FAMILIES) == len(served)
    for family in FAMILIES:
        found = served[family.name.removesuffix("_total")]
        assert (found.type, found.documentation) == (family.kind, family.text)
        labels = {name for sample in found.samples for name in sample.labels}
        own = {"query"} if family in QUERY_FAMILIES else {"query", "join"}
        assert labels - {"le", "quantile"} == own | set(family.labels)


def test_names_keep_to_the_rules_of_prometheus() -> None:
    assert len({family.name for family in FAMILIES}) == len(FAMILIES)
    for family in FAMILIES:
        assert re.fullmatch(r"streamjoin(_[a-z]+)+", family.name)
        assert family.name.endswith("_total") == (family.kind == "counter")
        assert family.text.endswith(".")


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("join_info", {"kind": "window", "algorithm": "batch, hash"}, 1),
        ("rows_total", {"input": "left"}, 2000),
        ("left_out_rows_total", {"input": "left", "cause": "late"}, 6),
        ("left_out_rows_total", {"input": "left", "cause": "idle_late"}, 4),
        ("comparisons_total", {"input": "left", "outcome": "skipped"}, 1400),
        ("results_total", {}, 150),
        ("recall_ratio", {}, 0.75),
        ("probed_ratio", {"input": "left"}, 0.3),
        ("cpu_seconds_total", {}, 0.9),
        ("cpu_budget_seconds_total", {}, 1.0),
        ("batch_duration_seconds_bucket", {"le": "1.0"}, 0),
        ("batch_duration_seconds_bucket", {"le": "2.5"}, 2),
        ("batch_duration_seconds_bucket", {"le": "+Inf"}, 2),
        ("batch_duration_seconds_sum", {}, 3.0),
        ("last_batch_timestamp_seconds", {}, 1003.5),
        ("result_age_seconds", {"quantile": "1.0"}, 150.0),
        ("result_age_seconds_count", {}, 150),
        ("state_bytes", {}, 5000),
        ("operation_cost_seconds", {"operation": "receiving"}, 5e-7),
        ("basic_window_probed_ratio", {"input": "left", "basic_window": "01"}, 0.25),
        ("basic_window_results_per_cpu_second", {"input": "left", "basic_window": "00"}, 5e5),
    ],
)
def test_two_batches_are_counted(
    collector: Collector, name: str, labels: dict[str, str], value: float
) -> None:
    see(collector, selective(0), selective(1))
    assert number(collector, f"streamjoin_{name}", **labels) == pytest.approx(value)


@given(st.lists(batches(), min_size=2, max_size=4))
def test_counters_never_fall(some: list[JoinMetrics]) -> None:
    collector = Collector()
    series: list[Numbers] = []
    for one in some:
        see(collector, one)
        series.append(
            {
                (sample.name, frozenset(sample.labels.items())): sample.value
                for metric in collector.collect()
                if metric.type in ("counter", "histogram")
                for sample in metric.samples
            }
        )
    for before, after in pairwise(series):
        assert all(after[name] >= value for name, value in before.items())


def test_shares_and_quantiles_are_of_the_last_minute(collector: Collector) -> None:
    poor = replace(selective(), at=1000.0, pairs=0)
    good = replace(selective(), at=1100.0, missed=0, missed_variance=0.0)
    see(collector, poor, good)
    assert number(collector, "streamjoin_recall_ratio") == 1.0
    assert number(collector, "streamjoin_missed_results_total") == 25


def test_a_batch_longer_than_a_minute_counts(collector: Collector) -> None:
    see(collector, replace(selective(), seconds=300.0))
    assert number(collector, "streamjoin_recall_ratio") == 0.75


def test_many_short_batches_are_not_all_kept() -> None:
    query = QuerySeen()
    for batch in range(2 * MOST_RECENT):
        query.see(BatchDone(JoinMetrics(batch=batch, pairs=1)), now=0.0)
    join = query.joins["streamjoin"]
    assert (join.total.pairs, join.recent.pairs) == (2 * MOST_RECENT, MOST_RECENT)


def test_counters_go_on_when_a_query_is_started_again(collector: Collector) -> None:
    for failure in ("disk full", ""):
        collector.see("calls", Started("calls"))
        see(collector, selective())
        collector.see("calls", Decision(1.0, "streamjoin", 0, "exact again"))
        collector.see("calls", Ended(2.0, failure))
    assert number(collector, "streamjoin_results_total") == 150
    assert number(collector, "streamjoin_decisions_total") == 2
    of_query = {name: value for (name, _), value in numbers(collector).items() if "query_" in name}
    assert of_query == {
        "streamjoin_query_running": 0,
        "streamjoin_query_starts_total": 2,
        "streamjoin_query_failures_total": 1,
    }


def test_what_a_query_remembers_ends_with_it(collector: Collector) -> None:
    see(collector, selective())
    collector.see("calls", Ended(2.0))
    kinds = {metric.name: metric.type for metric in collector.collect() if metric.samples}
    kinds.pop("streamjoin_query_running")
    assert set(kinds.values()) == {"counter", "histogram"}


def test_queries_that_ended_are_forgotten_after_a_while() -> None:
    now = 0.0
    collector = Collector(clock=lambda: now)

    def known() -> set[str]:
        return {dict(labels)["query"] for _, labels in numbers(collector)}

    collector.see("first", Started("first"))
    collector.see("first", Ended(0.0))
    collector.see("second", Started("second"))
    now = ENDED_SECONDS
    assert known() == {"first", "second"}
    now = ENDED_SECONDS + 1
    assert known() == {"second"}
    for number in range(3 * MOST_ENDED):
        now = 1000.0 + number
        collector.see(str(number), Started(""))
        collector.see(str(number), Ended(0.0))
    now = 1300.0
    assert known() == {"second", *map(str, range(200, 300))}


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", 'a"b\\c\nd', 'a{b="c"} 1\n# HELP x', "Zürich 東京 🚲", ""]
)
def test_hostile_names_are_labels_and_no_more(collector: Collector, name: str) -> None:
    see(collector, JoinMetrics(name=name, inputs=(InputMetrics(name, rows=3),)), query=name)
    labels = frozenset({"query": name, "join": name, "input": name}.items())
    assert numbers(collector)["streamjoin_rows_total", labels] == 3


def test_half_a_character_does_not_cost_the_numbers_of_others(
    collector: Collector,
) -> None:
    see(collector, selective(), query="\ud800")
    see(collector, selective())
    assert number(collector, "streamjoin_results_total") == 75


def test_many_threads_lose_nothing(collector: Collector) -> None:
    def work(thread: int) -> None:
        for batch in range(50):
            see(collector, JoinMetrics(name=f"join {thread % 2}", batch=batch, pairs=1))
            collector.collect()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert number(collector, "streamjoin_results_total", join="join 0") == 200


@pytest.fixture(scope="module")
def exporter() -> Iterator[PrometheusExporter]:
    with start_exporter(port=0) as started:
        yield started


def test_only_numbers_of_joins_are_served_and_only_here(exporter: PrometheusExporter) -> None:
    exporter.see("calls", BatchDone(selective()))
    assert exporter.url == f"http://127.0.0.1:{exporter.port}/metrics"
    with urlopen(exporter.url) as answer:
        served = re.findall(r"^# TYPE (\w+)", answer.read().decode(), re.MULTILINE)
    assert served == [family.name for family in FAMILIES]


def test_the_port_is_free_again_when_it_is_closed() -> None:
    with start_exporter(port=0, host="localhost") as first:
        urlopen(first.url).close()
    with start_exporter(port=first.port) as second:
        urlopen(second.url).close()


@pytest.mark.parametrize("port", [-1, 70_000])
def test_an_impossible_port_is_refused(port: int) -> None:
    with pytest.raises(ConfigError, match=rf"^port: got {port} at 127.0.0.1; allowed: [^\n]*$"):
        start_exporter(port=port)


def test_a_port_in_use_is_refused(exporter: PrometheusExporter) -> None:
    with pytest.raises(ConfigError, match=r"^port: got \d+ .*Address already in use"):
        start_exporter(port=exporter.port)


def test_an_address_of_another_machine_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"^port: got 0 at 192\.0\.2\.1; allowed: "):
        start_exporter(port=0, host="192.0.2.1")


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    modules: dict[str, Any] = sys.modules
    monkeypatch.setitem(modules, "prometheus_client", None)
    with pytest.raises(MissingExtraError, match=r'pip install "streamjoin\[metrics\]"'):
        start_exporter(port=0)
