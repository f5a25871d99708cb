"""What a join with a table did, for the live screen and the closing summary."""

from streamjoin.metrics import JoinMetrics

COLUMNS = ("hits", "waiting", "spilled")


def cells(metrics: JoinMetrics) -> dict[str, str]:
    """Cells of a batch; none for a join without a table.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics, TableMetrics
    >>> table = TableMetrics(hits=150, waiting_rows=1200)
    >>> cells(JoinMetrics(inputs=(InputMetrics("stream", rows=200),), table=table))
    {'hits': '75.0 %', 'waiting': '1,200', 'spilled': '0'}
    """
    table = metrics.table
    if table is None:
        return {}
    return {
        "hits": share(metrics),
        "waiting": f"{table.waiting_rows:,}",
        "spilled": f"{table.spilled_rows:,}",
    }


def rows(metrics: JoinMetrics) -> list[tuple[str, str]]:
    """Lines of the summary; none for a join without a table."""
    table = metrics.table
    if table is None:
        return []
    spilled = f"{table.shed:,}, of which {table.reloaded:,} came back"
    return [
        ("answered from the cache", f"{table.hits:,} ({share(metrics)})"),
        ("looked up", f"{table.looked_up:,}"),
        ("partitions read", f"{table.loads:,}"),
        ("rows spilled", spilled if table.shed else "0"),
        ("still waiting, spilled", f"{table.waiting_rows:,}, {table.spilled_rows:,}"),
    ]


def share(metrics: JoinMetrics) -> str:
    """The rows that found their table row in the cache, of all that came.

    Examples
    --------
    >>> share(JoinMetrics())
    '-'
    """
    return f"{100 * (metrics.hit_share or 0):.1f} %" if metrics.rows_in else "-"
