"""One n-ary join: new tuples of a stream probe all others, and nothing in between is kept (VAL-A1).

The streams drive one after the other. A tuple that drives probes the tables of the others in its
stream's *probing sequence*, the most selective first, and is dropped at the first that has no match
(VAL-A3). The table of a stream is what is stored of it and those of its new tuples that have driven
already: so each result is found once, by the last of its tuples in that order.

A stream that *drains* does so at once. Streams that take turns would do so tuple by tuple; here
they do in *rounds* of some thousands, as each turn has its price: within a round the first stream's
tuples are processed first. By time a round is a stretch of it, by position as many tuples of each
(VAL-A2, VAL-A5..A10).

Tuples of a turn go together, a part at a time: what a probe has formed probes on before the next
part is formed. So results come early, and what is in memory does not grow with them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from streamjoin._typing import Keys, Times
from streamjoin.joins.multi.halfway import Found, Probing
from streamjoin.joins.multi.rows import Rows
from streamjoin.joins.multi.states import Piece, States
from streamjoin.joins.multi.tuples import Tuples, combine, gathered, overlap
from streamjoin.metrics.catalogue import Counts
from streamjoin.planning.many.nary import Groups, Turns
from streamjoin.planning.many.nary_cost import MOST_ROUNDS, ROUND

TAKEN_TOGETHER: Final = 1 << 17
"""Intermediate tuples that probe on together, if there are as many."""


class Turn(NamedTuple):
    """Tuples of one stream, by position, that are processed together."""

    driver: int
    start: int
    stop: int


def turns_of(groups: Groups, by: Turns, times: Sequence[Times]) -> Iterator[Turn]:
    """All turns of a batch: who drains after whom, and how those of one group take turns.

    `times` are those of the new tuples of each stream, in order.

    Examples
    --------
    >>> times = [np.arange(5000), np.arange(0, 5000, 5)]
    >>> [tuple(turn) for turn in turns_of(((1,), (0,)), "position", times)]
    [(1, 0, 1000), (0, 0, 5000)]
    >>> [tuple(turn) for turn in turns_of(((0, 1),), "time", [np.arange(8000), np.arange(400)])]
    [(0, 0, 3800), (1, 0, 400), (0, 3800, 8000)]
    """
    for group in groups:
        edges = _edges([times[stream] for stream in group], by)
        for n, ends in enumerate(edges[1:]):
            for stream, start, stop in zip(group, edges[n], ends, strict=True):
                if stop > start:
                    yield Turn(stream, start, stop)


def _edges(times: list[Times], by: Turns) -> list[list[int]]:
    """Where the rounds of some streams begin, and the last ends: positions in each stream."""
    lengths = [len(of) for of in times]
    n_rounds = 1
    if len(times) > 1:
        n_rounds = max(1, min(MOST_ROUNDS, sum(lengths) // ROUND))
    if by == "position":
        longest = max(lengths)
        cuts = [longest * n // n_rounds for n in range(1, n_rounds)]
        inner = [[min(cut, length) for length in lengths] for cut in cuts]
    else:
        merged = np.sort(np.concatenate(times))
        at = [merged[len(merged) * n // n_rounds] for n in range(1, n_rounds)]
        inner = [[int(np.searchsorted(of, t)) for of in times] for t in at]
    return [[0] * len(times), *inner, lengths]


class NaryJoin:
    """The new tuples of a batch and the tables of all streams.

    `new` are the new tuples of each stream, `sequences` say in what order those of each probe the
    others; its work is counted in `counts`.
    """

    def __init__(
        self,
        states: States,
        rows: Rows,
        new: Sequence[Tuples],
        sequences: Sequence[Sequence[int]],
        counts: Counts,
    ) -> None:
        self._join, self._states, self._rows = states.join, states, rows
        self._new, self._sequences, self._counts = new, sequences, counts
        self._drained = [0] * len(new)
        self._table: dict[tuple[int, int], tuple[Tuples, Keys]] = {}
        self._spans = [states.span_us(i) for i in range(len(new))]
        self._lines = states.tree.streams(states.tree.root)

    def results(self, turns: Iterator[Turn]) -> Iterator[Tuples]:
        """All results, in the order in which the turns bring them."""
        for n, turn in enumerate(turns):
            self._counts["driver_changes"] += n > 0
            tuples = self._new[turn.driver].take(slice(turn.start, turn.stop))
            self._counts[f"probed_{self._join.inputs[turn.driver].name}"] += len(tuples)
            if self._can_find(turn.driver):
                yield from self._probed(tuples, (turn.driver,), self._sequences[turn.driver])
            self._drained[turn.driver] = turn.stop

    def _can_find(self, driver: int) -> bool:
        """Whether every other table has something; if one has nothing, there are no results."""
        return all(
            self._drained[i] or self._states.rows(i) for i in range(len(self._new)) if i != driver
        )

    def _probed(
        self, tuples: Tuples, done: tuple[int, ...], rest: Sequence[int]
    ) -> Iterator[Tuples]:
        """Results that tuples of some streams form with those of the rest, one after the other."""
        if not rest:
            yield self._in_lines(tuples, done)
            return
        self._counts["work"] += len(tuples)
        if len(done) > 1:
            self._counts["probed_intermediate"] += len(tuples)
        formed = self._met(tuples, done, rest[0], is_last=len(rest) == 1)
        for part in map(Tuples.joined, gathered(formed, TAKEN_TOGETHER)):
            self._counts["work"] += len(part)
            self._counts["intermediate"] += len(part) if len(rest) > 1 else 0
            yield from self._probed(part, (*done, rest[0]), rest[1:])

    def _met(
        self, tuples: Tuples, done: tuple[int, ...], other: int, *, is_last: bool
    ) -> Iterator[Tuples]:
        """What tuples form with the table of one stream."""
        attributes = self._attributes(done, other)
        probing = Probing(self._keyed(tuples, done, attributes), min(self._spans[i] for i in done))
        checked = self._join.n_axes > 1 or len(done) > 1  # two rows overlap if they are close
        low, high = int(tuples.starts[0].min()), int(tuples.ends[0].max())
        span, first = self._spans[other], attributes[0] if attributes else 0
        more = [(a, self._keys(tuples, done, a)) for a in attributes[1:]]

        def formed(
            theirs: Tuples, found: Iterator[Found], piece: Piece | None = None
        ) -> Iterator[Tuples]:
            others = [(mine, self._table_keys(other, piece, theirs, a)) for a, mine in more]
            for at, at_theirs in found:
                if checked or others:
                    holds = np.ones(len(at), np.bool_)
                    if checked:
                        holds = overlap(tuples, at, theirs, at_theirs)
                    for mine, their_keys in others:  # equal in all other attributes too
                        holds &= mine.take(at) == their_keys.take(at_theirs)
                    at, at_theirs = at[holds], at_theirs[holds]
                if len(at):
                    yield combine(tuples, at, theirs, at_theirs, names_only=is_last)

        for piece, stored in self._states.stored(other, low, high):
            if piece is not None and probing.pays_to_keep(piece.rows):
                found = probing.into(self._states.index(other, piece, first), span)
            else:
                table = stored
                if attributes:
                    table = replace(stored, keys=self._table_keys(other, piece, stored, first))
                found = probing.past(table, span)
            yield from formed(stored, found, piece)
        if self._drained[other]:
            new = self._new[other].take(slice(0, self._drained[other]))
            yield from formed(new, probing.past(self._keyed(new, (other,), attributes), span))

    def _attributes(self, done: tuple[int, ...], other: int) -> list[int]:
        """Attributes that link a stream to others; none where there is one key."""
        every = enumerate(self._join.attributes)
        return [i for i, one in every if other in one and not one.keys().isdisjoint(done)]

    def _keyed(self, tuples: Tuples, done: tuple[int, ...], attributes: list[int]) -> Tuples:
        """Tuples with what they have in the first attribute as their keys."""
        if not attributes:
            return tuples
        return replace(tuples, keys=self._keys(tuples, done, attributes[0]))

    def _table_keys(self, number: int, piece: Piece | None, tuples: Tuples, attribute: int) -> Keys:
        """What tuples of a table have in an attribute, looked up once a batch."""
        if piece is not None:
            return self._states.attribute_keys(number, piece.slice, attribute)
        known = self._table.get((number, attribute))
        if known is None or known[0] is not tuples:
            known = tuples, self._keys(tuples, (number,), attribute)
            self._table[number, attribute] = known
        return known[1]

    def _keys(self, tuples: Tuples, done: tuple[int, ...], attribute: int) -> Keys:
        """What tuples have in an attribute, by the first of their streams that has it."""
        columns = self._join.attributes[attribute]
        line = next(i for i, number in enumerate(done) if number in columns)
        return self._rows.attribute_keys(done[line], tuples.ids[line], attribute)

    def _in_lines(self, tuples: Tuples, done: tuple[int, ...]) -> Tuples:
        """Results with the names of their rows in the order of the plan's streams."""
        if done == self._lines:
            return tuples
        return replace(tuples, ids=tuples.ids[[done.index(number) for number in self._lines]])
