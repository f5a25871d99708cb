"""What is known of two streams: how often rows match, and about how much is remembered.

Rows match as a sample shows, as the user says, or as is assumed. What is remembered: rows per
second x the time that a row is kept x bytes per row x copies. A row is kept for its window, for the
lateness by which the watermark trails, and for at most one slice more, as basic windows are removed
whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Side, Times
from streamjoin.core.batch import Batch, arrange
from streamjoin.core.stream import Stream
from streamjoin.core.window import N_BASIC_WINDOWS
from streamjoin.durations import format_duration
from streamjoin.explanations.asked import Asked, Pair, Sample
from streamjoin.explanations.explainer import Basis
from streamjoin.explanations.wording import GUESSED_BYTES, row_bytes
from streamjoin.joins.base import Arrival, MemoryStore, OutputColumn
from streamjoin.joins.plans import JoinPlan
from streamjoin.joins.window.logic import WindowJoinLogic
from streamjoin.joins.window.settings import WindowJoin, WindowJoinState
from streamjoin.metrics.words import size as format_bytes
from streamjoin.shedding.fractions import BasicWindows, choose_fractions

Floats = NDArray[np.float64]

NAMES: Final = ("left", "right")
UNIT_RATES: Final = (1000.0, 1000.0)
"""Where none are given."""
AGE_PARTS: Final = 20
"""Parts of a window whose matches are counted apart."""
MAX_INDEXED_ROWS: Final = 12_000
MAX_COMPARED_ROWS: Final = 1_000
"""Rows of each side that a sample has where there is no key: with another index, and with none."""
CHANCE_FACTOR: Final = 2.0
"""Parts of the windows differ if they do by so many times what chance alone would make."""


@dataclass(frozen=True)
class Matches:
    """How often rows of two streams match."""

    share: float  # of all pairs of rows within the windows, the part that matches
    basis: Basis
    # Of the matches with the left and with the right window, which part lies in each of `AGE_PARTS`
    # equal parts of it, the newest first: all add up to 1. None if they are spread evenly.
    ages: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    partnered: float | None = None  # part of the left rows that match, where it matters

    def recall(self, policy: str, windows: tuple[float, float], fraction: float) -> float:
        """Part of the matches that are found with a part of the comparisons (GED-A12, A13).

        Examples
        --------
        >>> from streamjoin.shedding.fractions import POLICIES
        >>> even = tuple([0.5 / AGE_PARTS] * AGE_PARTS)
        >>> late = tuple([0.0] * 19 + [0.5])
        >>> matches = Matches(0.01, "sample", (even, late))
        >>> [round(matches.recall(policy, (10, 10), 0.1), 3) for policy in POLICIES]
        [0.575, 0.05, 0.55, 0.1, 0.1]
        """
        if self.ages is None:
            return fraction
        left, right = (
            BasicWindows(np.array(values), np.full(AGE_PARTS, window / AGE_PARTS))
            for values, window in zip(self.ages, windows, strict=True)
        )
        chosen = choose_fractions(policy, (left, right), fraction * sum(windows))
        return float(chosen[0] @ left.values + chosen[1] @ right.values)

    def remembered(self, parts: tuple[float, float]) -> float:
        """Part of the matches that are found if the newest part of each window is remembered.

        Examples
        --------
        >>> late = tuple([0.0] * 19 + [0.5])
        >>> round(Matches(0.01, "sample", (late, late[::-1])).remembered((1.0, 0.02)), 3)
        0.7
        """
        assert self.ages is not None
        grid = np.arange(AGE_PARTS + 1) / AGE_PARTS
        sums = [np.concatenate(([0.0], np.cumsum(values))) for values in self.ages]
        return float(sum(np.interp(p, grid, x) for p, x in zip(parts, sums, strict=True)))


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
    rates: Pair
    rates_given: bool
    matches: Matches | None

    @property
    def join(self) -> WindowJoin:
        """The settings."""
        return self.plan.resolved.join

    @property
    def is_sampled(self) -> bool:
        """Whether a sample shows how often rows match."""
        return self.matches is not None and self.matches.basis == "sample"

    @property
    def has_ages(self) -> bool:
        """Whether it shows that they match more often in some parts of the windows."""
        return self.matches is not None and self.matches.ages is not None

    @cached_property
    def copies(self) -> tuple[int, int]:
        """To how many shards a left and a right row is sent."""
        return self.plan.routing.copies(LEFT), self.plan.routing.copies(RIGHT)

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


def known_matches(plan: JoinPlan, asked: Asked) -> Matches | None:
    """How often rows match, if that is known."""
    if asked.selectivities is not None:
        return Matches(float(asked.selectivities), "given")  # type: ignore[arg-type]  # checked
    join, samples = plan.resolved.join, asked.sources.samples
    if not join.left.key and join.predicate is None and plan.resolved.rest is None:
        return Matches(1.0, "given")  # a cross join
    return _matched(join, [samples[name] for name in asked.sources.names]) if samples else None


def _matched(asked: WindowJoin, samples: Sequence[Sample]) -> Matches:
    """Join the samples, and count what matches by the ages of the rows."""
    seconds = samples[LEFT].seconds
    join = _bare(asked, seconds)
    arrivals = [
        _arrival(join, stream, sample.rows)
        for stream, sample in zip(join.streams, samples, strict=True)
    ]
    times = _times(join, arrivals)
    pairs = float(len(arrivals[LEFT].batch)) * len(arrivals[RIGHT].batch)
    matches = _counted((times[LEFT] - times[RIGHT]) / 1e6, pairs, seconds, join)
    if asked.marks(LEFT) and not asked.is_ordered and all(sample.is_whole for sample in samples):
        return replace(matches, partnered=_partnered(join, arrivals, seconds))
    return matches


def _bare(join: WindowJoin, seconds: float) -> WindowJoin:
    """The same condition as an exact inner join over windows of time that gives the times."""
    streams = [replace(stream, window_rows=None, lateness_us=0) for stream in join.streams]
    if join.is_ordered:
        streams = [replace(stream, window_us=round(seconds * 1e6)) for stream in streams]
    times = tuple(
        OutputColumn(side, stream.time, NAMES[side], stream.schema.types[stream.time])
        for side, stream in zip(SIDES, streams, strict=True)
    )
    return replace(
        join, left=streams[LEFT], right=streams[RIGHT], output=times, how="inner", shedding=None,
        idle_us=None, freshness_us=(None, None), utility=(None, None),
    )  # fmt: skip


def _arrival(join: WindowJoin, stream: Stream, rows: pa.Table) -> Arrival:
    """Not more rows than can be compared at once, evenly over the time."""
    indexed = join.band is not None or join.sets is not None
    most = MAX_INDEXED_ROWS if indexed else MAX_COMPARED_ROWS
    if not join.left.key and len(rows) > most:
        rows = rows.take(pa.array(np.linspace(0, len(rows) - 1, most, dtype=np.int64)))
    parts = [arrange(part, stream).rows for part in rows.combine_chunks().to_batches()]
    return Arrival(Batch.gather(parts, stream))


def _times(join: WindowJoin, arrivals: list[Arrival]) -> list[Times]:
    """Join what arrives; a join whose results are times gives these."""
    logic = WindowJoinLogic(join, WindowJoinState(), MemoryStore())
    parts = [part.take(join.output) for part in logic.on_batch((arrivals[0], arrivals[1]), None)]
    return [
        np.concatenate([np.empty(0, np.int64), *(np.asarray(x[i].view("int64")) for x in parts)])
        for i in range(len(join.output))
    ]


def _partnered(join: WindowJoin, arrivals: list[Arrival], seconds: float) -> float:
    """Part of the left rows that match, of those whose whole window the sample covers."""
    (matching,) = _times(replace(join, how="semi", output=join.output[:1]), arrivals)
    first, last = join.right.window_us, round(seconds * 1e6) - join.left.window_us
    all_rows, some = (
        int(np.count_nonzero((times >= first) & (times <= last)))
        for times in (arrivals[LEFT].batch.times, matching)
    )
    return some / max(1, all_rows)


def _counted(ages: Floats, pairs: float, seconds: float, join: WindowJoin) -> Matches:
    """Matches of each part of the windows, for as many pairs in all.

    Of the pairs of two samples over the same time, fewer and fewer are further apart.
    """
    counts, expected, widths = [], [], []
    for window_us, own in zip(join.windows_us, (-ages[ages < 0], ages[ages >= 0]), strict=True):
        window = window_us / 1e6
        edges = np.linspace(0.0, window, AGE_PARTS + 1)
        counts.append(np.histogram(own, edges)[0] if window else np.zeros(AGE_PARTS))
        expected.append(pairs * np.diff(edges * seconds - edges**2 / 2) / seconds**2)
        widths.append(np.full(AGE_PARTS, window / AGE_PARTS))
    n, possible, width = (np.concatenate(x) for x in (counts, expected, widths))
    density = np.divide(n, possible, out=np.zeros(2 * AGE_PARTS), where=possible > 0)
    worth = density * width
    share = float(worth.sum() / width.sum()) if width.sum() else 0.0
    if not _differ(n, share * possible):
        return Matches(share, "sample")
    parts = (worth / worth.sum()).tolist()
    return Matches(share, "sample", (tuple(parts[:AGE_PARTS]), tuple(parts[AGE_PARTS:])))


def _differ(counts: Floats, expected: Floats) -> bool:
    """Whether matches are spread less evenly than chance would spread them."""
    seen = expected > 0
    if counts.sum() < 10 * seen.sum():
        return False
    off = (counts[seen] - expected[seen]) ** 2 / expected[seen]
    return bool(off.sum() > CHANCE_FACTOR * seen.sum())
