"""What a join did, in lines for people."""

from collections.abc import Iterator
from typing import Final

from streamjoin.metrics.model import JoinMetrics

NOT_KNOWN: Final = "not known"
"""What is said of a recall if too little was seen of what is left out."""
_KINDS: Final = {"window": "join of two streams", "plan": "join of many streams"}


def lines_of(batch: JoinMetrics, total: JoinMetrics) -> Iterator[str]:
    r"""The last batch beside all of them.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics
    >>> batch = JoinMetrics(batch=4, seconds=0.5, inputs=(InputMetrics("left", rows=1000),),
    ...                     rows_out=20, pairs=20, state_rows=9, state_bytes=2_500_000)
    >>> print("\n".join(lines_of(batch, batch + batch)))
    streamjoin: join of two streams, batch 4 in 0.50 s
      rows in      1,000 (2,000/s); 2,000 in 2 batches
      rows out     20 (40/s); 40 in 2 batches
      state        9 rows, 2.5 MB
    """
    kind = _KINDS.get(batch.kind, "join with a table")
    by = f" by {batch.algorithm}" if batch.algorithm else ""
    driven = f", driven by {batch.driver}" if batch.driver else ""
    yield f"{batch.name}: {kind}{by}{driven}, batch {batch.batch} in {batch.seconds:.2f} s"
    for title, text in _lines(batch, total):
        yield f"  {title:<12} {text}"


def _lines(batch: JoinMetrics, total: JoinMetrics) -> Iterator[tuple[str, str]]:
    yield "rows in", _flow(batch.rows_in, total.rows_in, batch, total)
    yield "rows out", _flow(batch.rows_out, total.rows_out, batch, total)
    if total.left_out:
        yield "left out", ", ".join(f"{cause} {n:,}" for cause, n in total.left_out.items())
    if total.recall_interval != (1.0, 1.0):
        yield "recall", _recall(total)
    if batch.skipped:
        parts = (f"{one.name} {percent(one.fraction)}" for one in batch.inputs if one.compared)
        yield "probed", ", ".join(parts)
    if batch.budget_us:
        yield "CPU", f"{batch.cpu_us / 1000:,.0f} ms of {batch.budget_us / 1000:,.0f} ms"
    if batch.costs_us:
        each = ", ".join(f"{name} {us:.3g} us" for name, us in batch.costs_us.items())
        yield "costs", each
    if batch.allowances:
        each = ", ".join(f"{name} {n:,.0f}" for name, n in batch.allowances.items())
        yield "allowances", f"{each} tuples/s"
    if batch.table is not None:
        yield (
            "cache",
            f"{percent(batch.hit_share or 0.0)} of the rows, {batch.table.cached_rows:,} held",
        )
        yield (
            "waiting",
            f"{batch.table.waiting_rows:,} rows, and {batch.table.spilled_rows:,} put off",
        )
    if batch.ages is not None:
        ages = batch.ages
        yield "ages", f"p50 {ages.p50:.3g} s, p95 {ages.p95:.3g} s, most {ages.most:.3g} s"
    if batch.behind is not None:
        yield "behind", f"{batch.behind:,.1f} s"
    yield "state", f"{batch.state_rows:,} rows, {size(batch.state_bytes)}"


def _recall(total: JoinMetrics) -> str:
    if total.recall is None or total.recall_interval is None:
        return NOT_KNOWN
    low, high = total.recall_interval
    interval = f" ({percent(low)} to {percent(high)})" if total.has_interval else ""
    return percent(total.recall) + interval


def _flow(now: int, every: int, batch: JoinMetrics, total: JoinMetrics) -> str:
    rate = f" ({now / batch.seconds:,.0f}/s)" if batch.seconds > 0 else ""
    return f"{now:,}{rate}; {every:,} in {total.batches:,} batches"


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.5), percent(0.99961)
    ('50 %', '99.96 %')
    """
    digits = 0 if share < 0.99 or share == 1.0 else 2
    return f"{100 * share:.{digits}f} %"


def size(n_bytes: float) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> size(512), size(2_500_000)
    ('512 B', '2.5 MB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} TB"
