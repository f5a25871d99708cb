"""Benchmarks, each a module with ``run(report, quick=False) -> dict``.

`BENCHES` maps the name on the command line to the module; modules are imported when they are run,
so that listing the names needs neither Spark nor DuckDB.
"""

BENCHES = {
    "kernel": "streamjoin.bench.kernel",
    "window-join": "streamjoin.bench.window_join",
    "join-types": "streamjoin.bench.join_types",
    "window-growth": "streamjoin.bench.window_growth",
    "budget": "streamjoin.bench.budget",
    "shedding": "streamjoin.bench.shedding",
    "news": "streamjoin.bench.news",
    "recall": "streamjoin.bench.recall",
    "multi-join": "streamjoin.bench.multi_join",
    "mjoin": "streamjoin.bench.mjoin",
    "table-join": "streamjoin.bench.table_join",
    "table-algorithms": "streamjoin.bench.table_algorithms",
    "metrics": "streamjoin.bench.metrics",
    "scale": "streamjoin.bench.scale",
}

__all__ = ["BENCHES"]
