"""The catalogue of counters: all names that a join's shards send to the driver, by kind of join.

Two streams count the fields of `counts.JoinCounts`; many streams some of each input and some of the
whole plan; a join with a table has its own. Shards send numbers in the order of these names.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from streamjoin.metrics.counts import METRIC_NAMES

PER_INPUT: Final = (
    "rows", "late", "idle_late", "null", "ahead", "probed", "skipped", "state_rows", "state_bytes",
)  # fmt: skip
"""Counted of each input: rows that came, that were late, late because an idle input was given up
on, without a key or a time, with a time too far ahead of the clock; those that probed and that did
not, to keep within the budget; and what is remembered of it."""
OF_ALL: Final = (
    "intermediate",
    "probed_intermediate",
    "skipped_intermediate",
    "results",
    "stale",
    "rows_out",
    "missed",
    "state_rows",
    "state_bytes",
    "intermediate_rows",
    "held_rows",
    "work",
    "busiest",
    "cpu_us",
    "analysed",
    "adapted",
    "infeasible",
    "reordered",
    "nary",
    "driver_changes",
)
"""Counted of the whole plan.

`intermediate` are tuples that joins below the root have formed, of which some probe on and some are
skipped; `results` those of the root, of which `stale` ones are withheld and `rows_out` come out;
`missed` is an estimate of the results that were not found; `state_rows` are remembered rows of the
streams and `intermediate_rows` remembered tuples of joins; `analysed` and `adapted` count how often
allowances were thought over and changed, `infeasible` shards in which the freshness asked for
cannot be had, `reordered` changes of the plan, `nary` shards that work as one n-ary join and
`driver_changes` how often another of its inputs drove.
"""

Counts = Counter[str]

TOGETHER: Final = "+"
"""Between the streams of partial results, in the name of an input: no stream's own name has it."""

TWO_STREAM_COUNTERS: Final = METRIC_NAMES

TABLE_COUNTERS: Final = (
    "rows", "null", "hits", "looked_up", "loads", "pairs", "alone", "waiting_rows", "spilled_rows",
    "shed", "reloaded", "cached_rows", "state_bytes", "work", "busiest", "cpu_us",
)  # fmt: skip
"""Rows that came, that had no key, that the front stage answered, that were looked up; partitions
loaded; results with a table row and without; rows that wait, that are spilled, that were spilled
now and that came again now; table rows that are cached; bytes of all that is kept."""


def many_stream_counters(inputs: Sequence[str]) -> tuple[str, ...]:
    """What a join of these inputs counts.

    Examples
    --------
    >>> many_stream_counters(["a", "b"])[:4]
    ('rows_a', 'rows_b', 'late_a', 'late_b')
    """
    return (*(f"{what}_{name}" for what in PER_INPUT for name in inputs), *OF_ALL)
