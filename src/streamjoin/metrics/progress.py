"""Read what Spark reports of a batch: the counters and details of each join as `JoinMetrics`."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any, Final

from streamjoin.metrics import Details, InputMetrics, JoinMetrics, TableMetrics
from streamjoin.metrics.catalogue import TOGETHER

COUNTERS_FIELD: Final = "counters"
"""Name of the struct with a join's counters, below the join's name in ``observedMetrics``."""
DETAILS_FIELD: Final = "details"
"""Name of the list in it of what each shard tells besides."""
LONGEST_DELAY: Final = 7 * 86_400.0
"""Seconds; rows that are older than that were recorded: nobody waits for them."""
_FIELDS: Final = frozenset(field.name for field in fields(JoinMetrics))
_STEP: Final = re.compile(r"(.+) \d+")
Counters = Mapping[str, Any]


@dataclass(frozen=True)
class Progress:
    """What one micro-batch did.

    Parameters
    ----------
    batch
        Its number.
    started, seconds
        When it began, in seconds since 1970, and how long it took.
    rows_in, rows_out
        Input rows of all sources, and result rows.
    joins
        What each join of the query did, in the order of their names; empty if the batch did not
        say.
    """

    batch: int
    started: float
    seconds: float
    rows_in: int
    rows_out: int
    joins: tuple[JoinMetrics, ...] = ()

    @property
    def whole(self) -> JoinMetrics:
        """What the one join of a pipeline did; zeros if the batch did not say."""
        if self.joins:
            return self.joins[-1]
        return JoinMetrics(batch=self.batch, at=self.started, seconds=self.seconds)


def read_progress(document: dict[str, Any]) -> Progress:
    """Read one of Spark's progress documents, with what its joins counted.

    Examples
    --------
    >>> progress = read_progress({
    ...     "batchId": 3, "timestamp": "2026-01-01T00:00:00.000Z",
    ...     "sources": [{"numInputRows": 6}, {"numInputRows": 4}],
    ...     "durationMs": {"triggerExecution": 250}, "sink": {"numOutputRows": -1},
    ...     "observedMetrics": {"streamjoin": {"counters": {"rows_out": 4, "late_left": 1}}}})
    >>> progress.rows_in, progress.rows_out, progress.whole.late, progress.seconds
    (10, 4, 1, 0.25)
    """
    started = datetime.fromisoformat(document["timestamp"].replace("Z", "+00:00")).timestamp()
    seconds = document["durationMs"].get("triggerExecution", 0) / 1000
    when = {"batch": document["batchId"], "at": started, "seconds": seconds}
    joins = tuple(_joins(document.get("observedMetrics", {}), when))
    written = max(document["sink"].get("numOutputRows", 0), 0)
    return Progress(
        batch=document["batchId"],
        started=started,
        seconds=seconds,
        rows_in=sum(source["numInputRows"] for source in document["sources"]),
        rows_out=(joins[0].rows_out if len(joins) == 1 else 0) or written,
        joins=joins,
    )


def is_batch(document: dict[str, Any]) -> bool:
    """Whether a progress is that of a batch; an idle trigger reports too, as the one to come."""
    return "addBatch" in document["durationMs"]


def _joins(observed: Mapping[str, Any], when: Mapping[str, Any]) -> Iterator[JoinMetrics]:
    """What joins counted; the operators of a plan are one join."""
    steps: dict[str, list[JoinMetrics]] = {}
    for name, values in observed.items():
        counters = _counters(values)
        if counters:
            metrics = _metrics(name, counters, when)
            whole = plan_of(name)
            is_part = metrics.kind == "plan" and whole in observed
            steps.setdefault(whole if is_part and whole else name, []).append(metrics)
    for name, parts in steps.items():
        # that of the last operator has the name of the plan
        ordered = sorted(parts, key=lambda part: part.name == name)
        yield ordered[0] if len(parts) == 1 else _plan(ordered)


def plan_of(name: str) -> str | None:
    """The plan whose operator has a name like this, if one does.

    Examples
    --------
    >>> plan_of("orders 2"), plan_of("orders")
    ('orders', None)
    """
    step = _STEP.fullmatch(name)
    return step[1] if step else None


def _plan(operators: list[JoinMetrics]) -> JoinMetrics:
    """A plan of several operators: results are those of the last, rows and work those of all."""
    last = operators[-1]
    added = ("state_rows", "state_bytes", "held_rows", "work", "cpu_us", "looked_at")
    sums = {name: sum(getattr(one, name) for one in operators) for name in added}
    inputs: dict[str, InputMetrics] = {}
    for one in (one for operator in operators for one in operator.inputs):
        known = inputs.get(one.name, InputMetrics(one.name))
        # Of one batch, unlike over batches, sizes are added up too.
        rows, size = known.state_rows + one.state_rows, known.state_bytes + one.state_bytes
        inputs[one.name] = replace(known + one, state_rows=rows, state_bytes=size)
    return replace(last, **sums, inputs=tuple(inputs.values()))


def _metrics(name: str, counters: Counters, when: Mapping[str, Any]) -> JoinMetrics:
    told = Details.together([Details.from_json(text) for text in counters.get(DETAILS_FIELD) or ()])
    of_kind = _of_two
    if "hits" in counters:
        of_kind = _of_table
    elif "results" in counters:
        of_kind = _of_many
    details = {field: value for field, value in vars(told).items() if field in _FIELDS}
    # All kinds of joins have some counters, which are called as what they are read as.
    alike = {field: value or 0 for field, value in counters.items() if field in _FIELDS}
    metrics = JoinMetrics(name, **when, **{**details, **alike, **of_kind(counters)})
    end = when["at"] + when["seconds"]
    behind = None if told.newest is None else max(0.0, end - told.newest / 1e6)
    return replace(
        metrics,
        behind=None if behind is None or behind > LONGEST_DELAY else round(behind, 3),
        allowances={name: round(n, 2) for name, n in told.allowances.items()},
        algorithm=told.algorithm or metrics.algorithm,
    )


def _of_two(counters: Counters) -> dict[str, Any]:
    methods = {method: _n(counters, f"by_{method}") for method in ("batch", "hash", "nested")}
    return {
        "inputs": tuple(_input(counters, side, "compared") for side in ("left", "right")),
        "algorithm": ", ".join(f"{method} {n}" for method, n in methods.items() if n),
    }


def _of_many(counters: Counters) -> dict[str, Any]:
    names = [name.removeprefix("rows_") for name in counters if name.startswith("rows_")]
    streams = [name for name in names if name != "out" and TOGETHER not in name]
    inputs = [_input(counters, name, "probed") for name in streams]
    formed = [name for name in names if TOGETHER in name] + ["intermediate"]
    between = InputMetrics(
        "intermediate",
        compared=sum(_n(counters, f"probed_{name}") for name in formed),
        skipped=sum(_n(counters, f"skipped_{name}") for name in formed),
        state_rows=_n(counters, "intermediate_rows"),
    )
    if between != InputMetrics("intermediate"):
        inputs.append(between)
    return {"kind": "plan", "inputs": tuple(inputs), "pairs": _n(counters, "results")}


def _of_table(counters: Counters) -> dict[str, Any]:
    rows, null, alone = (_n(counters, name) for name in ("rows", "null", "alone"))
    table = TableMetrics(**{one.name: _n(counters, one.name) for one in fields(TableMetrics)})
    return {
        "kind": "table",
        "inputs": (InputMetrics("stream", rows=rows, null=null, alone=alone),),
        "rows_out": _n(counters, "pairs") + alone,
        "state_rows": table.cached_rows + table.waiting_rows + table.spilled_rows,
        "table": table,
    }


def _input(counters: Counters, name: str, compared: str) -> InputMetrics:
    """What was counted of one input; `compared` is the word for its comparisons."""
    names = {field.name: field.name for field in fields(InputMetrics)[1:]} | {"compared": compared}
    return InputMetrics(name, **{f: _n(counters, f"{word}_{name}") for f, word in names.items()})


def _n(counters: Counters, name: str) -> int:
    return int(counters.get(name) or 0)


def _counters(values: dict[str, Any]) -> dict[str, Any]:
    """Counters by name; Spark Connect hands over the values and, apart from them, the schema.

    Examples
    --------
    >>> kind = {"fields": [{"name": "pairs"}, {"name": "rows_out"}]}
    >>> schema = {"fields": [{"name": "counters", "type": kind}]}
    >>> _counters({"values": [{"values": [4, None], "schema": kind}], "schema": schema})
    {'pairs': 4, 'rows_out': None}
    """
    counters = _by_name(values).get(COUNTERS_FIELD)
    return {} if counters is None else _by_name(counters)


def _by_name(values: dict[str, Any]) -> dict[str, Any]:
    if set(values) != {"values", "schema"}:
        return values
    names = [field["name"] for field in values["schema"]["fields"]]
    return dict(zip(names, values["values"], strict=True))
