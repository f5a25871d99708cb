"""A join that probes its windows in part: what is chosen, and what is seen of the rest.

Each batch also compares all that arrives with a small sample of what is remembered, everywhere.
That shows which parts of the windows are productive, finds a few results of the others, and tells
how many were missed there. The paper samples the tuples that arrive (GED-A9); in batches the sample
is taken from the tuples that are stored, with the same expectation, so that the parts that are not
chosen need not be read at all.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import LEFT, RIGHT, SIDES, Side
from streamjoin.core.batch import Batch
from streamjoin.core.cells import CELLS, Axis, FloatArray, together
from streamjoin.joins.base import Pairs, WindowStore
from streamjoin.joins.columns import SIDE_NAMES
from streamjoin.joins.matching import Matcher, Part, bounds, over_rows
from streamjoin.joins.remembered import Remembered
from streamjoin.joins.row_sample import LOOKING, RowSample
from streamjoin.joins.selection import Selection
from streamjoin.joins.window_join import WindowJoin, WindowJoinState
from streamjoin.metrics import BasicWindows, JoinCounts
from streamjoin.shedding.selective import GAMMA, SelectiveState

LOOKING_ROWS: Final = 2048
LOOKING_BYTES: Final = 256 << 10
"""Of the sample of one side, in one shard."""
SOME_ITEMS: Final = 0.1
"""Part of all pairs of sets that have an item in common, as a first guess."""
ENOUGH: Final = 4096
"""Arrivals to learn from, while nothing is left out."""
FEW: Final = 256
"""Arrivals that show where an index takes its steps."""
MOST_WORTH: Final = 1e100
"""Of one column: sums of products stay finite."""


class Selective:
    """Chooses what one batch of a join probes.

    Parameters
    ----------
    join, policy
        Settings.
    state, known, store
        Directory, what is known for choosing, and the place of the bytes.

    Attributes
    ----------
    selection
        What is probed.
    looking
        The share of the rows that is looked at everywhere.
    skipped
        The share of the comparisons that is left out.
    work
        Rows and candidates that were looked at in the samples.
    """

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
            self._begin(Remembered(join, state, store))
            known.productivity.prior = _looks(join)
        self._looked_at, self._found, self._value = (self._axis.empty() for _ in range(3))
        self._seen = 0
        self.selection = Selection(join)
        self.work = 0

    def _begin(self, remembered: Remembered) -> None:
        """Sample what is remembered from the time before comparisons were budgeted."""
        for side in SIDES:
            stored = [remembered.part(side, window) for window in self._state.windows[side]]
            self._samples[side].update(stored, LOOKING_ROWS, LOOKING_BYTES)

    def plan(self, arrived: tuple[Part, Part], cpu_us: float) -> JoinCounts:
        """Choose what the batch probes; how much that is."""
        came = len(arrived[LEFT].batch) + len(arrived[RIGHT].batch)
        stored = sum(window.rows for side in self._state.windows for window in side)
        self._comparisons, self._met = self._count(arrived)
        plan = self._known.plan(
            self._policy, self._axis, self._comparisons, self._met, came, stored, cpu_us
        )
        if plan.chosen is not None:
            self.selection = Selection(self._join, self._axis, plan.chosen)
        self.looking = plan.looking
        done, skipped = plan.comparisons, plan.skipped
        self.skipped = sum(skipped) / (sum(done) + sum(skipped)) if any(skipped) else 0.0
        return JoinCounts(
            compared_left=round(done[LEFT]),
            compared_right=round(done[RIGHT]),
            skipped_left=round(skipped[LEFT]),
            skipped_right=round(skipped[RIGHT]),
            selective=int(plan.chosen is not None),
        )

    @property
    def seen(self) -> float:
        """The share of the rows that is looked at everywhere, as far as there is a sample."""
        return min(self.looking, *self._known.sample_shares)

    def strips(self) -> dict[str, BasicWindows]:
        """What is probed where, and what was found there until now."""
        axis, known, chosen = self._axis, self._known, self.selection.chosen
        made = self._comparisons if chosen is None else np.where(chosen, self._comparisons, 0.0)
        strips = {}
        for side in SIDES:
            every, done = (axis.in_basic(of, side) for of in (self._comparisons, made))
            if len(every) and known.productivity.is_known:
                found = every * known.productivity.per_comparison("found", side)
                first = known.priorities(axis, self._comparisons, self._met, side)
                lists = (tuple(of.tolist()) for of in (done, every - done, found, first))
                strips[SIDE_NAMES[side]] = BasicWindows(axis.cell_us * CELLS / 1e6, *lists)
        return strips

    def look(self, arrived: tuple[Part, Part]) -> Iterator[tuple[Pairs, tuple[Part, Part]]]:
        """Compare arrivals with the samples; pairs that are found nowhere else come out."""
        for side in SIDES:
            other = RIGHT if side == LEFT else LEFT
            mine = arrived[side]
            sampled, shares, n_old = self._samples[other].with_new(arrived[other], self.looking)
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
                if self.selection.chosen is not None:
                    rest = pairs.where(~self.selection.chosen[places])
                    if len(rest):
                        yield rest, parts
            self._learn_steps(matcher, batch, side, weights, n_old)
            self.work += matcher.work

    def _some(self, arrived: Batch, weights: FloatArray) -> tuple[Batch, FloatArray]:
        """Arrivals to compare with a sample, and what a pair with each sampled row stands for.

        Where all is compared anyway no pair comes from here, and some arrivals show enough.
        """
        if self.selection.chosen is not None or len(arrived) <= ENOUGH:
            return arrived, weights
        some = arrived.take(np.linspace(0, len(arrived) - 1, ENOUGH).astype(np.int64))
        return some, weights * (len(arrived) / ENOUGH)

    def _learn_steps(
        self, matcher: Matcher, mine: Batch, side: Side, weights: FloatArray, n_old: int
    ) -> None:
        """Spread the steps that an index took over the axis, as it takes them for a few arrivals.

        They cost like candidates, and there are more of them where rows have more in common.
        """
        if not matcher.walked:
            return
        low, high = bounds(self._join, side)
        few = mine.take(np.linspace(0, len(mine) - 1, min(len(mine), FEW)).astype(np.int64))
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
        seen = [self._comparisons, self._looked_at, self._found, self._value]
        self._known.productivity.see(self._axis, seen, self._seen, seconds)

    def _count(self, arrived: tuple[Part, Part]) -> tuple[FloatArray, FloatArray]:
        """Comparisons of a full join, and rows met for them, by the difference of cells."""
        axis, windows = self._axis, self._state.windows
        new = [axis.counted(part.batch.times) for part in arrived]
        old = [together([axis.of_window(w) for w in windows[side]]) for side in SIDES]
        by_left = axis.comparisons(new[LEFT], together([new[RIGHT], old[RIGHT]]))
        by_right = axis.comparisons(old[LEFT], new[RIGHT])
        left, right = (max(1, len(part.batch)) for part in arrived)
        return by_left + by_right, by_left / left + by_right / right

    def _places(self, pairs: Pairs) -> NDArray[np.int64]:
        left, right = (
            batch.times[at] for batch, at in zip(pairs.batches, pairs.positions, strict=True)
        )
        return self._axis.differences(left, right)

    def _learn(self, pairs: Pairs, weights: FloatArray) -> NDArray[np.int64]:
        places = self._places(pairs)
        _tally(self._found, places, weights)
        _tally(self._value, places, weights * utility(self._join, pairs))
        self._seen += len(pairs)
        return places


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
    mine, theirs = pairs.batches[side].times[at[side]], pairs.batches[other].times[at[other]]
    older = theirs <= mine if side == LEFT else theirs < mine
    return pairs.where((at[other] < n_old) | older)


def _tally(sums: FloatArray, places: NDArray[np.int64], weights: FloatArray) -> None:
    if len(places):
        sums += np.bincount(places, weights, len(sums))
