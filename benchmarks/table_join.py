"""A stream with a table of 10 million rows, against Spark's own stream-static join.

The stream's keys follow Zipf's law with exponent 1, a row of the table takes about 120 bytes, and
our join may use a tenth of the table's bytes. Spark's join has all the memory that it can use, in
each form that a user could give it: the table read from its files in every micro-batch, or kept in
memory; broadcast, by sort-merge or by shuffled hash; or with the micro-batch broadcast instead of
the table. What counts is the table read in every batch, and sorted or broadcast, as Spark does if
nobody helps; all others are told too. Results of all are compared on a small table first.
"""

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.systems import in_process
from benchmarks.table_data import KEY, ON, ORDER, Orders, record_customers
from benchmarks.table_join_rows import (
    Batches,
    Size,
    judged,
    our_row,
    ratios_of,
    spark_row,
    told,
)
from benchmarks.table_join_runs import Found
from benchmarks.table_join_systems import OURS, PERSISTED, RIVALS, Plan, Stream
from streamjoin.errors import EngineError

SKEW: Final = 1.0
_GROUP_ROWS: Final = 1_000_000
_CHECKED: Final = (100_000, 2, 5000)
"""Rows of the small table, files of its stream and rows of a file."""

Report = Callable[[str], None]

FULL: Final = Size(
    10_000_000,
    (
        Batches("10k", 10_000, 100, 40),
        Batches("100k", 100_000, 20, 12),
        Batches("1M", 1_000_000, 3, 4),
    ),
    patience=12,
)
SMALL: Final = Size(200_000, (Batches("10k", 10_000, 4, 4), Batches("100k", 100_000, 2, 2)), 4)


def run(report: Report, quick: bool = False) -> dict[str, Any]:
    """Time ours and all forms of Spark's join; `quick` with a small table."""
    size = SMALL if quick else FULL
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        found = _measure(size, Path(work), report)
    rows = [
        our_row(size, each, one) if system == OURS else spark_row(system, each, one)
        for system, mine in found.items()
        for each, one in zip(size.batches, mine, strict=False)
    ]
    for row in rows:
        report(told(row))
    ratios = ratios_of(rows, size)
    for line in judged(ratios):
        report(line)
    return {"bench": "table-join", "rows": rows, "ratios": ratios}


def _measure(size: Size, work: Path, report: Report) -> dict[str, list[Found]]:
    """What each system gave for each size of micro-batches; ours begins anew with each."""
    report(f"recording a table of {size.table_rows:,} rows and its streams")
    record_customers(work / "table", size.table_rows, _GROUP_ROWS)
    orders = Orders(size.table_rows, SKEW)
    for each in size.batches:
        orders.record(work / each.label, each.cold + each.warm, each.rows)
    n_keys, files, n_rows = _CHECKED
    record_customers(work / "small", n_keys, n_keys)
    Orders(n_keys, SKEW).record(work / "check", files, n_rows)
    found: dict[str, list[Found]] = {}
    for each in size.batches:
        report(f"{OURS}, {each.rows:,} rows a batch")
        streams = [Stream(str(work / each.label), str(work / "table"))]
        found.setdefault(OURS, []).extend(_run([OURS], streams, size, work)[OURS])
    for suffix in ("", PERSISTED):
        systems = [name for name in RIVALS if name.endswith(PERSISTED) == bool(suffix)]
        report(f"{', '.join(systems)}: some minutes")
        streams = [
            Stream(str(work / each.label), str(work / "table"), 2 if i == 0 else 1, size.patience)
            for i, each in enumerate(size.batches)
        ]
        found |= _run(systems, streams, size, work)
    return found


def _run(
    systems: list[str], streams: list[Stream], size: Size, work: Path
) -> dict[str, list[Found]]:
    """Let systems join streams in a process, and see that their results are right."""
    results = work / "results"
    shutil.rmtree(results, ignore_errors=True)
    check = Stream(str(work / "check"), str(work / "small"), results=str(results))
    plan = Plan(systems, [check, *streams], size.memory, str(work / "index"))
    said = in_process("benchmarks.table_join_runs", asdict(plan), ", ".join(systems))
    found = {system: [Found.of(one) for one in mine] for system, mine in said.items()}
    for system, mine in found.items():
        if mine[0].failed is None:
            _check(system, results / system, check)
        for one in mine[1:]:
            if sum(one.results) != sum(one.rows):
                raise EngineError(
                    f"bench: {system} has {sum(one.results)} results for {sum(one.rows)} rows"
                )
    return {system: mine[1:] for system, mine in found.items()}


def _check(system: str, results: Path, check: Stream) -> None:
    """Refuse a system whose results differ from those of a plain join."""
    table = pq.read_table(check.table)
    expected = pq.read_table(check.folder).join(table, ON, KEY, "inner")
    given = _sorted(pq.read_table(results), expected.column_names)
    if not given.equals(_sorted(expected, expected.column_names)):
        raise EngineError(f"bench: {system} gives other results than a plain join")


def _sorted(table: pa.Table, names: list[str]) -> pa.Table:
    return table.select(names).sort_by(ORDER).combine_chunks()
