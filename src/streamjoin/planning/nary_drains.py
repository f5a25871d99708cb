"""What a batch costs in an n-ary join (VAL-A1, VAL-A2).

It drains one stream after the other. Tuples of the driver probe the others by its probing sequence;
the table of a stream that was drained before has that one's new tuples too. Intermediate tuples are
formed again and again, and forgotten.
"""

from collections.abc import Sequence
from typing import NamedTuple

from streamjoin.planning.drivers import Groups
from streamjoin.planning.nary import Sequences
from streamjoin.planning.nary_cost import (
    MOST_ROUNDS,
    NOTHING,
    ROUND,
    Cost,
    Halfway,
    Situation,
    indexes_ns,
    values_of,
)


class Step(NamedTuple):
    """Tuples of a driver, and of streams that they have met, probe the next stream.

    Each of them has `partners` for each tuple of that stream.
    """

    stream: int
    partners: float
    is_first: bool
    is_last: bool
    values: int


class Drains:
    """What it costs to drain a stream when others have been before.

    Parameters
    ----------
    situation, sequences
        What is known, and the probing sequence of each stream.
    """

    def __init__(self, situation: Situation, sequences: Sequences) -> None:
        self._at, self._keys = situation, situation.keys
        self._steps = [self._steps_of(j, sequence) for j, sequence in enumerate(sequences)]
        self._known: dict[tuple[int, int, int], tuple[float, float]] = {}
        self.indexed: dict[int, float] = {}
        """Tables whose indexes are kept, and in which part of the batches they are looked into."""

    def _steps_of(self, driver: int, sequence: Sequence[int]) -> list[Step]:
        steps, joined, before = list[Step](), frozenset([driver]), 1.0
        for n, stream in enumerate(sequence, start=2):
            joined |= {stream}
            sigma, is_last = self._at.sizes.selectivity(joined), n == self._at.n_streams
            partners = sigma / before if before else 0.0
            steps.append(Step(stream, partners, n == 2, is_last, values_of(n, is_last=is_last)))
            before = sigma
        return steps

    def brief(self, driver: int, before: int) -> tuple[float, float]:
        """Results and nanoseconds, where some streams (bits) have been drained before."""
        formed, total, drained = self._at.arrivals[driver], 0.0, 0
        for n, step in enumerate(self._steps[driver]):
            drained |= before & 1 << step.stream
            known = self._known.get((driver, n, drained))
            if known is None:
                new = self._at.arrivals[step.stream] if drained >> step.stream & 1 else 0.0
                known = self._known[driver, n, drained] = self._probe(step, formed, new)
            formed, ns = known
            total += ns
        return formed, total

    def cost(self, driver: int, new: Sequence[float], probing: float) -> Cost:
        """Of some tuples that probe, where so many new ones of each stream were before."""
        probes, intermediate, total, formed = 0.0, 0.0, 0.0, probing
        for step in self._steps[driver]:
            probes += formed
            intermediate += 0.0 if step.is_first else formed
            formed, ns = self._probe(step, formed, new[step.stream])
            total += ns
        return Cost(probes, intermediate, formed, 0.0, total / 1000)

    def _probe(self, step: Step, probing: float, new: float) -> tuple[float, float]:
        """Tuples that a step forms, and its nanoseconds."""
        stored = self._at.tables[step.stream]
        formed = probing * step.partners * (stored + new)
        half = Halfway(
            probing, step.is_first, stored, self._at.pieces[step.stream], new, formed, step.values
        )
        if half.is_indexed and probing:
            self.indexed[step.stream] = max(self.indexed.get(step.stream, 0.0), half.happens)
        return formed, half.ns(self._keys, self._at.operations)


def mjoin_cost(situation: Situation, sequences: Sequences, groups: Groups) -> Cost:
    """One batch of an n-ary join.

    Parameters
    ----------
    situation
        What is known.
    sequences
        The probing sequence of each stream.
    groups
        Streams that drain one after the other; those of one group take turns.
    """
    drains, arrivals = Drains(situation, sequences), situation.arrivals
    before, total = frozenset[int](), NOTHING
    for group in groups:
        rounds = _rounds(arrivals, group)
        # Streams that take turns meet half of each other's new tuples.
        part = dict.fromkeys(group, 0.5) | dict.fromkeys(before, 1.0)
        for j in group:
            new = [part.get(i, 0.0) * a if i != j else 0.0 for i, a in enumerate(arrivals)]
            total += drains.cost(j, new, arrivals[j] / rounds).times(rounds)
        total += Cost(0.0, 0.0, 0.0, rounds * len(group), 0.0)
        before |= set(group)
    keys, ops = situation.keys, situation.operations
    ns = sum(
        part * indexes_ns(arrivals[i], 1.0, situation.pieces[i], keys, ops)
        for i, part in drains.indexed.items()
    )
    return total + Cost(0.0, 0.0, 0.0, -1.0, ns / 1000)


def _rounds(arrivals: Sequence[float], group: Sequence[int]) -> float:
    """In how many rounds streams take turns; one that drains needs none."""
    if len(group) == 1:
        return 1.0
    return max(1.0, min(MOST_ROUNDS, sum(arrivals[i] for i in group) // ROUND))
