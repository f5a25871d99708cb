"""Made-up records of queries, as joins would have written them: seeded, with a story each."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from streamjoin.metrics import Ages, BasicWindows, InputMetrics, JoinMetrics, TableMetrics
from streamjoin.metrics.recorder import Recorder
from streamjoin.metrics.records import (
    FILE,
    BatchDone,
    Ended,
    Record,
    RecordFile,
    Started,
    to_line,
)

NOON = 1_790_000_000.0 - 1_790_000_000.0 % 86_400 + 43_200
N_BASIC_WINDOWS = 20
PLAN = """Inner join of calls with trades on person, within 10 seconds and 4 seconds of each other.
It remembers about 30,000 rows and needs 0.31 of a core; the budget allows 0.35.

calls --> pack --\\
                  >-- shuffle --> window join --> results
trades -> pack --/
"""
DRAWING = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 160" role="img">
<title>Plan</title><style>rect{fill:#e3ecf7;stroke:#4b77a8}text{font:14px sans-serif;fill:#234}
path{stroke:#4b77a8;fill:none}@media(prefers-color-scheme:dark){rect{fill:#22334a}
text{fill:#dfe8f3}}</style>
<rect x="10" y="20" width="150" height="44" rx="6"/><text x="30" y="47">calls, 10 s</text>
<rect x="10" y="96" width="150" height="44" rx="6"/><text x="30" y="123">trades, 4 s</text>
<rect x="260" y="58" width="160" height="44" rx="6"/><text x="290" y="85">window join</text>
<rect x="500" y="58" width="130" height="44" rx="6"/><text x="535" y="85">results</text>
<path d="M160 42 H210 V80 H260 M160 118 H210 V80 M420 80 H500"/></svg>"""

Metrics = Callable[[int, np.random.Generator], JoinMetrics]


def overloaded(
    n_batches: int = 120,
    *,
    start: float = NOON,
    trigger: float = 1.0,
    query: str = "calls_and_trades",
    run: str = "1",
    ends: bool = True,
    first: int = 0,
) -> Iterator[Record]:
    """Four times the load from 30 % to 60 % of the time: exact, selective, exact again."""
    burst = range(first + int(0.3 * n_batches), first + int(0.6 * n_batches))

    def metrics(batch: int, rng: np.random.Generator) -> JoinMetrics:
        load = 4.0 if batch in burst else 1.0
        return window_batch(batch, start + (batch - first) * trigger, trigger, load, rng)

    started = Started(query, run, start, PLAN, DRAWING, trigger, "35 % of 1 core")
    return story(started, range(first, first + n_batches), metrics, ends)


def exact(n_batches: int = 20, start: float = NOON) -> Iterator[Record]:
    """A join without a budget: nothing is left out and nothing estimated."""

    def metrics(batch: int, rng: np.random.Generator) -> JoinMetrics:
        names = "left", "right"
        inputs = tuple(InputMetrics(name, rows=500, state_bytes=9000) for name in names)
        found = tuple(70 * _bump(5.5, 1.6))
        return JoinMetrics(
            batch=batch,
            at=start + batch,
            seconds=0.4,
            inputs=inputs,
            pairs=70,
            rows_out=70,
            state_rows=300,
            state_bytes=18_000,
            cpu_us=int(90_000 * rng.normal(1, 0.1)),
            windows={name: BasicWindows(0.5, found=found) for name in names},
        )

    return story(Started("exact", "e", start), range(n_batches), metrics, ends=True)


