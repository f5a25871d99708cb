"""About how much a join will remember.

The rule: rows per second x the time that a row is kept x bytes per row x copies. A row is kept for
its window, for the lateness by which the watermark trails, and for at most one slice more, as basic
windows are removed whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from streamjoin._typing import SIDES, Side
from streamjoin.core.window import N_BASIC_WINDOWS
from streamjoin.durations import format_duration
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.words import NAMES, shards
from streamjoin.joins.window_join import WindowJoin

GUESS_BYTES: Final = 20
"""For a value whose size its type does not say: text, binary, lists, maps."""
_UNIT_RATE: Final = 1000.0


@dataclass(frozen=True)
class SideEstimate:
    """What is remembered of one side, once the stream has run for longer than its window.

    Parameters
    ----------
    side
        left or right.
    rows_per_second
        Rate; 1,000 where none was given.
    rate_given
        Whether it was.
    kept_us
        How long a row is kept at most, in microseconds.
    counted_rows
        Rows that are kept whatever the rate, where the window counts them.
    bytes_per_row
        From the types of the columns.
    guessed
        Whether columns without a fixed size are among them, taken as 20 bytes each.
    copies
        Shards that remember the same row.
    rows, bytes
        The estimate, over all shards.
    text
        The estimate and how it comes about.
    """

    side: str
    rows_per_second: float
    rate_given: bool
    kept_us: int
    counted_rows: int
    bytes_per_row: float
    guessed: bool
    copies: int
    rows: int
    bytes: int
    text: str


def estimate(plan: JoinPlan, rates: tuple[float, float] | None) -> tuple[SideEstimate, ...]:
    """Estimate of both sides."""
    return tuple(_side(plan, side, rates) for side in SIDES)


def totals(sides: Sequence[SideEstimate], *, limited: bool = False) -> list[str]:
    """Both sides together, and what the estimate leaves out; nothing if there is none."""
    if not sides:
        return []
    total = format_bytes(sum(side.bytes for side in sides))
    guess = f"; text and the like as {GUESS_BYTES} B" if any(s.guessed for s in sides) else ""
    each = "" if sides[0].rate_given else " at 1,000 rows/s a side"
    ahead = "without the budget" if limited else "and more while one input is ahead of the other"
    return [f"together {total}{each}, {ahead}{guess}"]


def _side(plan: JoinPlan, side: Side, rates: tuple[float, float] | None) -> SideEstimate:
    join = plan.resolved.join
    stream = join.streams[side]
    rate = _UNIT_RATE if rates is None else float(rates[side])
    copies = shards(plan).copies[side]
    size, guessed = row_bytes(stream.kept)
    kept_us, counted, parts = _kept(join, side)
    rows = round((rate * kept_us / 1e6 + counted) * copies)
    sent = f" x {copies} copies" if copies > 1 else ""
    n_rows = [f"{rate:,.6g} rows/s x {_sum(parts)}"] if parts else []
    n_rows += [f"{counted:,} rows"] if counted else []
    formula = f" = {_sum(n_rows)} x {size:.3g} B{sent}" if n_rows else ": it only probes"
    text = f"{NAMES[side]} {format_bytes(rows * size)}{formula}"
    return SideEstimate(
        side=NAMES[side],
        rows_per_second=rate,
        rate_given=rates is not None,
        kept_us=kept_us,
        counted_rows=counted,
        bytes_per_row=size,
        guessed=guessed,
        copies=copies,
        rows=rows,
        bytes=round(rows * size),
        text=text,
    )


def _sum(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"


def _kept(join: WindowJoin, side: Side) -> tuple[int, int, list[str]]:
    """How long a row is kept, how many are kept in any case, and the parts of that time."""
    stream = join.streams[side]
    late_us = stream.lateness_us
    parts = [f"{format_duration(late_us)} lateness"] if late_us else []
    if stream.window_rows is not None:
        return late_us, -(-stream.window_rows * (N_BASIC_WINDOWS + 1) // N_BASIC_WINDOWS), parts
    window_us = join.kept_us(side)
    slice_us = -(-(stream.window_us + late_us) // N_BASIC_WINDOWS)
    if window_us:
        parts.insert(0, f"{format_duration(window_us)} window")
    if slice_us:
        parts.append(f"{slice_us / 1e6:,.6g} s slice")
    return window_us + late_us + slice_us, 0, parts


def row_bytes(schema: pa.Schema) -> tuple[float, bool]:
    """Bytes of a row, and whether some of them are a guess.

    Examples
    --------
    >>> row_bytes(pa.schema({"k": pa.int64(), "ok": pa.bool_(), "name": pa.string()}))
    (32.125, True)
    """
    sizes = [_value_bytes(kind) for kind in schema.types]
    return sum(size for size, _ in sizes), any(guessed for _, guessed in sizes)


def _value_bytes(kind: pa.DataType) -> tuple[float, bool]:
    if pa.types.is_struct(kind):
        return row_bytes(pa.schema(list(kind)))
    if pa.types.is_null(kind):
        return 0.0, False
    try:
        return kind.bit_width / 8, False
    except ValueError:  # no fixed width: an offset and the value itself
        return 4.0 + GUESS_BYTES, True


def format_bytes(n: float) -> str:
    """Write a number of bytes.

    Examples
    --------
    >>> format_bytes(950), format_bytes(2_500_000)
    ('950 B', '2.5 MB')
    """
    for unit in ("B", "KB", "MB", "GB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:,.3g} TB"
