"""The algorithms for joins with a table, against each other: service rates, in this process.

The orderings that Naeem et al. (2017) state for a disk of their time, measured on this machine: on
10 million customers in Parquet files and in a PostgreSQL server of our own, on TPC-H's customers
and orders, and on recorded flights with their airports. What is not at hand is left out, with the
reason. The system's page cache is not emptied: after the first pass the table's files are in
memory, so reading them costs decoding and copying but no seek.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks import table_server
from benchmarks.table_orderings import (
    ALGORITHMS,
    AMORTISED,
    CONSIDERING,
    PAIRS,
    UPFRONT,
    Ordering,
    Setting,
    by_size,
    gain,
    orderings,
)
from benchmarks.table_rates import Pace, Rate, service_rate
from benchmarks.table_sources import (
    Source,
    flights_missing,
    flights_source,
    parquet_source,
    postgresql_source,
    tpch_missing,
    tpch_source,
)

OVERLOAD: Final = 3
"""How many times the rows come that a join can answer, where it must shed."""
Report = Callable[[str], None]


@dataclass(frozen=True)
class Size:
    """How much is measured.

    Parameters
    ----------
    rows, few_rows
        Of the table, and of a smaller one that has the same memory.
    scale
        TPC-H's scale factor.
    pace
        How long each setting takes.
    share, little
        Parts of the table's bytes that a join has; skew 0 is measured with the first only.
    """

    rows: int
    few_rows: int
    scale: float
    pace: Pace
    share: float = 0.1
    little: float = 0.01


FULL: Final = Size(10_000_000, 2_000_000, 10, Pace(100_000, fill=2, most=40, seconds=3))
SMALL: Final = Size(200_000, 40_000, 0.05, Pace(5000, fill=0.1, most=2, seconds=0.2))


def run(report: Report, quick: bool = False) -> dict[str, Any]:
    """Measure all settings that are at hand; `quick` with small tables."""
    size = SMALL if quick else FULL
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        bench = _Bench(size, Path(work), report)
        bench.made_up()
        bench.in_a_database()
        bench.tpch()
        bench.flights()
    rates = {setting: rate.rows_per_s for setting, rate in bench.rates.items() if rate.filled}
    found = [*orderings(rates), *by_size(rates, *bench.sizes)]
    for one in found:
        report(_told(one))
    return {
        "bench": "table-algorithms",
        "rows": [{**s._asdict(), **asdict(rate)} for s, rate in bench.rates.items()],
        "ratios": dict(_ratios(rates)),
        "orderings": [asdict(one) for one in found],
        "skipped": bench.skipped,
    }


class _Bench:
    """Measures, and remembers what it has found."""

    def __init__(self, size: Size, work: Path, report: Report) -> None:
        self._size, self._work, self._report = size, work, report
        self.rates: dict[Setting, Rate] = {}
        self.skipped: dict[str, str] = {}

    def made_up(self) -> None:
        """Parquet files: large and small tables, with and without a copy, and shedding."""
        size, share = self._size, self._size.share
        large = parquet_source(self._work, size.rows)
        self._all(large, share, 1.0)
        self._shed(large, share)
        self._all(large, share, 0.0)
        self._all(large, size.little, 1.0)
        self._all(parquet_source(self._work, size.rows, copied=True), share, 1.0)
        small = parquet_source(self._work, size.few_rows)
        part = share * large.n_bytes / small.n_bytes
        self._all(small, part, 1.0, tuple(c + name for name in AMORTISED for c in ("", "c")))
        self.sizes = (
            Setting(small.name, part, 1.0, ""),
            Setting(large.name, share, 1.0, ""),
        )

    def in_a_database(self) -> None:
        """PostgreSQL."""
        if self._lacks("postgresql", table_server.missing()):
            return
        with table_server.Server() as server:
            self._report("loading PostgreSQL")
            source = postgresql_source(server, self._size.rows)
            self._all(source, self._size.share, 1.0)
            self._all(source, self._size.share, 0.0)
            self._all(source, self._size.little, 1.0)

    def tpch(self) -> None:
        """TPC-H's customers and orders, as generated and by Zipf's law."""
        if not self._lacks("tpch", tpch_missing()):
            source = tpch_source(self._work, self._size.scale)
            self._all(source, self._size.share, 0.0)
            self._all(source, self._size.share, 1.0)

    def flights(self) -> None:
        """Recorded flights, whose airports are about as skewed as Zipf's law."""
        if not self._lacks("flights", flights_missing()):
            self._all(flights_source(self._work), self._size.share, 1.0)

    def _lacks(self, name: str, reason: str | None) -> bool:
        if reason is not None:
            self.skipped[name] = reason
            self._report(f"{name}: skipped, since {reason}")
        return reason is not None

    def _all(
        self,
        source: Source,
        share: float,
        skew: float,
        algorithms: tuple[str, ...] = ALGORITHMS,
    ) -> None:
        for name in algorithms:
            self._measure(source, Setting(source.name, share, skew, name), name)

    def _shed(self, source: Source, share: float) -> None:
        """More rows than can be answered: shed after considering, and upfront."""
        free = self.rates[Setting(source.name, share, 1.0, "chybridjoin")]
        if not free.filled:
            return
        cpu = timedelta(seconds=self._size.pace.batch_rows / free.rows_per_s / OVERLOAD)
        for name, shed in ((CONSIDERING, "considering"), (UPFRONT, "upfront")):
            setting = Setting(source.name, share, 1.0, name)
            self._measure(source, setting, "chybridjoin", cpu=cpu, shed=shed)

    def _measure(self, source: Source, setting: Setting, algorithm: str, **more: Any) -> None:
        memory = round(setting.memory * source.n_bytes)
        index = self._work / "index"
        rate = service_rate(source, algorithm, memory, setting.skew, self._size.pace, index, **more)
        self.rates[setting] = rate
        self._report(
            f"{setting.source:25} {setting.memory:4.0%} skew {setting.skew:g} "
            f"{setting.algorithm:23} {rate.rows_per_s:>11,.0f} rows/s, {rate.hits:4.0%} hits"
            + ("" if rate.filled else ", memory not full yet")
        )


def _ratios(rates: dict[Setting, float]) -> Iterator[tuple[str, float]]:
    """Rates with a front stage over those without, and what is chosen over the best."""
    groups = dict.fromkeys((s.source, s.memory, s.skew) for s in rates)
    for source, memory, skew in groups:
        where = f"{source} {memory:.0%} skew {skew:g}"
        for name in PAIRS:
            found = gain(rates, source, memory, skew, name)
            if found is not None:
                yield f"{where} c{name}/{name}", found
        others = [rates.get(Setting(source, memory, skew, name)) for name in ALGORITHMS[:-1]]
        auto = rates.get(Setting(source, memory, skew, ALGORITHMS[-1]))
        if auto is not None:
            yield f"{where} auto/best", auto / max(rate for rate in others if rate is not None)


def _told(one: Ordering) -> str:
    numbers = ", ".join(f"{name} {value:.2f}" for name, value in one.measured.items())
    return f"{one.claim} {one.source}: {one.stated}: {'yes' if one.holds else 'NO'} ({numbers})"
