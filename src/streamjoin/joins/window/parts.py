"""A join that probes its windows in part: what is chosen, and what is seen of the rest.

What is chosen depends on the difference of two rows' cells (`core.window`). An index compares
differences of coordinates with fixed bounds; with the start of its cell as the coordinate of an
arrival, and the time itself as that of a row it meets, the same bounds are right for every arrival.

Each batch also compares all that arrives with a small sample of what is remembered, everywhere.
That shows which parts of the windows are productive, finds a few results of the others, and tells
how many were missed there. The paper samples the tuples that arrive (GED-A9); in batches the sample
is taken from the tuples that are stored, with the same expectation, so that the parts that are not
chosen need not be read at all.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Side, Times, both
from streamjoin.core.batch import Batch
from streamjoin.core.window import CELLS, Axis, FloatArray, together
from streamjoin.joins.base import Pairs, WindowStore
from streamjoin.joins.columns import SIDE_NAMES
from streamjoin.joins.window.matching import Bounds, Matcher, Part, bounds, over_rows
from streamjoin.joins.window.remembered import Remembered
from streamjoin.joins.window.samples import LOOKING, RowSample, SeenInPart
from streamjoin.joins.window.settings import WindowJoin, WindowJoinState, by_side
from streamjoin.metrics import BasicWindows, JoinCounts
from streamjoin.shedding.comparisons import GAMMA, FullJoin, SelectiveState

LOOKING_ROWS: Final = 2048
LOOKING_BYTES: Final = 256 << 10
"""Of the sample of one side, in one shard."""
SOME_ITEMS: Final = 0.1
"""Part of all pairs of sets that have an item in common, as a first guess."""
MAX_LEARNING_ARRIVALS: Final = 4096
"""Arrivals to learn from, while nothing is left out."""
MAX_STEPS_ARRIVALS: Final = 256
"""Arrivals that show where an index takes its steps."""
MOST_WORTH: Final = 1e100
"""Of one column: sums of products stay finite."""


@dataclass(frozen=True, eq=False)
class ProbedParts:
    """What a batch probes."""

    join: WindowJoin
    axis: Axis | None = None  # where the windows lie; None if all is probed
    chosen: NDArray[np.bool_] | None = None  # by the difference of cells

    @property
    def is_part(self) -> bool:
        """Whether something is left out."""
        return self.axis is not None

    def coordinates(self, part: Part) -> Times:
        """Where arrivals stand on the axis of the rows they meet."""
        if self.axis is not None:
            return self.axis.starts(part.batch.times)
        return part.batch.times if part.places is None else part.places

    def between(self, side: Side) -> list[Bounds]:
        """Bounds of (coordinate of an arrival of a side) - (coordinate of the other's row)."""
        if self.axis is None or self.chosen is None:
            low, high = bounds(self.join, side)
            return [(low, high)] if low <= high else []
        return self.axis.between(side, self.chosen)

    def within(self, pairs: Pairs) -> Pairs:
        """Leave out pairs whose cells are in reach but whose times are not (GED-I6)."""
        if self.axis is None:
            return pairs
        left, right = pair_times(pairs)
        difference, windows = left - right, self.join.windows_us
        return pairs.where((difference >= -windows[0]) & (difference <= windows[1]))


def reachable(at: Times, indexed: Times, between: Bounds) -> Bounds | None:
    """Of rows at some coordinates, those that may meet indexed ones: from, to; None if none.

    Both are in order; `between` bounds (coordinate of an indexed row) - (coordinate of a row).

    Examples
    --------
    >>> reachable(np.array([0, 5, 9]), np.array([4, 6]), between=(0, 1))
    (1, 2)
    """
    low, high = between
    first = np.searchsorted(at, _fit(int(indexed[0]) - high), side="left")
    last = np.searchsorted(at, _fit(int(indexed[-1]) - low), side="right")
    return (int(first), int(last)) if first < last else None


def _fit(time: int) -> int:
    return min(max(time, -(2**63)), 2**63 - 1)


class PartChooser:
    """Chooses what one batch of a join probes, and learns from a sample what that yields."""

    def __init__(
        self,
        join: WindowJoin,
        policy: str,
        state: WindowJoinState,
        known: SelectiveState,
        store: WindowStore,
    ) -> None:
        self._join, self._policy, self._state, self._known = join, policy, state, known
        self._axis = Axis(join.windows_us)
        self._samples = tuple(
            RowSample(
                join, state, store, side, LOOKING, known.sample_sizes, known.sample_shares, GAMMA
            )
            for side in SIDES
        )
        if not known.productivity.compared:
            # Sample what is remembered from the time before comparisons were budgeted.
            remembered = Remembered(join, state, store)
            for side in SIDES:
                stored = [remembered.part(side, window) for window in state.windows[side]]
                self._samples[side].update(stored, LOOKING_ROWS, LOOKING_BYTES)
            known.productivity.prior = _looks(join)
        self._looked_at, self._found, self._value = (self._axis.empty() for _ in range(3))
        self._seen = 0
        self.probed = ProbedParts(join)
        self.work = 0  # rows and candidates that were looked at in the samples

    def choose(self, arrived: tuple[Part, Part], cpu_us: float) -> JoinCounts:
        """Choose what the batch probes; how much that is."""
        self._full = self._full_join(arrived)
        self._plan = plan = self._known.plan(self._full, self._policy, cpu_us)
        if plan.chosen is not None:
            self.probed = ProbedParts(self._join, self._axis, plan.chosen)
        done, skipped = ([round(n) for n in counts] for counts in (plan.comparisons, plan.skipped))
        chooses = JoinCounts(selective=int(plan.chosen is not None))
        return chooses + by_side(compared=done, skipped=skipped)

    @property
    def seen_in_part(self) -> SeenInPart:
        """What a batch that is chosen leaves out and sees nevertheless."""
        looking, done, skipped = self._plan.looking, self._plan.comparisons, self._plan.skipped
        left_out = sum(skipped) / (sum(done) + sum(skipped)) if any(skipped) else 0.0
        return SeenInPart(looking, left_out, min(looking, *self._known.sample_shares))

    def strips(self) -> dict[str, BasicWindows]:
        """What is probed where, and what was found there until now."""
        axis, known, chosen = self._axis, self._known, self.probed.chosen
        full = self._full.comparisons
        made = full if chosen is None else np.where(chosen, full, 0.0)
        strips = {}
        for side in SIDES:
            every, done = (axis.in_basic(counts, side) for counts in (full, made))
            if len(every) and known.productivity.is_known:
                matches = every * known.productivity.per_comparison("found", side)
                priorities = known.priorities(self._full, side)
                values = done, every - done, matches, priorities
                lists = (tuple(value.tolist()) for value in values)
                strips[SIDE_NAMES[side]] = BasicWindows(axis.cell_us * CELLS / 1e6, *lists)
        return strips

    def look(self, arrived: tuple[Part, Part]) -> Iterator[tuple[Pairs, tuple[Part, Part]]]:
        """Compare arrivals with the samples; pairs that are found nowhere else come out."""
        for side in SIDES:
            other = RIGHT if side == LEFT else LEFT
            mine = arrived[side]
            sampled, shares, n_old = self._samples[other].with_new(
                arrived[other], self._plan.looking
            )
            if not len(mine.batch) or not len(sampled.batch):
                continue
            low, high = bounds(self._join, side)
            matcher = over_rows(self._join, other, sampled.batch, sampled.batch.times)
            parts = (mine, sampled) if side == LEFT else (sampled, mine)
            batch, weights = self._some(mine.batch, 1 / shares)
            for met in matcher.candidates(batch, batch.times, (-high, -low)):
                pairs = _of_direction(met, side, n_old)
                _tally(self._looked_at, self._places(pairs), weights[pairs.positions[other]])
                pairs = matcher.verified(pairs)
                places = self._learn(pairs, weights[pairs.positions[other]])
                if self.probed.chosen is not None:
                    rest = pairs.where(~self.probed.chosen[places])
                    if len(rest):
                        yield rest, parts
            self._learn_steps(matcher, batch, side, weights, n_old)
            self.work += matcher.work

    def _some(self, arrived: Batch, weights: FloatArray) -> tuple[Batch, FloatArray]:
        """Arrivals to compare with a sample, and what a pair with each sampled row stands for.

        Where all is compared anyway no pair comes from here, and some arrivals show enough.
        """
        if self.probed.chosen is not None or len(arrived) <= MAX_LEARNING_ARRIVALS:
            return arrived, weights
        n = MAX_LEARNING_ARRIVALS
        return _spread(arrived, n), weights * (len(arrived) / n)

    def _learn_steps(
        self, matcher: Matcher, mine: Batch, side: Side, weights: FloatArray, n_old: int
    ) -> None:
        """Spread the steps that an index took over the axis, as it takes them for a few arrivals.

        They cost like candidates, and there are more of them where rows have more in common.
        """
        if not matcher.walked:
            return
        low, high = bounds(self._join, side)
        few = _spread(mine, min(len(mine), MAX_STEPS_ARRIVALS))
        steps, touched = self._axis.empty(), 0
        for met in matcher.touching(few, few.times, (-high, -low)):
            touched += len(met)
            pairs = _of_direction(met, side, n_old)
            _tally(steps, self._places(pairs), weights[pairs.positions[1 - side]])
        if touched:
            self._looked_at += steps * (matcher.walked / touched)

    def remember(
        self,
        arrived: tuple[Part, Part],
        cut: tuple[list[Part], list[Part]],
        most_bytes: float,
        seconds: float,
    ) -> None:
        """Take a part of what came into the samples, and keep what was learned.

        What memory had no room for (`cut`) is not remembered here either.
        """
        limit = min(most_bytes, LOOKING_BYTES)
        for side in SIDES:
            new = [arrived[side]] if len(arrived[side].batch) else []
            self._samples[side].update(new, LOOKING_ROWS, limit, cut[side])
        seen = [self._full.comparisons, self._looked_at, self._found, self._value]
        self._known.productivity.see(self._axis, seen, self._seen, seconds)

    def _full_join(self, arrived: tuple[Part, Part]) -> FullJoin:
        """Comparisons of a full join, and rows met for them, by the difference of cells."""
        axis, windows = self._axis, self._state.windows
        new = [axis.counted(part.batch.times) for part in arrived]
        old = [together([axis.of_window(w) for w in windows[side]]) for side in SIDES]
        by_left = axis.comparisons(new[LEFT], together([new[RIGHT], old[RIGHT]]))
        by_right = axis.comparisons(old[LEFT], new[RIGHT])
        left, right = (len(part.batch) for part in arrived)
        met = by_left / max(1, left) + by_right / max(1, right)
        stored = sum(window.rows for side in windows for window in side)
        return FullJoin(axis, by_left + by_right, met, left + right, stored)

    def _places(self, pairs: Pairs) -> NDArray[np.int64]:
        return self._axis.differences(*pair_times(pairs))

    def _learn(self, pairs: Pairs, weights: FloatArray) -> NDArray[np.int64]:
        places = self._places(pairs)
        _tally(self._found, places, weights)
        _tally(self._value, places, weights * utility(self._join, pairs))
        self._seen += len(pairs)
        return places


def pair_times(pairs: Pairs) -> tuple[Times, Times]:
    """Times of the left and of the right row of each pair."""
    return both(lambda side: pairs.batches[side].times[pairs.positions[side]])


def _looks(join: WindowJoin) -> float:
    """Of all pairs of rows, the part that is looked at; as a first guess."""
    if join.left.key or join.band is not None:
        return 0.0
    return 1.0 if join.sets is None else SOME_ITEMS


def utility(join: WindowJoin, pairs: Pairs) -> FloatArray | float:
    """What each pair is worth: the product of the columns that say so; 1 if there are none.

    A value that is null, NaN or negative counts as 0.
    """
    worth: FloatArray | float = 1.0
    for side in SIDES:
        position = join.utility[side]
        if position is not None:
            column = pairs.fetch(side, position).cast("float64", safe=False).fill_null(0.0)
            worth = worth * np.clip(np.nan_to_num(np.asarray(column)), 0.0, MOST_WORTH)
    return worth


def _of_direction(pairs: Pairs, side: Side, n_old: int) -> Pairs:
    """Of pairs with sampled rows that arrived in the same batch, those in which they are older.

    So each pair of two arrivals is looked at once: in the sample of the side that would have been
    stored first.
    """
    other = 1 - side
    at = pairs.positions
    if not bool((at[other] >= n_old).any()):
        return pairs
    left, right = pair_times(pairs)
    older = right <= left if side == LEFT else left < right
    return pairs.where((at[other] < n_old) | older)


def _spread(rows: Batch, n: int) -> Batch:
    """So many rows, evenly spread over all."""
    return rows.take(np.linspace(0, len(rows) - 1, n).astype(np.int64))


def _tally(sums: FloatArray, places: NDArray[np.int64], weights: FloatArray) -> None:
    if len(places):
        sums += np.bincount(places, weights, len(sums))
