"""How arrivals of one side meet what is stored of the other: three methods per direction.

``batch``
    The arrivals are indexed, and the stored rows are streamed past that index.
``hash``
    Each stored basic window has a hash index of its own, made when it is first probed and kept;
    the arrivals probe them (Kang's hash join).
``nested``
    Every arrival is compared with every stored row (Kang's nested loops join).

Which is cheapest is computed for each batch from what it brings, from what is stored and from the
share of the pairs that matched so far, whose inverse is the number of keys (KAN-A2); see
`planning.algorithm_choice`. A direction changes its method only if that pays clearly.
"""

from collections.abc import Iterator
from functools import cached_property

from streamjoin._typing import LEFT, RIGHT, Side
from streamjoin.core.batch import Batch
from streamjoin.core.list_index import ListIndex
from streamjoin.core.statistics import WEIGHT
from streamjoin.core.window import BasicWindow
from streamjoin.joins.base import Pairs
from streamjoin.joins.matching import Index, Matcher, Moved, Part, bounds, coordinates, over_rows
from streamjoin.joins.remembered import Remembered
from streamjoin.joins.window_join import WindowJoin, WindowJoinState
from streamjoin.planning.algorithm_choice import Load, Method, choose


class Direction:
    """Arrivals of one side against what is stored of the other, in one batch.

    Parameters
    ----------
    join, state
        Settings and directory.
    remembered
        What is stored.
    side
        Whose arrivals probe.
    arrived
        The arrivals of both sides; at least one row of this one.
    moved
        Where given: pairs of two such rows are left out.
    """

    def __init__(
        self,
        join: WindowJoin,
        state: WindowJoinState,
        remembered: Remembered,
        side: Side,
        arrived: tuple[Part, Part],
        moved: Moved | None = None,
    ) -> None:
        self._join, self._state, self._remembered = join, state, remembered
        self._side, self._other = side, RIGHT if side == LEFT else LEFT
        self._part, self._met = arrived[side], arrived[self._other]
        self._moved = moved
        self._low, self._high = bounds(join, side)
        self._at = coordinates(self._part)
        self.windows = self._reached()
        self.method: Method = "batch"
        if self.windows:
            state.methods[side] = self.method = self._choose()

    def matches(self) -> Iterator[tuple[Pairs, Part]]:
        """Pairs, and the part of the other side that they come from."""
        if self._low > self._high:
            return
        found = 0
        for pairs, stored in self._with_stored():
            found += len(pairs)
            yield pairs, stored
        self._learn(found)
        # Without an order both directions are found at once, else each by its own index.
        if len(self._met.batch) and (self._side == LEFT or self._join.is_ordered):
            for pairs in self._over_arrivals.meet(self._met.batch, self._met.batch.axis):
                yield pairs, self._met

    def _reached(self) -> list[BasicWindow]:
        if self._low > self._high:
            return []
        first, last = int(self._at[0]) - self._high, int(self._at[-1]) - self._low
        return self._remembered.reached(self._other, first, last)

    def _choose(self) -> Method:
        asked = self._join.algorithm[self._other]
        if self._join.band is not None:
            return "batch"  # a band is indexed over the rows that arrive
        if asked != "auto":
            return asked
        stored = sum(window.rows for window in self.windows)
        selectivity = self._state.selectivity[self._side]
        load = Load(
            arrivals=len(self._part.batch),
            stored=stored,
            stored_keys=1 / selectivity if selectivity else max(1, stored),
            inserted=len(self._met.batch),
            n_windows=len(self.windows),
        )
        return choose(load, self._join.operations, self._state.methods[self._side])

    def _with_stored(self) -> Iterator[tuple[Pairs, Part]]:
        for window in self.windows:
            stored = self._remembered.part(self._other, window)
            if self.method == "batch":
                found = self._over_arrivals.meet(stored.batch, stored.batch.axis)
            else:
                found = self._over_stored(window, stored.batch).meet(self._part.batch, self._at)
            for pairs in found:
                yield pairs, stored

    def _over_stored(self, window: BasicWindow, rows: Batch) -> Matcher:
        index: Index
        if self.method == "hash":
            index = self._remembered.index(self._other, window)
        else:
            index = ListIndex.build(rows.keys, rows.axis)
        between = -self._high, -self._low
        return Matcher(self._join, self._other, rows, index, between, self._moved)

    @cached_property
    def _over_arrivals(self) -> Matcher:
        between = self._low, self._high
        return over_rows(self._join, self._side, self._part.batch, self._at, between, self._moved)

    def _learn(self, found: int) -> None:
        """Remember which share of the pairs matched, for the next batch."""
        pairs = len(self._part.batch) * sum(window.rows for window in self.windows)
        if pairs:
            now, before = found / pairs, self._state.selectivity[self._side]
            average = now if before is None else (1 - WEIGHT) * before + WEIGHT * now
            self._state.selectivity[self._side] = average
