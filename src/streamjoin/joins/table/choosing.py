"""What suits a table that has been opened: `algorithm="auto"`, and what its rows cost."""

from dataclasses import replace

from streamjoin.joins.table.front_stage import BESIDES
from streamjoin.joins.table.measuring import measure
from streamjoin.joins.table.settings import LOOK_UP_SHARE, TableJoin
from streamjoin.tables.base import OpenTable


def fits(join: TableJoin, table: OpenTable) -> bool:
    """Whether the cache has room for the whole table."""
    needed = int(table.partition_rows.sum()) * (table.bytes_per_row + BESIDES)
    share = LOOK_UP_SHARE if join.front_share is None else join.front_share
    return needed <= share * join.memory


def suited(join: TableJoin, table: OpenTable) -> TableJoin:
    """The join with an algorithm for this table, and with what the table's rows cost.

    Without an index partitions must pass by (meshjoin). A table for which there is room is cached
    row by row, and each row is looked up once (inlj); the same where finding the partition of a key
    costs as much as looking it up. Otherwise the cheaper of looking up and waiting is found in each
    batch.
    """
    if join.algorithm == "auto" and not table.has_index:
        join = replace(join, algorithm="meshjoin")
    elif join.algorithm == "auto" and (fits(join, table) or not table.knows_places):
        join = replace(join, algorithm="inlj")
    measured = measure(join, table)
    costs = replace(join.costs, scan=1000 * measured.scan_ms)
    if measured.look_up_us is not None:
        costs = replace(costs, look_up=measured.look_up_us)
    return replace(join, costs=costs, knows_places=table.knows_places)
