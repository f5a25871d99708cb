"""Write the Grafana dashboard: `python scripts/grafana_dashboard.py` after a change of a panel."""

import json
from pathlib import Path
from typing import Any

import streamjoin

FILE = Path(streamjoin.__file__).parent / "metrics" / "prometheus" / "grafana.json"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
OF_JOIN = '{query="$query",join="$join"}'
WIDTH, HEIGHT = 24, 8

Json = dict[str, Any]


def rate(name: str, by: str = "", more: str = "") -> str:
    """What a counter gains a second, added up over all labels but some."""
    labels = OF_JOIN.replace("}", f",{more}}}") if more else OF_JOIN
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped}(rate(streamjoin_{name}_total{labels}[$__rate_interval]))"


def gauge(name: str, more: str = "") -> str:
    """A number as it is."""
    labels = OF_JOIN.replace("}", f",{more}}}") if more else OF_JOIN
    return f"streamjoin_{name}{labels}"


def duration(part: str) -> str:
    """What a part of the histogram of batch times gains a second."""
    return f"rate(streamjoin_batch_duration_seconds_{part}{OF_JOIN}[$__rate_interval])"


def panel(
    kind: str, title: str, text: str, queries: dict[str, str], unit: str, options: Json
) -> Json:
    """A panel; `queries` are expressions by what their lines are called."""
    targets = [
        {"refId": chr(ord("A") + place), "datasource": SOURCE, "expr": expr, "legendFormat": name}
        for place, (name, expr) in enumerate(queries.items())
    ]
    defaults: Json = {"unit": unit}
    if unit == "percentunit":
        defaults |= {"min": 0, "max": 1}
    return {
        "type": kind,
        "title": title,
        "description": text,
        "datasource": SOURCE,
        "targets": targets,
        "fieldConfig": {"defaults": defaults, "overrides": []},
        "options": options,
    }


def chart(
    title: str, text: str, queries: dict[str, str], unit: str = "short", stacked: bool = False
) -> Json:
    """Lines over time."""
    options = {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True, "calcs": []},
        "tooltip": {"mode": "multi", "sort": "none"},
    }
    custom: Json = {"lineWidth": 1, "fillOpacity": 8, "showPoints": "auto"}
    if stacked:
        custom |= {"stacking": {"mode": "normal", "group": "A"}, "fillOpacity": 40}
    drawn = panel("timeseries", title, text, queries, unit, options)
    drawn["fieldConfig"]["defaults"]["custom"] = custom
    if not stacked and unit != "percentunit":
        drawn["fieldConfig"]["defaults"]["min"] = 0
    return drawn


def number(title: str, text: str, expr: str, unit: str, more: Json | None = None) -> Json:
    """One large number, with its past behind it."""
    options = {
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
        "colorMode": "value",
        "graphMode": "area",
        "justifyMode": "auto",
        "orientation": "auto",
        "textMode": "auto",
        "wideLayout": True,
        "showPercentChange": False,
        "percentChangeColorMode": "standard",
    }
    drawn = panel("stat", title, text, {title: expr}, unit, options)
    defaults = drawn["fieldConfig"]["defaults"]
    defaults |= {"color": {"mode": "fixed", "fixedColor": "text"}, **(more or {})}
    return drawn


def heat_map(title: str, text: str, name: str, unit: str) -> Json:
    """Basic windows from the newest on upwards, over time; a panel for each input."""
    options = {
        "calculate": False,
        "cellGap": 1,
        "cellValues": {"unit": unit},
        "color": {
            "mode": "scheme", "scheme": "Viridis", "reverse": False, "steps": 64, "scale": "linear",
            "exponent": 0.5, "fill": "dark-blue", "min": 0,
            **({"max": 1} if unit == "percentunit" else {}),
        },
        "exemplars": {"color": "rgba(255,0,255,0.7)"},
        "filterValues": {"le": -1},
        "legend": {"show": True},
        "rowsFrame": {"layout": "auto"},
        "showValue": "never",
        "tooltip": {"mode": "single", "showColorScale": True, "yHistogram": False},
        "yAxis": {"axisPlacement": "left", "reverse": False},
    }  # fmt: skip
    expr = gauge(name, 'input="$input"')
    drawn = panel("heatmap", title, text, {"{{basic_window}}": expr}, unit, options)
    return drawn | {"repeat": "input", "repeatDirection": "h", "maxPerRow": 4}


