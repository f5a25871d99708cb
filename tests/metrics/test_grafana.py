"""The dashboard and the alerts, against a real Prometheus where there is one."""

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from scripts import grafana_dashboard
from streamjoin.metrics.prometheus import PrometheusExporter, start_exporter
from streamjoin.metrics.prometheus.families import JOIN_FAMILIES, QUERY_FAMILIES, Family
from streamjoin.metrics.records import BatchDone, Started
from tests.metrics.batches import of_many_streams, selective, with_a_table

FOLDER = files("streamjoin.metrics.prometheus")
DASHBOARD = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
RULES = (FOLDER / "rules.yml").read_text(encoding="utf-8")
FAMILIES: list[Family[Any]] = [*QUERY_FAMILIES, *JOIN_FAMILIES]
JOINS = ("streamjoin", "orders", "people")
Ask = Callable[..., Any]

prometheus = pytest.mark.skipif(
    not (shutil.which("prometheus") and shutil.which("promtool")),
    reason="needs prometheus and promtool (Debian: apt-get install prometheus)",
)


def expressions() -> dict[str, str]:
    """All that the dashboard asks of Prometheus, by where."""
    marks = {one["name"]: one["target"]["expr"] for one in DASHBOARD["annotations"]["list"]}
    return marks | {
        f"{panel['title']}: {target['legendFormat']}": target["expr"]
        for panel in DASHBOARD["panels"]
        for target in panel["targets"]
    }


def promtool(*arguments: str, text: str | None = None) -> str:
    """Its complaints; none if all is well."""
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_dashboard_is_what_its_script_writes() -> None:
    assert grafana_dashboard.FILE.read_text(encoding="utf-8") == grafana_dashboard.text()


def test_panels_do_not_overlap_and_have_numbers_of_their_own() -> None:
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(set(cells)) == len(cells)
    assert max(x for x, _ in cells) < 24


def test_only_metrics_that_there_are_are_asked_for() -> None:
    parts = {"histogram": ("_bucket", "_count", "_sum"), "summary": ("", "_count")}
    known = {family.name + part for family in FAMILIES for part in parts.get(family.kind, ("",))}
    asked = set(re.findall(r"streamjoin_\w+", " ".join([*expressions().values(), RULES])))
    assert len(asked) > 25
    assert asked <= known


def test_the_guide_has_every_metric_and_every_alert() -> None:
    guide = (grafana_dashboard.FILE.parents[4] / "docs/how_to/metrics.md").read_text("utf-8")
    own = {"histogram": ("le",), "summary": ("quantile",)}
    rows = [
        f"| `{family.name}` | {family.kind} | "
        + ", ".join(f"`{name}`" for name in own.get(family.kind, family.labels))
        + f" | {family.text} |"
        for family in FAMILIES
    ]
    assert re.findall(r"^\| `streamjoin_.*$", guide, re.MULTILINE) == rows
    alerts = re.findall(r"alert: (\w+)", RULES)
    assert re.findall(r"^\| `(Streamjoin\w+)`", guide, re.MULTILINE) == alerts


@prometheus
def test_promtool_has_nothing_to_say_about_the_numbers() -> None:
    with fed_exporter() as exporter, urlopen(exporter.url) as answer:
        assert promtool("check", "metrics", text=answer.read().decode()) == ""


