"""A point of the charts: what a join did in a stretch of time, small and easy to add up.

First come strips: two bytes a basic window, as heat maps over a day must stay small.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite, log2
from operator import add
from typing import Final

from streamjoin.metrics import Ages, BasicWindows, JoinMetrics
from streamjoin.metrics.catalogue import recall_interval
from streamjoin.metrics.details import together

MOST_CELLS: Final = 64
"""Basic windows that a page can show below each other; of more, neighbours are put together."""

NOTHING_TO_PROBE: Final = 255
OCTAVES: Final = 32
STEPS: Final = 8
ADDED: Final = (
    "batches", "seconds", "pairs", "rows_out", "stale", "missed", "missed_variance", "unmet",
    "unmet_weight", "cpu_us", "budget_us",
)  # fmt: skip
ADDED_BY_INPUT: Final = ("rows", "late", "null", "ahead", "dropped", "cut", "compared", "skipped")
ADDED_BY_TABLE: Final = ("hits", "looked_up", "shed")
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

    What is counted of an input is named with it, as in ``rows:left``.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics
    >>> batch = JoinMetrics(at=100.0, seconds=0.5, inputs=(InputMetrics("left", rows=30),), pairs=9)
    >>> point = Point.from_batch(batch, span=1.0)
    >>> point.add(Point.from_batch(batch, span=2.0))
    >>> point.span, point.sum("rows"), dict(point.values())["in:left"], point.recall()
    (3.0, 60.0, 20.0, (1.0, 1.0, 1.0))
    """

    at: float  # when the last of them ended, in seconds since 1970
    span: float  # seconds that they stand for: since the end of the batch before
    counts: dict[str, float]
    sizes: dict[str, float]  # what is remembered or waits after the last of them
    behind: float | None = None  # the most seconds; None if not known
    ages: Ages | None = None
    windows: Mapping[str, BasicWindows] = field(default_factory=dict)  # of the last batch
    _packed: Mapping[str, bytes] = field(default_factory=dict)

    @classmethod
    def from_batch(cls, metrics: JoinMetrics, span: float) -> "Point":
        """The point of a batch; ValueError or TypeError if its values cannot be."""
        counts = _counts(metrics)
        others = metrics.at + metrics.batch + metrics.state_rows + span
        if not isfinite(sum(counts.values()) + others):
            raise ValueError("a count is not a number")
        return cls(
            at=metrics.at + metrics.seconds,
            span=span,
            counts=counts,
            sizes=_sizes(metrics),
            behind=metrics.behind,
            ages=metrics.ages,
            windows=metrics.windows,
        )

    def add(self, later: "Point") -> None:
        """Let this point stand for a later one too."""
        for name, count in later.counts.items():
            self.counts[name] = self.counts.get(name, 0) + count
        self.at, self.span = later.at, self.span + later.span
        self.sizes = later.sizes
        if later.windows or later._packed:
            self.windows, self._packed = later.windows, later._packed
        if later.behind is not None:
            self.behind = max(later.behind, self.behind or 0.0)
        self.ages = together(self.ages, later.ages)

    def strips(self) -> Mapping[str, bytes]:
        """The packed basic windows of each input; most points are merged before that is needed."""
        if self.windows:
            self._packed = {name: packed(one) for name, one in self.windows.items()}
            self.windows = {}
        return self._packed

    def values(self) -> Iterator[tuple[str, float]]:
        """Names and values of the lines that are drawn; rates are by the second."""
        for name, rows in self._of_inputs("rows"):
            yield f"in:{name}", rows / self.span
        yield "out", self.count("rows_out") / self.span
        yield "batch", self.count("seconds") / max(self.count("batches"), 1)
        yield "cpu", self.count("cpu_us") / 1e6 / self.span
        if self.count("budget_us"):
            yield "cpu_budget", self.count("budget_us") / 1e6 / self.span
        yield from self._probing()
        yield from self.left_out(self.span)
        yield from self.sizes.items()
        recall = self.recall()
        if recall is not None:
            yield from zip(("recall_low", "recall", "recall_high"), recall, strict=True)
        if self.behind is not None:
            yield "behind", self.behind
        if self.ages is not None:
            yield "age_p50", self.ages.p50
            yield "age_p95", self.ages.p95
            yield "age_max", self.ages.most

    def recall(self) -> tuple[float, float, float] | None:
        """Lower bound, estimate and upper bound; None if nothing was there, or not known."""
        pairs, missed = self.count("pairs"), self.count("missed")
        names = ("pairs", "missed", "missed_variance", "unmet", "unmet_weight")
        interval = recall_interval(*map(self.count, names))
        if pairs + missed <= 0 or interval is None:
            return None
        return interval[0], pairs / (pairs + missed), interval[1]

    def left_out(self, seconds: float = 1.0) -> Iterator[tuple[str, float]]:
        """What took no part, by cause; comparisons are counted apart."""
        for cause in ("late", "null", "ahead", "dropped", "cut"):
            yield f"left_out:{cause}", self.sum(cause) / seconds
        yield "left_out:stale", self.count("stale") / seconds
        yield "left_out:shed", self.count("shed") / seconds

    def count(self, name: str) -> float:
        """A count by name; 0 if it was not counted."""
        return self.counts.get(name, 0)

    def sum(self, name: str) -> float:
        """The sum of a count over all inputs."""
        return sum(count for _, count in self._of_inputs(name))

    def _probing(self) -> Iterator[tuple[str, float]]:
        skipped = dict(self._of_inputs("skipped"))
        for name, compared in self._of_inputs("compared"):
            if compared + skipped[name]:
                yield f"probed:{name}", compared / (compared + skipped[name])
        if self.sum("compared") + self.sum("skipped"):
            yield "compared", self.sum("compared") / self.span
            yield "skipped", self.sum("skipped") / self.span
        if "hits" in self.counts and self.sum("rows"):
            yield "hit_share", self.counts["hits"] / self.sum("rows")

    def _of_inputs(self, name: str) -> Iterator[tuple[str, float]]:
        start = f"{name}:"
        for key, count in self.counts.items():
            if key.startswith(start):
                yield key[len(start) :], count


def _counts(metrics: JoinMetrics) -> dict[str, float]:
    counts = {name: float(getattr(metrics, name)) for name in ADDED}
    for one in metrics.inputs:
        counts.update({f"{name}:{one.name}": float(getattr(one, name)) for name in ADDED_BY_INPUT})
    if metrics.table is not None:
        counts.update({name: float(getattr(metrics.table, name)) for name in ADDED_BY_TABLE})
    return counts


def _sizes(metrics: JoinMetrics) -> dict[str, float]:
    """Bytes of each input and, as ``state``, of what belongs to none; rows that wait."""
    inputs = {f"state:{one.name}": float(one.state_bytes) for one in metrics.inputs}
    rest = float(metrics.state_bytes) - sum(inputs.values())
    sizes = {name: size for name, size in inputs.items() if size}
    sizes |= {"state": rest} if rest > 0 else {}
    if metrics.table is not None:
        sizes |= {name: float(getattr(metrics.table, name)) for name in SIZES_OF_TABLE}
    return sizes