def numbers() -> list[Json]:
    """The first row: how it is going."""
    running = {
        "mappings": [
            {
                "type": "value",
                "options": {
                    "0": {"text": "ended", "color": "orange", "index": 0},
                    "1": {"text": "running", "color": "green", "index": 1},
                },
            }
        ],
        "color": {"mode": "thresholds"},
    }
    share = {
        "min": 0,
        "max": 1,
        "decimals": 1,
        "color": {"mode": "thresholds"},
        "thresholds": {
            "mode": "absolute",
            "steps": [
                {"value": None, "color": "red"},
                {"value": 0.5, "color": "orange"},
                {"value": 0.9, "color": "green"},
            ],
        },
    }
    query = number(
        "Query", "Whether it runs.", 'streamjoin_query_running{query="$query"}', "none", running
    )
    query["options"]["graphMode"] = "none"
    return [
        query,
        number("Rows in", "Rows a second, all inputs.", rate("rows"), "rowsps"),
        number("Rows out", "Rows a second.", rate("rows_out"), "rowsps"),
        number(
            "Recall",
            "Share of the matches that was found in the last minute, as estimated.",
            gauge("recall_ratio"), "percentunit", share,
        ),
        number("Behind", "Age of the newest row as a batch ends.", gauge("behind_seconds"), "s"),
        number("State", "Size of what is remembered.", gauge("state_bytes"), "bytes"),
    ]  # fmt: skip


def charts() -> list[Json]:
    """What a reader goes through from top to bottom."""
    return [
        chart(
            "Throughput", "Rows that came, of each input, and rows that came out.",
            {"in: {{input}}": rate("rows", by="input"), "out": rate("rows_out")}, "rowsps",
        ),
        chart(
            "Left out, by cause",
            "late: older than the watermark; idle_late: late because an idle stream was given up "
            "on; null: no key or no time; dropped: not let in, for the CPU; cut: forgotten early, "
            "for the memory; stale: results withheld because a row in them is too old; put off: "
            "rows of a join with a table that will come again.",
            {
                "{{cause}}": rate("left_out_rows", by="cause"),
                "stale": rate("stale_results"),
                "put off": rate("put_off_rows"),
            },
            "rowsps", stacked=True,
        ),
        recall(),
        chart(
            "Probed", "Share of the window of each input that was probed: 100 % is an exact join.",
            {"{{input}}": gauge("probed_ratio")}, "percentunit",
        ),
        chart(
            "Batch time", "If batches take longer than the trigger, the query falls behind.",
            {
                "mean": f"{duration('sum')} / {duration('count')}",
                "95 of 100 within":
                    f"histogram_quantile(0.95, sum by (le) ({duration('bucket')}))",
                "trigger": 'streamjoin_query_trigger_seconds{query="$query"}',
            },
            "s",
        ),
        chart(
            "CPU against budget", "Cores that the join used, and those that it was allowed.",
            {"used": rate("cpu_seconds"), "allowed": rate("cpu_budget_seconds")},
        ),
        chart(
            "Behind", "Age of the newest row when a batch ends.",
            {"behind": gauge("behind_seconds")}, "s",
        ),
        chart(
            "Freshness", "Age of the oldest row in a result, in time of the streams.",
            {
                "half within": gauge("result_age_seconds", 'quantile="0.5"'),
                "95 of 100 within": gauge("result_age_seconds", 'quantile="0.95"'),
                "oldest": gauge("result_age_seconds", 'quantile="1.0"'),
            },
            "s",
        ),
        chart(
            "State", "Size of what is remembered: of each input, and together.",
            {"{{input}}": gauge("input_state_bytes"), "together": gauge("state_bytes")}, "bytes",
        ),
        chart(
            "Comparisons", "Where CPU is limited: made, skipped, and what there was room for.",
            {
                "{{outcome}}": rate("comparisons", by="outcome"),
                "room for": rate("planned_comparisons"),
            },
            "ops",
        ),
        chart(
            "Cache of a table", "Share of the rows that the cache answered.",
            {"hits": f"{rate('cache_hits')} / {rate('rows')}"}, "percentunit",
        ),
        chart(
            "Waiting for a table", "Rows that wait in memory, and rows that are put off.",
            {"waiting": gauge("waiting_rows"), "put off": gauge("spilled_rows")},
        ),
        chart(
            "Allowances", "Of many streams on a budget: tuples a second that may probe.",
            {"{{halfway}}": gauge("allowance_tuples_per_second")}, "ops",
        ),
        chart(
            "Work of the busiest shard", "Near 100 % with several shards, few keys have it all.",
            {"busiest": gauge("busiest_shard_ratio")}, "percentunit",
        ),
    ]  # fmt: skip