@prometheus
def test_alerts_fire_when_they_should_and_only_then(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text(RULES, encoding="utf-8")
    bad = {
        "query_failures_total": "0x15 1x15",
        "last_batch_timestamp_seconds": "0x30",
        "behind_seconds": "90x30",
        "batch_duration_seconds_sum": "0+120x30",
        "batch_duration_seconds_count": "0+30x30",
        "query_trigger_seconds": "3x30",
        "recall_high_ratio": "0.5x30",
        'left_out_rows_total{cause="idle_late",input="left"}': "0+5x30",
        'rows_total{input="left"}': "0+100x30",
        "lagging_shards": "2x30",
    }
    fine = {
        "query_failures_total": "1x30",
        "last_batch_timestamp_seconds": "0+60x30",
        "behind_seconds": "90x10 2x20",
        "batch_duration_seconds_sum": "0+80x30",
        "batch_duration_seconds_count": "0+30x30",
        "query_trigger_seconds": "3x30",
        "recall_high_ratio": "1x30",
        'left_out_rows_total{cause="cut",input="left"}': "0+50x30",
        'rows_total{input="left"}': "0+100x30",
        "lagging_shards": "0 2 0x30",
    }
    series = [
        {"series": _series(name, query), "values": values}
        for query, some in (("bad", bad), ("fine", fine))
        for name, values in some.items()
    ]
    alerts = set(re.findall(r"alert: (\w+)", RULES))
    firing = 'sum by (alertname, query) (ALERTS{alertstate="firing"})'
    expected = [{"labels": f'{{alertname="{name}",query="bad"}}', "value": 1} for name in alerts]
    test = {
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [{"expr": firing, "eval_time": "22m", "exp_samples": expected}],
    }
    document = {"rule_files": ["rules.yml"], "tests": [test]}
    (tmp_path / "tests.yml").write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
    assert promtool("check", "rules", str(tmp_path / "rules.yml")) == ""
    assert promtool("test", "rules", str(tmp_path / "tests.yml")) == ""


def _series(name: str, query: str) -> str:
    whose = f'query="{query}",job="streams",instance="here"'
    if not name.startswith("query_"):
        whose += ',join="streamjoin"'
    name, _, labels = name.partition("{")
    return f"streamjoin_{name}{{{whose},{labels}" if labels else f"streamjoin_{name}{{{whose}}}"


@pytest.mark.system
@prometheus
def test_a_real_server_answers_every_panel(ask: Ask) -> None:
    for where, expr in expressions().items():
        answers = [ask("query", query=_filled(expr, join)) for join in JOINS]
        assert where in ("Restart", "Decision") or any(one["result"] for one in answers), where


@pytest.mark.system
@prometheus
def test_a_real_server_offers_what_can_be_chosen(ask: Ask) -> None:
    found = {}
    for one in DASHBOARD["templating"]["list"][1:]:
        match = re.fullmatch(r"label_values\((.*),(\w+)\)", one["query"]["query"])
        assert match is not None
        series = _filled(match[1], "streamjoin")
        found[one["name"]] = ask(f"label/{match[2]}/values", **{"match[]": series})
    assert found == {"query": ["calls"], "join": sorted(JOINS), "input": ["left", "right"]}


def _filled(expr: str, join: str) -> str:
    """As Grafana would, for a reader's choices."""
    for name, value in (
        ("$__rate_interval", "10s"), ("$query", "calls"), ("$join", join), ("$input", "left"),
    ):  # fmt: skip
        expr = expr.replace(name, value)
    return expr


def fed_exporter() -> PrometheusExporter:
    exporter = start_exporter(port=0)
    exporter.see("calls", Started("calls", trigger=2.0))
    feed(exporter, 0)
    return exporter


def feed(exporter: PrometheusExporter, batch: int) -> None:
    for one in (selective(batch), of_many_streams(batch), with_a_table(batch)):
        exporter.see("calls", BatchDone(one))


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Ask a server that has scraped an exporter a few times."""
    folder = tmp_path_factory.mktemp("prometheus")
    with fed_exporter() as exporter, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        job = {
            "job_name": "streams",
            "static_configs": [{"targets": [f"127.0.0.1:{exporter.port}"]}],
        }
        settings = {"global": {"scrape_interval": "250ms"}, "scrape_configs": [job]}
        (folder / "prometheus.yml").write_text(json.dumps(settings), encoding="utf-8")
        server = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={folder}/prometheus.yml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=error",
            ]
        )

        def ask(what: str, **parameters: str) -> Any:
            url = f"http://127.0.0.1:{port}/api/v1/{what}?{urlencode(parameters)}"
            with urlopen(url, timeout=60) as answer:
                return json.load(answer)["data"]

        try:
            for batch in range(1, 400):
                feed(exporter, batch)
                if _scrapes(ask) >= 4:
                    break
                time.sleep(0.2)
            yield ask
        finally:
            server.terminate()
            server.wait(60)


def _scrapes(ask: Ask) -> int:
    try:
        found = ask("query", query='count_over_time(streamjoin_query_running{query="calls"}[1m])')
    except URLError:  # it has not begun to listen
        return 0
    return int(found["result"][0]["value"][1]) if found["result"] else 0
