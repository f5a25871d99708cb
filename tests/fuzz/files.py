"""Targets that read files: metrics, indexes and copies of tables, decisions, calibrations."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

import streamjoin as sj
from streamjoin.calibration import store
from streamjoin.dashboard.feed import Tail, read_ends
from streamjoin.dashboard.history import History, query_document
from streamjoin.dashboard.store import summarise
from streamjoin.joins.channel import Channel, Run
from streamjoin.metrics.records import FILE, to_line
from tests.dashboard import recordings
from tests.fuzz.target import Choices, Target, damaged, scratch, sentences_only

KEYS = pa.array([*range(0, 40, 3), 7, 100, -5], pa.int64())


def metrics_file(data: bytes) -> None:
    """Read the records of a query as the live page does: any line may be damaged."""
    folder = scratch() / "metrics"
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_bytes(data)
    history = History()
    for record in Tail(folder).read():
        history.add(record)
    json.dumps(query_document(history, folder), allow_nan=False)
    summarise(folder)
    list(read_ends(folder, 1000))


@cache
def _table() -> tuple[Path, Path]:
    """A folder of Parquet files, and one with its index and copies."""
    folder, index = scratch() / "table", scratch() / "sound index"
    folder.mkdir()
    for part in range(2):
        numbers = range(20 * part, 20 * part + 20)
        rows = pa.table({"id": list(numbers), "name": [f"n{i}" * (i % 4) for i in numbers]})
        pq.write_table(rows, folder / f"{part}.parquet", row_group_size=7)
    for copy in (False, True):
        _look_up(folder, index, copy)
    return folder, index


def _look_up(folder: Path, index: Path, copy: bool = True) -> Counter[str]:
    table = sj.parquet_table(folder, key="id", unique=True, copy=copy).open(index, 1 << 20)
    try:
        return Counter(map(repr, table.look_up([KEYS]).to_pylist()))
    finally:
        table.close()


@cache
def _answers() -> Counter[str]:
    return _look_up(*_table())


def table_index(data: bytes) -> None:
    """Damage a file of a table's index or a copy: it is made anew, or the error says so."""
    folder, sound = _table()
    expected = _answers()
    index = scratch() / "index of a damaged one"
    shutil.rmtree(index, ignore_errors=True)
    shutil.copytree(sound, index)
    choices = Choices(data)
    files = sorted(path for path in index.rglob("*") if path.is_file() and path.stat().st_size)
    for _ in range(1 + choices.below(2)):
        file = choices.of(files)
        file.write_bytes(damaged(file.read_bytes(), choices))
    for copy in (False, True):
        with sentences_only():
            assert _look_up(folder, index, copy) == expected


def decisions(data: bytes) -> None:
    """Read what shards told each other through a folder."""
    folder, run = scratch() / "decisions", Run("q", 3, 0)
    place = folder / "q" / "join"
    place.mkdir(parents=True, exist_ok=True)
    for name in ("0-2.json", "gate-2.json", "plan-2-0-0.json"):
        (place / name).write_bytes(data)
        os.utime(place / name, ns=(next(_TICKS), 0))
    with sentences_only():
        channel = Channel(str(folder), "join", (0,), ((0,),), has_gate=True, n_operators=1)
        channel.at(run).decided()
        channel.at(run, 0).measured()


def _ticks() -> Iterator[int]:
    yield from range(1 << 62)


_TICKS = _ticks()


def calibration(data: bytes) -> None:
    """Load a calibration: one that cannot be used is passed over."""
    file = scratch() / "calibration.json"
    file.write_bytes(data)
    with sentences_only(), patch.dict(os.environ, STREAMJOIN_CALIBRATION=str(file)):
        store.load()


def _records() -> list[bytes]:
    queries = (recordings.overloaded(4), recordings.exact(3))
    return ["\n".join([*map(to_line, records), ""]).encode() for records in queries]


def _decisions() -> list[bytes]:
    hot = {"key": 5, "since": 100, "batch": 2, "columns": 1, "cells": [0, 0]}
    return [json.dumps(value).encode() for value in (hot, [0.5, 1.0], {"rows": [1.5, 2]})]


def _calibrations() -> list[bytes]:
    costs = {"access": 1.0, "probe": 2.0, "insert": 3.0, "invalidate": 4.0}
    fit = {"r_squared": 0.9, "worst": 0.5, "settings": 9}
    values = {
        "version": store.VERSION, "operations": {}, "nested": costs, "hashed": costs,
        "ratios": [[10, 1.5]], "tuple_fit": fit, "batch_fit": fit, "batch_loss": 0.1,
        "crossovers": [{"methods": "a|b", "size": 3, "predicted": 1.0, "measured": None}],
    }  # fmt: skip
    return [json.dumps(values).encode()]


TARGETS = {
    "metrics_file": Target(metrics_file, _records),
    "table_index": Target(table_index, lambda: [bytes([i, 0]) * 9 for i in range(12)]),
    "decisions": Target(decisions, _decisions),
    "calibration": Target(calibration, _calibrations),
}
