"""What a join with a table did, for the live table and the closing summary."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamjoin.cli.totals import Totals

COLUMNS = ("hits", "waiting", "spilled")


def cells(counted: Mapping[str, int]) -> dict[str, str]:
    """Cells of a batch.

    Examples
    --------
    >>> cells({"rows": 200, "hits": 150, "waiting_rows": 1200, "spilled_rows": 0})
    {'hits': '75.0 %', 'waiting': '1,200', 'spilled': '0'}
    """
    return {
        "hits": share(counted),
        "waiting": f"{counted.get('waiting_rows', 0):,}",
        "spilled": f"{counted.get('spilled_rows', 0):,}",
    }


def rows(totals: "Totals") -> list[tuple[str, str]]:
    """Lines of the summary; none for a join without a table."""
    counted = totals.of_table
    if not counted:
        return []
    spilled = f"{counted['shed']:,}, of which {counted['reloaded']:,} came back"
    return [
        ("answered from the cache", f"{counted['hits']:,} ({share(counted)})"),
        ("looked up", f"{counted['looked_up']:,}"),
        ("partitions read", f"{counted['loads']:,}"),
        ("rows spilled", spilled if counted["shed"] else "0"),
        ("still waiting, spilled", f"{totals.waiting_rows:,}, {totals.spilled_rows:,}"),
    ]


def share(counted: Mapping[str, int]) -> str:
    """The rows that found their table row in the cache, of all that came.

    Examples
    --------
    >>> share({"rows": 8, "hits": 2}), share({})
    ('25.0 %', '-')
    """
    n = counted.get("rows", 0)
    return f"{100 * counted['hits'] / n:.1f} %" if n else "-"
