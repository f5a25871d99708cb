"""What may go wrong with a join with a table, before it does."""

from collections.abc import Iterator
from typing import Final

from streamjoin.explanations.plans import TablePlan
from streamjoin.explanations.table_words import Sizes
from streamjoin.explanations.warnings import Advice
from streamjoin.tables.parquet import ParquetTable

LARGE_ROWS: Final = 50_000
"""Row groups of more rows are slow to look up in."""
TINY: Final = 0.001
"""With less than this part of the table's bytes a cache is of little use."""


def advice(plan: TablePlan, sizes: Sizes) -> Iterator[Advice]:
    """What may go wrong."""
    join, table = plan.join, plan.access.table
    if not sizes.has_index:
        yield Advice(
            "no_index",
            "no index on the key: every row waits until the whole table has been read; make an "
            "index in the database",
        )
    if isinstance(table, ParquetTable) and not table.copy and sizes.rows_per_partition > LARGE_ROWS:
        yield Advice(
            "large_row_groups",
            f"row groups have {sizes.rows_per_partition:,.0f} rows and a look-up decodes a whole "
            "one; give copy=True, or write the files with row groups of about 10,000 rows",
        )
    if not table.is_unique and join.algorithm != "inlj":
        costs = "keys of several partitions are looked up at once"
        if join.algorithm == "meshjoin" or not sizes.has_index:
            costs = "nothing is cached, as the other rows of a key are not known"
        yield Advice(
            "duplicate_keys",
            f"keys may be in the table several times: {costs}; give unique=True if each is there "
            "once",
        )
    if join.is_cached and join.memory * plan.n_shards < TINY * sizes.bytes:
        yield Advice(
            "little_memory",
            f"the memory is {100 * join.memory * plan.n_shards / sizes.bytes:.2g} % of the table: "
            "the cache will answer few rows unless very few keys are frequent; give more of it",
        )
    if not join.longest_wait and join.algorithm == "meshjoin":
        yield Advice(
            "no_wait", "max_wait is zero: the whole table is read in every batch; let rows wait"
        )