def window_batch(
    batch: int, at: float, trigger: float, load: float, rng: np.random.Generator
) -> JoinMetrics:
    """A batch of a join of two streams, of which trades follow calls by some seconds."""
    budget_us = 350_000 * trigger
    rows = rng.poisson(2000 * load**0.5 * trigger, 2)
    density = np.concatenate([_bump(5.5, 1.6), 0.6 * _bump(0.5, 1.2)])
    every = 25_000 * load * trigger * rng.normal(1, 0.02)
    room = 1_150_000 * trigger / every - np.arange(2 * N_BASIC_WINDOWS)
    part = np.empty(2 * N_BASIC_WINDOWS)
    part[np.argsort(-density)] = np.clip(room, 0, 1)
    found = every * density * 3e-4 * rng.normal(1, 0.04, 2 * N_BASIC_WINDOWS)
    strips = {
        name: BasicWindows(
            seconds=length,
            compared=tuple(every * part[at]),
            skipped=tuple(every * (1 - part[at])),
            found=tuple(found[at]),
            priority=tuple(density[at] * 0.02) if load > 1 else (),
        )
        for name, length, at in (
            ("left", 0.5, slice(N_BASIC_WINDOWS)),
            ("right", 0.2, slice(N_BASIC_WINDOWS, None)),
        )
    }
    pairs = sum(np.dot(one.found, one.fractions) for one in strips.values())
    missed = sum(sum(one.found) for one in strips.values()) - pairs
    inputs = tuple(
        InputMetrics(
            name,
            rows=int(n),
            late=int(rng.poisson(2 * load**0.5)),
            compared=int(sum(strips[name].compared)),
            skipped=int(sum(strips[name].skipped)),
            state_rows=int(n * (10 if name == "left" else 4)),
            state_bytes=int(n * (640 if name == "left" else 260)),
        )
        for name, n in zip(strips, rows, strict=True)
    )
    needed_us = min(280_000 * load * trigger, budget_us * 0.97) * rng.normal(1, 0.03)
    return JoinMetrics(
        batch=batch,
        at=round(at, 3),
        seconds=round(trigger * min(0.95, 0.4 + 0.13 * load) * float(rng.normal(1, 0.05)), 3),
        inputs=inputs,
        pairs=int(pairs),
        rows_out=int(pairs),
        missed=round(float(missed), 1),
        missed_variance=round(float(missed) * 14, 1),
        state_rows=sum(one.state_rows for one in inputs),
        state_bytes=sum(one.state_bytes for one in inputs),
        selective=2 if load > 1 else 0,
        cpu_us=int(needed_us),
        budget_us=int(budget_us),
        costs_us={"receiving": 0.9, "comparing": 0.011, "emitting": 0.4},
        behind=round(float(0.6 + 0.5 * load * rng.random()), 2),
        ages=_ages(int(pairs), 2.6, rng),
        windows=strips,
        algorithm="hash",
    )


