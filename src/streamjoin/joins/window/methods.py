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
`planning.two.algorithm_choice`. A direction changes its method only if that pays clearly.
"""

from collections.abc import Iterator
from functools import cached_property

from streamjoin._typing import LEFT, RIGHT, Side, Times
from streamjoin.core.batch import Batch
from streamjoin.core.index import HashIndex, ListIndex
from streamjoin.core.window import JoinedWindow
from streamjoin.errors import DataError
from streamjoin.joins.base import Pairs
from streamjoin.joins.window.matching import Bounds, Matcher, Moved, Part, bounds, over_rows
from streamjoin.joins.window.parts import ProbedParts, reachable
from streamjoin.joins.window.remembered import Remembered
from streamjoin.joins.window.settings import WindowJoin, WindowJoinState
from streamjoin.metrics import JoinCounts
from streamjoin.planning.two.algorithm_choice import Load, Method, choose
from streamjoin.shedding.costs import WEIGHT


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
    probed
        What is probed.
    moved
        Where given: pairs of two such rows are left out.

    Attributes
    ----------
    windows
        Basic windows that are probed.
    method
        How.
    work
        Rows and candidates that were looked at.
    """

    def __init__(
        self,
        join: WindowJoin,
        state: WindowJoinState,
        remembered: Remembered,
        side: Side,
        arrived: tuple[Part, Part],
        probed: ProbedParts,
        moved: Moved | None = None,
    ) -> None:
        self._join, self._state, self._remembered = join, state, remembered
        self._side, self._other = side, RIGHT if side == LEFT else LEFT
        self._part, self._met = arrived[side], arrived[self._other]
        self._probed, self._moved = probed, moved
        self._between = probed.between(side)
        self._at = probed.coordinates(self._part)
        self._matchers: list[Matcher] = []
        self.windows = self._reached()
        self.method: Method = "batch"
        if self.windows:
            state.methods[side] = self.method = self._choose()

    def matches(self) -> Iterator[tuple[Pairs, Part]]:
        """Pairs, and the part of the other side that they come from."""
        found = 0
        for pairs, stored in self._with_stored():
            found += len(pairs)
            yield pairs, stored
        self._learn(found)
        # Without an order both directions are found at once, else each by its own index.
        if len(self._met.batch) and (self._side == LEFT or self._join.is_ordered):
            for between in self._between:
                for pairs in self._past_arrivals(self._met, between):
                    yield pairs, self._met

    @property
    def work(self) -> int:
        """Rows and candidates that were looked at."""
        return sum(matcher.work for matcher in self._matchers)

    def metrics(self) -> JoinCounts:
        """How stored rows were met."""
        counts = JoinCounts(**{f"by_{self.method}": 1}) if self.windows else JoinCounts()
        if not self._probed.is_part:
            return counts
        (low, high), at = bounds(self._join, self._side), self._part.batch.times
        near = self._remembered.reached(self._other, int(at[0]) - high, int(at[-1]) - low)
        skipped = len(set(near) - set(self.windows))
        return counts + JoinCounts(windows_read=len(self.windows), windows_skipped=skipped)

    def _reached(self) -> list[JoinedWindow]:
        reached: dict[JoinedWindow, None] = {}
        for low, high in self._between:
            first, last = int(self._at[0]) - high, int(self._at[-1]) - low
            reached |= dict.fromkeys(self._remembered.reached(self._other, first, last))
        return list(reached)

    def _choose(self) -> Method:
        asked = self._join.algorithm[self._other]
        if self._join.band is not None or self._join.sets is not None:
            return "batch"  # bands and sets are indexed over the rows that arrive
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
            over_stored = None if self.method == "batch" else self._over_stored(window, stored)
            for between in self._between:
                if over_stored is None:
                    found = self._past_arrivals(stored, between)
                else:
                    found = self._probing(over_stored, stored, between)
                for pairs in found:
                    yield pairs, stored

    def _past_arrivals(self, met: Part, between: Bounds) -> Iterator[Pairs]:
        """Stream rows past the index of the arrivals, as far as those can reach them."""
        axis = met.batch.axis
        rows = reachable(axis, self._at, between)
        return self._matched(self._over_arrivals, met.batch, axis, between, rows)

    def _probing(self, over: Matcher, stored: Part, between: Bounds) -> Iterator[Pairs]:
        """Probe the index of stored rows with the arrivals that can reach them."""
        between = -between[1], -between[0]
        rows = reachable(self._at, stored.batch.axis, between)
        return self._matched(over, self._part.batch, self._at, between, rows)

    def _matched(
        self, over: Matcher, met: Batch, at: Times, between: Bounds, rows: Bounds | None
    ) -> Iterator[Pairs]:
        """The pairs that match and are within the windows."""
        for pairs in over.candidates(met, at, between, rows) if rows else ():
            try:
                matched = self._probed.within(over.verified(pairs))
            except DataError:
                # Pairs a little outside of the windows are looked at too: there it does not count.
                matched = over.verified(self._probed.within(pairs))
            yield matched

    def _over_stored(self, window: JoinedWindow, stored: Part) -> Matcher:
        rows = stored.batch
        index: HashIndex | ListIndex
        if self.method == "hash":
            index = self._remembered.index(self._other, window)
        else:
            index = ListIndex.build(rows.keys, rows.axis)
        matcher = Matcher(self._join, self._other, rows, rows.axis, self._moved, index)
        return self._counted(matcher)

    @cached_property
    def _over_arrivals(self) -> Matcher:
        rows = self._part.batch
        return self._counted(over_rows(self._join, self._side, rows, self._at, self._moved))

    def _counted(self, matcher: Matcher) -> Matcher:
        self._matchers.append(matcher)
        return matcher

    def _learn(self, found: int) -> None:
        """Remember which share of the pairs matched, for the next batch."""
        if self._probed.is_part:
            return
        pairs = len(self._part.batch) * sum(window.rows for window in self.windows)
        if pairs:
            now, before = found / pairs, self._state.selectivity[self._side]
            average = now if before is None else (1 - WEIGHT) * before + WEIGHT * now
            self._state.selectivity[self._side] = average
