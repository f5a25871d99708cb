"""Benchmarks, each a module with ``run(report, quick=False) -> dict``.

`BENCHES` maps the name on the command line to the module; modules are imported when they are run,
so that listing the names needs neither Spark nor DuckDB.
"""

BENCHES = {
    "kernel": "benchmarks.kernel",
    "window-join": "benchmarks.window_join",
    "join-types": "benchmarks.join_types",
    "window-growth": "benchmarks.window_growth",
    "budget": "benchmarks.budget",
    "shedding": "benchmarks.shedding",
    "news": "benchmarks.news",
    "recall": "benchmarks.recall",
    "multi-join": "benchmarks.multi_join",
    "mjoin": "benchmarks.mjoin",
    "table-join": "benchmarks.table_join",
    "table-algorithms": "benchmarks.table_algorithms",
    "metrics": "benchmarks.metrics",
    "scale": "benchmarks.scale",
}

__all__ = ["BENCHES"]