def with_table(n_batches: int = 90, start: float = NOON) -> Iterator[Record]:
    """A stream that is enriched: the cache warms, then a burst makes rows wait."""

    def metrics(batch: int, rng: np.random.Generator) -> JoinMetrics:
        burst = 0.5 * n_batches < batch < 0.7 * n_batches
        rows = int(rng.poisson(9000 if burst else 4000))
        hits = int(rows * 0.86 * (1 - np.exp(-batch / 8)))
        table = TableMetrics(
            hits=hits,
            looked_up=rows - hits,
            loads=12,
            shed=1200 if burst else 0,
            cached_rows=min(40_000, 3000 * (batch + 1)),
            waiting_rows=int(rng.poisson(2500 if burst else 300)),
            spilled_rows=1200 * max(0, batch - n_batches // 2) if burst else 0,
        )
        return JoinMetrics(
            name="people",
            kind="table",
            batch=batch,
            at=start + batch,
            seconds=0.5,
            inputs=(InputMetrics("stream", rows=rows, null=rng.poisson(1)),),
            pairs=rows,
            rows_out=rows,
            state_bytes=5_000_000 + table.waiting_rows * 90,
            state_rows=table.waiting_rows,
            cpu_us=420_000,
            algorithm="chybridjoin",
            table=table,
        )

    started = Started("calls_and_people", "t", start, "Stream with a table.", "", 1.0, "8 MB")
    return story(started, range(n_batches), metrics, ends=True)


def of_three_streams(n_batches: int = 90, start: float = NOON) -> Iterator[Record]:
    """A plan of three streams with a freshness, on a budget, whose driver changes."""

    def metrics(batch: int, rng: np.random.Generator) -> JoinMetrics:
        part = 0.45 if batch > n_batches // 2 else 1.0
        inputs = tuple(
            InputMetrics(
                name,
                rows=int(rng.poisson(rate)),
                compared=int(rate * part),
                skipped=int(rate * (1 - part)),
                state_bytes=rate * 400,
                state_rows=rate * 10,
            )
            for name, rate in (("orders", 900), ("payments", 700), ("shipments", 300))
        )
        return JoinMetrics(
            name="shop",
            kind="plan",
            batch=batch,
            at=start + batch,
            seconds=0.6,
            inputs=inputs,
            pairs=int(240 * part),
            rows_out=int(240 * part),
            missed=240 * (1 - part),
            stale=int(rng.poisson(6)),
            state_rows=19_000,
            state_bytes=sum(one.state_bytes for one in inputs) + 150_000,
            cpu_us=int(400_000 * part),
            budget_us=250_000 if part < 1 else 500_000,
            ages=_ages(int(240 * part), 45.0, rng),
            allowances={"orders": 405.0, "payments": 315.0, "shipments": 135.0},
            algorithm="nary",
            driver="orders" if batch < n_batches // 3 else "payments",
            behind=0.8,
        )

    started = Started("shop", "m", start, "Orders, payments, shipments.", "", 1.0, "cpu 25 %")
    return story(started, range(n_batches), metrics, ends=True)


def failed(start: float = NOON) -> list[Record]:
    """A query that stops with an error."""
    records = list(overloaded(20, start=start, query="fragile", ends=False))
    return [*records, Ended(start + 20, "No space left on device: /data/state <b>disk</b>")]


def write_a_day(folder: Path, start: float, n_seconds: int = 86_400) -> None:
    """Write a batch of 1 KB for each second of a day, with bursts of ten minutes; as lines."""
    rng = np.random.default_rng(5)

    def line(load: float) -> str:
        batch = window_batch(0, 1.0, 1.0, load, rng)
        return to_line(BatchDone(replace(batch, windows={"left": batch.windows["left"]})))

    calm, burst = ([line(load) for _ in range(50)] for load in (1.0, 4.0))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / FILE).open("w") as file:
        file.write(to_line(Started("a_day", "d", start, PLAN, DRAWING, 1.0, "35 % of 1 core")))
        for second in range(n_seconds):
            batch = (burst if second % 10_000 < 600 else calm)[second % 50]
            file.write("\n" + batch.replace('"at":1.0,', f'"at":{start + second:.3f},'))
        file.write("\n")


def story(
    started: Started, batches: Iterable[int], metrics: Metrics, ends: bool
) -> Iterator[Record]:
    """All records of a run, with the decisions that a join would have said."""
    rng, seen = np.random.default_rng(3), list[Record]()
    recorder = Recorder(started.query, [lambda _, record: seen.append(record)])
    recorder.tell(started)
    at = started.at
    for batch in batches:
        done = metrics(batch, rng)
        at = done.at + done.seconds
        recorder.see([done])
        yield from seen
        seen.clear()
    if ends:
        yield Ended(at + 0.2)


def write(folder: Path, *records: Iterable[Record]) -> Path:
    """Append records to the file of a query."""
    file = RecordFile(folder)
    for record in chain(*records):
        file.write(record)
    return folder


def _bump(middle: float, width: float) -> NDArray[np.float64]:
    """How productive basic windows are: one hill."""
    return np.exp(-0.5 * ((np.arange(N_BASIC_WINDOWS) / 2 - middle) / width) ** 2) + 0.004


def _ages(n: int, middle: float, rng: np.random.Generator) -> Ages:
    values = middle * np.exp(rng.normal(0, 0.4, min(n, 400)))
    buckets = np.floor(4 * np.log2(values * 1e6)).astype(int)
    each = {
        int(b): int(count) for b, count in zip(*np.unique(buckets, return_counts=True), strict=True)
    }
    return Ages(each, round(float(max(values)), 3))
