"""What is shown of joins of a stream with a table: rows, and ratios to Spark's own join."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from benchmarks.table_data import ROW_BYTES
from benchmarks.table_join_runs import Found
from benchmarks.table_join_systems import OURS, STATIC

MEMORY_SHARE: Final = 0.1
"""Part of the table's bytes that ours may use."""
WANTED: Final = {"10k": 20.0, "100k": 8.0, "1M": 3.0}
"""Least ratios to Spark's stream-static join, by the size of a micro-batch."""


@dataclass(frozen=True)
class Batches:
    """Micro-batches of a size.

    Parameters
    ----------
    label, rows
        What the size is called in ratios, and rows of a micro-batch.
    cold, warm
        Of ours: batches that do not count, while the cache fills, and batches that do.
    """

    label: str
    rows: int
    cold: int
    warm: int


@dataclass(frozen=True)
class Size:
    """How much is run.

    Parameters
    ----------
    table_rows
        Rows of the table.
    batches
        The sizes of micro-batches, in growing order.
    patience
        Seconds that a form of Spark's join has for each of them, beyond a first batch.
    """

    table_rows: int
    batches: tuple[Batches, ...]
    patience: float

    @property
    def memory(self) -> int:
        """Bytes that our join may use."""
        return round(MEMORY_SHARE * ROW_BYTES * self.table_rows)


def spark_row(system: str, batches: Batches, found: Found) -> dict[str, Any]:
    """What a form of Spark's join did; its first batch counts only if there is no other."""
    if found.failed is not None:
        return {"system": system, "batch_rows": batches.rows, "failed": found.failed}
    seconds = found.seconds[1:] or found.seconds
    return {
        "system": system,
        "batch_rows": batches.rows,
        "rows_per_s": batches.rows * len(seconds) / sum(seconds),
        "batch_s": sum(seconds) / len(seconds),
        "counted": len(seconds),
        "first_batch_s": found.seconds[0],
    }


def our_row(size: Size, batches: Batches, found: Found) -> dict[str, Any]:
    """What ours did: rows that were answered in the warm batches, and memory in all of them."""
    end = batches.cold + batches.warm
    seconds, counts = found.seconds[batches.cold : end], found.counts
    waiting = counts[end - 1]["waiting_rows"] - counts[batches.cold - 1]["waiting_rows"]
    came = sum(found.rows[batches.cold : end])
    peak = found.peak
    own = peak.anon - found.idle.anon * peak.workers / max(1, found.idle.workers)
    return {
        "system": OURS,
        "batch_rows": batches.rows,
        "rows_per_s": (came - waiting) / sum(seconds),
        "batch_s": sum(seconds) / len(seconds),
        "counted": len(seconds),
        "first_batch_s": found.seconds[0],
        "cold_rows_per_s": sum(found.rows[: batches.cold]) / sum(found.seconds[: batches.cold]),
        "drain_s": sum(found.seconds[end:]),
        "hits": sum(c["hits"] for c in counts[batches.cold : end]) / came,
        "waiting_rows": counts[end - 1]["waiting_rows"],
        "workers": peak.workers,
        "idle_mb": found.idle.anon / 1e6,
        "peak_mb": peak.anon / 1e6,
        "above_idle_mb": own / 1e6,
        "budget_mb": size.memory / 1e6,
        "idle_file_mb": found.idle.file / 1e6,
        "peak_file_mb": peak.file / 1e6,
    }


def told(row: Mapping[str, Any]) -> str:
    """A row in a line."""
    what = f"{row['system']:31} {row['batch_rows']:>9,} rows a batch: "
    if "failed" in row:
        return what + f"failed: {row['failed']}"
    what += (
        f"{row['rows_per_s']:>11,.0f} rows/s, {row['counted']} batches of {row['batch_s']:.2f} s"
    )
    if "peak_mb" in row:
        what += (
            f"; {row['workers']} workers, {row['above_idle_mb']:,.0f} MB above the "
            f"{row['idle_mb']:,.0f} MB when idle, budget {row['budget_mb']:,.0f} MB"
        )
    return what


def ratios_of(rows: list[dict[str, Any]], size: Size) -> dict[str, float]:
    """Ours against Spark's stream-static join, the quickest of all forms, and each."""
    ratios: dict[str, float] = {}
    for each in size.batches:
        speeds = {
            row["system"]: row["rows_per_s"]
            for row in rows
            if row["batch_rows"] == each.rows and "failed" not in row
        }
        ours = speeds.pop(OURS)
        static = max(speeds[name] for name in STATIC if name in speeds)
        ratios[f"streamjoin/spark-static-{each.label}"] = ours / static
        ratios[f"streamjoin/spark-any-{each.label}"] = ours / max(speeds.values())
        ratios |= {f"streamjoin/{name}-{each.label}": ours / v for name, v in speeds.items()}
    for row in rows:
        if row["system"] == OURS:
            label = next(each.label for each in size.batches if each.rows == row["batch_rows"])
            ratios[f"memory/budget-{label}"] = row["above_idle_mb"] / row["budget_mb"]
    return ratios


def judged(ratios: Mapping[str, float]) -> list[str]:
    """Whether what is wanted was reached."""
    named = {f"streamjoin/spark-static-{label}": least for label, least in WANTED.items()}
    return [
        f"{name}: {ratios[name]:.1f}, wanted at least {least:g}: "
        + ("reached" if ratios[name] >= least else "NOT reached")
        for name, least in named.items()
        if name in ratios
    ]
