"""About how much a join of two streams will remember.

The rule: rows per second x the time that a row is kept x bytes per row x copies. A row is kept for
its window, for the lateness by which the watermark trails, and for at most one slice more, as basic
windows are removed whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from streamjoin._typing import SIDES, Side
from streamjoin.core.window import N_BASIC_WINDOWS
from streamjoin.durations import format_duration
from streamjoin.explanations.asked import Pair
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.window_matches import Matches
from streamjoin.explanations.window_words import NAMES
from streamjoin.explanations.wording import GUESSED_BYTES, format_bytes, row_bytes
from streamjoin.joins.routing import copies
from streamjoin.joins.window_join import WindowJoin

UNIT_RATES: Final = (1000.0, 1000.0)
"""Where none are given."""


@dataclass(frozen=True)
class SideEstimate:
    """What is remembered of one side, once the stream has run for longer than its window."""

    side: str
    rows_per_second: float
    rate_given: bool
    kept_us: int  # how long a row is kept at most
    counted_rows: int  # kept whatever the rate, where the window counts rows
    bytes_per_row: float
    guessed: bool  # whether columns without a fixed size are among them
    copies: int  # shards that remember the same row
    rows: int  # over all shards
    bytes: int
    text: str


@dataclass(frozen=True)
class Situation:
    """A join, and what is known of its streams."""

    plan: JoinPlan
    rates: Pair = UNIT_RATES
    rates_given: bool = False
    matches: Matches | None = None

    @property
    def join(self) -> WindowJoin:
        """The settings."""
        return self.plan.resolved.join

    @cached_property
    def copies(self) -> tuple[int, int]:
        """To how many shards a left and a right row is sent."""
        return copies(self.plan.routing)

    @cached_property
    def sides(self) -> tuple[SideEstimate, ...]:
        """What is remembered of left and right."""
        return tuple(self._side(side) for side in SIDES)

    def _side(self, side: Side) -> SideEstimate:
        rate, sent = float(self.rates[side]), self.copies[side]
        size, guessed = row_bytes(self.join.streams[side].kept)
        kept_us, counted, parts = _kept(self.join, side)
        rows = round((rate * kept_us / 1e6 + counted) * sent)
        times = f" x {sent} copies" if sent > 1 else ""
        n_rows = [f"{rate:,.6g} rows/s x {_sum(parts)}"] if parts else []
        n_rows += [f"{counted:,} rows"] if counted else []
        formula = f" = {_sum(n_rows)} x {size:.3g} B{times}" if n_rows else ": it only probes"
        return SideEstimate(
            side=NAMES[side],
            rows_per_second=rate,
            rate_given=self.rates_given,
            kept_us=kept_us,
            counted_rows=counted,
            bytes_per_row=size,
            guessed=guessed,
            copies=sent,
            rows=rows,
            bytes=round(rows * size),
            text=f"{NAMES[side]} {format_bytes(rows * size)}{formula}",
        )


def state_lines(sides: Sequence[SideEstimate], *, limited: bool) -> list[str]:
    """Each side, both together, and what the estimate leaves out."""
    total = format_bytes(sum(side.bytes for side in sides))
    guess = f"; text and the like as {GUESSED_BYTES} B" if any(s.guessed for s in sides) else ""
    each = "" if sides[0].rate_given else " at 1,000 rows/s a side"
    ahead = "without the budget" if limited else "and more while one input is ahead of the other"
    return [*(side.text for side in sides), f"together {total}{each}, {ahead}{guess}"]


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
