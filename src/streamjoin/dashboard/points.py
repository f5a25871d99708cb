"""A point of the charts: what a join did in a stretch of time, small and easy to add up.

First come strips: two bytes a basic window, as heat maps over a day must stay small.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite, log2
from operator import add
from typing import Final

from streamjoin.metrics import BasicWindows, JoinMetrics, TableMetrics

MOST_CELLS: Final = 64
"""Basic windows that a page can show below each other; of more, neighbours are put together."""

NOTHING_TO_PROBE: Final = 255
OCTAVES: Final = 32
STEPS: Final = 8
SIZES_OF_TABLE: Final = ("cached_rows", "waiting_rows", "spilled_rows")


def sound(windows: Mapping[str, BasicWindows]) -> dict[str, BasicWindows]:
    """Without the strips that cannot be, as a damaged file may have them.

    Examples
    --------
    >>> found_only = BasicWindows(1.0, found=(3.0, 1.0))
    >>> list(sound({"left": found_only, "right": BasicWindows(1.0, (1.0,), (), (2.0,))}))
    ['left']
    """
    return {name: one for name, one in windows.items() if _can_be(one)}


def _can_be(windows: BasicWindows) -> bool:
    every = [*windows.compared, *windows.skipped, *windows.found, *windows.priority]
    try:
        is_finite, least = isfinite(sum(every) + windows.seconds), min(every, default=0)
    except (TypeError, OverflowError):
        return False
    lengths, n = (len(windows.compared), len(windows.skipped)), len(windows.found)
    return is_finite and least >= 0 and lengths in ((0, 0), (n, n))


def packed(windows: BasicWindows) -> bytes:
    """The probed part of each basic window in percent, then the productivity of each.

    A productivity (pairs for each comparison) is a byte on a scale of logarithms, exact to 5 %: 0
    is none, 255 one pair for each comparison. 255 as a part says that there was nothing to probe.
    Where comparisons are not counted, all is probed, and productivity is the share of the pairs.

    Examples
    --------
    >>> list(packed(BasicWindows(1.0, (80.0, 20.0, 0.0), (0.0, 60.0, 0.0), (40.0, 4.0, 0.0))))
    [100, 25, 255, 248, 221, 0]
    >>> list(packed(BasicWindows(1.0, found=(6.0, 2.0, 0.0))))
    [100, 100, 100, 253, 240, 0]
    """
    cells = grouped(windows)
    if not cells.compared:
        all_pairs = sum(cells.found) or 1.0
        shares = bytes(_productivity(pairs / all_pairs) for pairs in cells.found)
        return bytes([100]) * len(cells.found) + shares
    parts = bytes(
        round(100 * part) if every else NOTHING_TO_PROBE
        for part, every in zip(
            cells.fractions, map(add, cells.compared, cells.skipped), strict=True
        )
    )
    return parts + bytes(_productivity(density) for density in cells.density)


def grouped(windows: BasicWindows, most: int = MOST_CELLS) -> BasicWindows:
    """The same with at most so many basic windows: neighbours count together.

    Examples
    --------
    >>> grouped(BasicWindows(1.0, (1.0, 2.0, 4.0), (0.0, 1.0, 1.0), (1.0, 0.0, 2.0)), most=2)
    BasicWindows(seconds=2.0, compared=(3.0, 4.0), skipped=(1.0, 1.0), found=(1.0, 2.0), ...)
    >>> vars(grouped(BasicWindows(0.5, (80.0,), (20.0,), (10.0,))))
    {'seconds': 0.5, 'compared': (80.0,), 'skipped': (20.0,), 'found': (10.0,), 'priority': ()}
    """
    width = -(-len(windows.found) // most)
    if width <= 1:
        return windows
    return BasicWindows(
        seconds=windows.seconds * width,
        compared=_sums(windows.compared, width),
        skipped=_sums(windows.skipped, width),
        found=_sums(windows.found, width),
        priority=tuple(total / width for total in _sums(windows.priority, width)),
    )


def _sums(values: tuple[float, ...], width: int) -> tuple[float, ...]:
    return tuple(sum(values[start : start + width]) for start in range(0, len(values), width))


def _productivity(density: float) -> int:
    if density <= 0:
        return 0
    return max(1, min(255, round(STEPS * (OCTAVES + log2(density)))))


@dataclass(slots=True)
class Point:
    """One batch, or several that follow each other.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics
    >>> batch = JoinMetrics(at=100.0, seconds=0.5, inputs=(InputMetrics("left", rows=30),), pairs=9)
    >>> point = Point.from_batch(batch, span=1.0)
    >>> point.add(Point.from_batch(batch, span=2.0))
    >>> point.span, point.metrics.rows_in, dict(point.values())["in:left"], point.recall()
    (3.0, 60, 20.0, (1.0, 1.0, 1.0))
    """

    at: float  # when the last of them ended, in seconds since 1970
    span: float  # seconds that they stand for: since the end of the batch before
    metrics: JoinMetrics  # of all of them, without basic windows
    sizes: dict[str, float]  # what is remembered or waits after the last of them
    behind: float | None = None  # the most seconds; None if not known
    windows: Mapping[str, BasicWindows] = field(default_factory=dict)  # of the last batch
    _packed: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def from_batch(cls, metrics: JoinMetrics, span: float) -> "Point":
        """The point of a batch; ValueError or TypeError if its values cannot be."""
        inputs = {one.name: one for one in metrics.inputs}
        parts = (metrics, *inputs.values(), metrics.table or TableMetrics())
        others = metrics.at + metrics.batch + metrics.state_rows + span
        if not isfinite(sum(sum(part.counts) for part in parts) + others):
            raise ValueError("a count is not a number")
        return cls(
            at=metrics.at + metrics.seconds,
            span=span,
            metrics=metrics.having({"windows": {}}),
            sizes=_sizes(metrics),
            behind=metrics.behind,
            windows=metrics.windows,
        )

    def add(self, later: "Point") -> None:
        """Let this point stand for a later one too."""
        self.at, self.span = later.at, self.span + later.span
        self.metrics, self.sizes = self.metrics + later.metrics, later.sizes
        if later.windows or later._packed:
            self.windows, self._packed = later.windows, later._packed
        if later.behind is not None:
            self.behind = max(later.behind, self.behind or 0.0)

    def strips(self) -> Mapping[str, bytes]:
        """The packed basic windows of each input; most points are merged before that is needed."""
        if self.windows:
            self._packed = {name: packed(one) for name, one in self.windows.items()}
            self.windows = {}
        return self._packed

    def values(self) -> Iterator[tuple[str, float]]:
        """Names and values of the lines that are drawn; rates are by the second."""
        join = self.metrics
        for one in join.inputs:
            yield f"in:{one.name}", one.rows / self.span
        yield "out", join.rows_out / self.span
        yield "batch", join.seconds / max(join.batches, 1)
        yield "cpu", join.cpu_us / 1e6 / self.span
        if join.budget_us:
            yield "cpu_budget", join.budget_us / 1e6 / self.span
        for one in join.inputs:
            if one.compared + one.skipped:
                yield f"probed:{one.name}", one.fraction
        if join.compared + join.skipped:
            yield "compared", join.compared / self.span
            yield "skipped", join.skipped / self.span
        if join.hit_share is not None and join.rows_in:
            yield "hit_share", join.hit_share
        for cause, n in self.left_out():
            yield f"left_out:{cause}", n / self.span
        yield from self.sizes.items()
        recall = self.recall()
        if recall is not None:
            yield from zip(("recall_low", "recall", "recall_high"), recall, strict=True)
        if self.behind is not None:
            yield "behind", self.behind
        if join.ages is not None:
            yield "age_p50", join.ages.p50
            yield "age_p95", join.ages.p95
            yield "age_max", join.ages.most

    def recall(self) -> tuple[float, float, float] | None:
        """Lower bound, estimate and upper bound; None if nothing was there, or not known."""
        interval, recall = self.metrics.recall_interval, self.metrics.recall
        if self.metrics.pairs + self.metrics.missed <= 0 or interval is None or recall is None:
            return None
        return interval[0], recall, interval[1]

    def left_out(self) -> Iterator[tuple[str, float]]:
        """What took no part, by cause; comparisons are counted apart."""
        for cause in ("late", "null", "ahead", "dropped", "cut", "stale"):
            yield cause, getattr(self.metrics, cause)
        yield "shed", self.metrics.table.shed if self.metrics.table is not None else 0


def _sizes(metrics: JoinMetrics) -> dict[str, float]:
    """Bytes of each input and, as ``state``, of what belongs to none; rows that wait."""
    inputs = {f"state:{one.name}": float(one.state_bytes) for one in metrics.inputs}
    rest = float(metrics.state_bytes) - sum(inputs.values())
    sizes = {name: size for name, size in inputs.items() if size}
    sizes |= {"state": rest} if rest > 0 else {}
    if metrics.table is not None:
        sizes |= {name: float(getattr(metrics.table, name)) for name in SIZES_OF_TABLE}
    return sizes
