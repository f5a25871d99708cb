"""What the page is told, as values that JSON can hold: numbers of few digits, lists by column."""

import time
from base64 import b64encode
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from streamjoin.dashboard.history import History, JoinHistory
from streamjoin.dashboard.points import Point, grouped
from streamjoin.metrics.records import Started


def query_document(history: History, folder: Path) -> dict[str, Any]:
    """All that is known of a query."""
    return {
        **state_document(history, folder),
        "log": [asdict(entry) for entry in history.log],
        "joins": [join_document(name, join) for name, join in history.joins.items()],
    }


def state_document(history: History, folder: Path) -> dict[str, Any]:
    """What became of a query, and what it was asked to do."""
    ended, started = history.ended, history.started or Started("")
    return {
        "name": history.name(folder),
        "folder": str(folder),
        "status": history.status,
        "error": "" if ended is None else ended.error,
        "started_at": None if history.started is None else started.at,
        "ended_at": None if ended is None else ended.at,
        "last_at": history.last_at,
        "now": round(time.time(), 3),
        "trigger": started.trigger,
        "budget": started.budget,
        "plan": started.plan,
        "has_drawing": bool(started.drawing),
    }


def join_document(name: str, join: JoinHistory) -> dict[str, Any]:
    """All points of a join, a list for each line of the charts."""
    points = list(join.points())
    rows = [dict(point.values()) for point in points]
    drawn = [_strips(point) for point in points]
    names = dict.fromkeys(name for row in rows for name in row)
    inputs = dict.fromkeys(name for strips in drawn for name in strips)
    return {
        "name": name,
        **_latest(join),
        "at": [round(point.at, 3) for point in points],
        "values": {name: [short(row.get(name)) for row in rows] for name in names},
        "strips": {name: [strips.get(name) for strips in drawn] for name in inputs},
    }


def point_document(name: str, join: JoinHistory) -> dict[str, Any]:
    """The newest point of a join; it takes the place of one of the same second."""
    newest = join.newest
    assert newest is not None
    return {
        "name": name,
        **_latest(join),
        "at": round(newest.at, 3),
        "values": {name: short(value) for name, value in newest.values()},
        "strips": _strips(newest),
    }


def short(value: float | None) -> float | None:
    """As many digits as a chart can show; None for what no chart can.

    Examples
    --------
    >>> short(1234.5678), short(float("nan")), short(None)
    (1234.6, None, None)
    """
    return float(f"{value:.5g}") if value is not None and isfinite(value) else None


def _strips(point: Point) -> dict[str, str]:
    """The packed basic windows of each input, as JSON can hold them."""
    return {name: b64encode(strip).decode("ascii") for name, strip in point.strips().items()}


def _latest(join: JoinHistory) -> dict[str, Any]:
    latest, total = join.latest, join.total
    assert total is not None
    recall = total.recall()
    left_out = {name.partition(":")[2]: n for name, n in total.left_out() if n}
    return {
        "kind": latest.kind,
        "inputs": [one.name for one in latest.inputs],
        "batch": int(latest.batch),
        "algorithm": latest.algorithm,
        "driver": latest.driver,
        "allowances": {name: short(rate) for name, rate in latest.allowances.items()},
        "windows": {name: dict(vars(grouped(one))) for name, one in latest.windows.items()},
        "state_rows": int(latest.state_rows),
        "lagging": int(latest.lagging),
        "total": {
            "batches": int(total.count("batches")),
            "rows_in": int(total.sum("rows")),
            "rows_out": int(total.count("rows_out")),
            "recall": None if recall is None else [short(value) for value in recall],
            "missed": short(total.count("missed")),
            "unmet": short(total.count("unmet")),
            "skipped": short(total.sum("skipped")),
            "compared": short(total.sum("compared")),
            "left_out": {cause: int(n) for cause, n in left_out.items()},
        },
    }