def recall() -> Json:
    """The estimate in its band."""
    drawn = chart(
        "Recall",
        "Estimated share of the matches that was found, between bounds that hold in 95 of 100 "
        "cases.",
        {
            "at least": gauge("recall_low_ratio"),
            "at most": gauge("recall_high_ratio"),
            "recall": gauge("recall_ratio"),
        },
        "percentunit",
    )
    band = [{"id": "custom.lineWidth", "value": 0}, {"id": "custom.fillOpacity", "value": 0}]
    filled = [
        {"id": "custom.lineWidth", "value": 0},
        {"id": "custom.fillBelowTo", "value": "at least"},
        {"id": "custom.fillOpacity", "value": 25},
    ]
    drawn["fieldConfig"]["overrides"] = [
        {"matcher": {"id": "byName", "options": name}, "properties": properties}
        for name, properties in (
            ("at least", band),
            ("at most", filled),
            ("recall", [{"id": "custom.fillOpacity", "value": 0}]),
        )
    ]
    return drawn


def heat_maps() -> list[Json]:
    """What is probed where, and where matches are."""
    return [
        heat_map(
            "Probed of $input, by age",
            "Each row is a basic window, 00 the newest: the share of it that was probed.",
            "basic_window_probed_ratio", "percentunit",
        ),
        heat_map(
            "Matches in $input, by age",
            "Each row is a basic window, 00 the newest: matches for each comparison with it.",
            "basic_window_match_density", "short",
        ),
    ]  # fmt: skip


def placed(panels: list[Json], per_row: int, height: int, top: int) -> list[Json]:
    """Panels side by side, with their places on the page."""
    width = WIDTH // per_row
    return [
        one
        | {
            "gridPos": {
                "x": (place % per_row) * width,
                "y": top + (place // per_row) * height,
                "w": width,
                "h": height,
            }
        }
        for place, one in enumerate(panels)
    ]


def variable(name: str, label: str, query: str, more: Json | None = None) -> Json:
    """A choice of the reader's, from the labels there are."""
    return {
        "type": "query",
        "name": name,
        "label": label,
        "datasource": SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        **(more or {}),
    }


def marks(name: str, color: str, counter: str) -> Json:
    """Lines across the charts where a counter grows."""
    return {
        "name": name,
        "datasource": SOURCE,
        "enable": True,
        "iconColor": color,
        "target": {"refId": "Anno", "expr": f"increase({counter}[1m]) > 0", "interval": "1m"},
        "titleFormat": name,
    }


def dashboard() -> Json:
    """All of it."""
    shown = charts()
    below = 4 + (len(shown) + 1) // 2 * HEIGHT
    panels = [
        *placed(numbers(), 6, 4, 0),
        *placed(shown, 2, HEIGHT, 4),
        *placed(heat_maps(), 1, HEIGHT, below),
    ]
    joins = 'label_values(streamjoin_rows_total{query="$query"},join)'
    inputs = f"label_values(streamjoin_basic_window_probed_ratio{OF_JOIN},input)"
    every: Json = {"multi": True, "includeAll": True, "hide": 2}
    return {
        "title": "streamjoin",
        "uid": "streamjoin",
        "description": "Joins of live streams: what came, what was found, what was left out.",
        "tags": ["streamjoin", "spark"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "10s",
        "time": {"from": "now-30m", "to": "now"},
        "timezone": "browser",
        "templating": {
            "list": [
                {
                    "type": "datasource", "name": "datasource", "label": "Prometheus",
                    "query": "prometheus",
                },
                variable("query", "Query", "label_values(streamjoin_query_running,query)"),
                variable("join", "Join", joins),
                variable("input", "Input", inputs, every),
            ]
        },
        "annotations": {
            "list": [
                marks("Decision", "blue", f"streamjoin_decisions_total{OF_JOIN}"),
                marks("Restart", "orange", 'streamjoin_query_starts_total{query="$query"}'),
            ]
        },
        "panels": [one | {"id": place + 1} for place, one in enumerate(panels)],
    }  # fmt: skip


def text() -> str:
    """The file's contents."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
