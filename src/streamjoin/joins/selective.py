"""A join that probes its windows in part: what is chosen, and what is seen of the rest.

Each batch first compares all that arrives with a small sample of what is remembered, everywhere.
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
from streamjoin.core.cells import Axis, FloatArray, together
from streamjoin.joins.base import Pairs, WindowStore
from streamjoin.joins.matching import Part, bounds, over_rows
from streamjoin.joins.row_sample import LOOKING, RowSample
from streamjoin.joins.selection import Selection
from streamjoin.joins.window_join import END, WindowJoin, WindowJoinState
from streamjoin.metrics import JoinMetrics
from streamjoin.shedding.selective import GAMMA, LEAST_SAMPLE, SelectivePlan, SelectiveState

MOST_ROWS: Final = 2048
MOST_BYTES: Final = 256 << 10
"""Of the sample of one side, in one shard."""


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
        self._looked_at, self._found, self._value = (self._axis.empty() for _ in range(3))
        self._seen = 0
        self.selection = Selection(join)
        self.work = 0

    def plan(self, arrived: tuple[Part, Part], cpu_us: float | None) -> JoinMetrics:
        """Choose what the batch probes; how much that is."""
        came = len(arrived[LEFT].batch), len(arrived[RIGHT].batch)
        self._comparisons = self._count(arrived)
        plan = self._known.plan(self._policy, self._axis, self._comparisons, came, cpu_us)
        if plan.chosen is not None:
            self.selection = Selection(self._join, self._axis, plan.chosen)
        self._looking = self._share(plan)
        done, skipped = plan.comparisons, plan.skipped
        return JoinMetrics(
            compared_left=round(done[LEFT]),
            compared_right=round(done[RIGHT]),
            skipped_left=round(skipped[LEFT]),
            skipped_right=round(skipped[RIGHT]),
            selective=int(plan.chosen is not None),
        )

    def look(self, arrived: tuple[Part, Part]) -> Iterator[tuple[Pairs, tuple[Part, Part]]]:
        """Compare arrivals with the samples; pairs that are found nowhere else come out."""
        for side in SIDES:
            other = RIGHT if side == LEFT else LEFT
            mine = arrived[side]
            sampled, shares, n_old = self._samples[other].with_new(arrived[other], self._looking)
            if not len(mine.batch) or not len(sampled.batch):
                continue
            low, high = bounds(self._join, side)
            matcher = over_rows(self._join, other, sampled.batch, sampled.batch.times)
            parts = (mine, sampled) if side == LEFT else (sampled, mine)
            for met in matcher.candidates(mine.batch, mine.batch.times, (-high, -low)):
                pairs = _of_direction(met, side, n_old)
                _tally(self._looked_at, self._places(pairs), 1 / shares[pairs.positions[other]])
                pairs = matcher.verified(pairs)
                places = self._learn(pairs, 1 / shares[pairs.positions[other]])
                if self.selection.chosen is not None:
                    rest = pairs.where(~self.selection.chosen[places])
                    if len(rest):
                        yield rest, parts
            self.work += matcher.work

    def remember(self, arrived: tuple[Part, Part], most_bytes: float, seconds: float) -> None:
        """Take a part of what came into the samples, and keep what was learned."""
        for side in SIDES:
            new = [arrived[side]] if len(arrived[side].batch) else []
            stored = self._state.windows[side]
            # What memory had no room for is not remembered here either.
            oldest = min((window.first for window in stored), default=-END)
            limit = min(most_bytes, MOST_BYTES)
            self._samples[side].update(new, MOST_ROWS, limit, oldest)
        seen = [self._comparisons, self._looked_at, self._found, self._value]
        self._known.productivity.see(self._axis, seen, self._seen, seconds)

    def _count(self, arrived: tuple[Part, Part]) -> FloatArray:
        """Comparisons of a full join, by the difference of cells."""
        axis, windows = self._axis, self._state.windows
        new = [axis.counted(part.batch.times) for part in arrived]
        old = [together([axis.of_window(w) for w in windows[side]]) for side in SIDES]
        return (
            axis.comparisons(new[LEFT], new[RIGHT])
            + axis.comparisons(new[LEFT], old[RIGHT])
            + axis.comparisons(old[LEFT], new[RIGHT])
        )

    def _share(self, plan: SelectivePlan) -> float:
        """The share of remembered rows that is looked at everywhere: never too few rows."""
        rows = sum(window.rows for side in self._state.windows for window in side)
        return max(plan.looking, LEAST_SAMPLE / max(rows, 1))

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


def utility(join: WindowJoin, pairs: Pairs) -> FloatArray | float:
    """What each pair is worth: the product of the columns that say so; 1 if there are none.

    A value that is null, NaN or negative counts as 0.
    """
    worth: FloatArray | float = 1.0
    for side in SIDES:
        position = join.utility[side]
        if position is not None:
            column = pairs.fetch(side, position).cast("float64").fill_null(0.0)
            worth = worth * np.fmax(np.asarray(column), 0.0)
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
