"""What the right answer is: window joins in plain Python, slow and easy to check by eye.

Rows are dictionaries. Nothing here is shared with the kernels or the core; every join of this
library is tested against these functions.

`window_join` says which pairs match, `join` which rows come out, `answers` in which batch, given
the `watermarks` after each batch; `split_late` says which rows take part. `multi_join` says which
rows of many streams match.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

from streamjoin.windows import Rows

Row = Mapping[str, Any]
Pair = tuple[Row, Row]
Result = tuple[Row | None, Row | None]
"""A row of the result: its left and its right row, None where it has no such row."""
Batch = tuple[Sequence[Row], Sequence[Row]]
On = Sequence[tuple[str, str]]
Where = Callable[[Row, Row], bool | None]
Numbers = tuple[Any, Any]
"""A `Result` as numbers of rows, counted per side in the order in which they came, or None."""


def window_join(
    left: Iterable[Row],
    right: Iterable[Row],
    *,
    on: On,
    time: tuple[str, str],
    window: tuple[Any, Any],
    where: Where | None = None,
) -> list[Pair]:
    """All pairs that match: equal keys, `where` true, one in the window of the other.

    Of two tuples the one that is earlier in the order (time, left before right, arrival) is
    remembered, and the window of its side decides:

    - a length of time: the other is at most so much later;
    - ``Rows(n)``: it is one of the last n tuples of its stream before the other;
    - None: its stream is not remembered; only tuples of the same time match.

    With two lengths of time this is ``-window[0] <= t_left - t_right <= window[1]``. A null key or
    a null time matches nothing. Times and windows may be of any types that can be subtracted and
    compared, such as numbers, or datetimes with timedeltas.

    Examples
    --------
    >>> calls = [{"person": "ann", "t": 10}, {"person": None, "t": 11}]
    >>> trades = [{"person": "ann", "t": 15}, {"person": "ann", "t": 16}]
    >>> window_join(calls, trades, on=[("person", "person")], time=("t", "t"), window=(5, 5))
    [({'person': 'ann', 't': 10}, {'person': 'ann', 't': 15})]

    Of two calls only the last is remembered; the one without a name counts too:

    >>> window_join(calls, trades, on=[], time=("t", "t"), window=(Rows(1), None))
    [({'person': None, 't': 11}, {'person': 'ann', 't': 15}),
     ({'person': None, 't': 11}, {'person': 'ann', 't': 16})]
    """
    rows = list(left), list(right)
    matches = _matches(rows, on=on, time=time, window=window, where=where)
    return [(rows[0][i], rows[1][j]) for i, j in matches]


def _matches(
    rows: tuple[Sequence[Row], Sequence[Row]],
    *,
    on: On,
    time: tuple[str, str],
    window: tuple[Any, Any],
    where: Where | None,
) -> list[tuple[int, int]]:
    orders = _order(rows[0], 0, time[0]), _order(rows[1], 1, time[1])
    came = [sorted(order, key=lambda place: place.number) for order in orders]
    return [
        (a.number, b.number)
        for a in came[0]
        for b in came[1]
        if _same_key(rows[0][a.number], rows[1][b.number], on)
        and _in_window(a, b, orders, window)
        and (where is None or where(rows[0][a.number], rows[1][b.number]) is True)
    ]


class _Place(NamedTuple):
    """A tuple's place in the total order of both streams; places compare field by field."""

    time: Any
    side: int
    number: int


def _order(rows: Sequence[Row], side: int, time: str) -> list[_Place]:
    """Places of a stream's tuples, the earliest first; those without a time have none."""
    return sorted(_Place(r[time], side, n) for n, r in enumerate(rows) if r[time] is not None)


def _in_window(
    a: _Place, b: _Place, orders: tuple[list[_Place], list[_Place]], window: tuple[Any, Any]
) -> bool:
    first, second = sorted((a, b))
    return _is_remembered(first, second, orders[first.side], window[first.side])


def multi_join(
    streams: Mapping[str, Sequence[Row]],
    *,
    on: Sequence[tuple[tuple[str, str], tuple[str, str]]],
    time: Mapping[str, str],
    window: Mapping[str, Any],
) -> list[dict[str, Row]]:
    """All results of a join of many streams: a row of each, by name.

    Every equality of `on`, ((stream, column), (stream, column)), holds, and each row but the last
    in the order (time, stream, arrival) is in its window when the last one comes:

    - a length of time: the last is at most so much later;
    - ``Rows(n)``: it is one of the last n of its stream before the last;
    - None: the last one has the same time.

    Examples
    --------
    >>> a, b, c = [{"k": 1, "t": 10}], [{"k": 1, "t": 14}], [{"k": 1, "t": 15}, {"k": 1, "t": 16}]
    >>> on = [(("a", "k"), ("b", "k")), (("b", "k"), ("c", "k"))]
    >>> found = multi_join({"a": a, "b": b, "c": c}, on=on,
    ...                    time=dict.fromkeys("abc", "t"), window=dict.fromkeys("abc", 5))
    >>> [row["t"] for row in found[0].values()], len(found)
    ([10, 14, 15], 1)
    """
    names = list(streams)
    orders = {n: _order(streams[n], i, time[n]) for i, n in enumerate(names)}
    found: list[dict[str, int]] = [{}]
    for name in names:
        found = [
            {**partial, name: number}
            for partial in found
            for number, row in enumerate(streams[name])
            if row[time[name]] is not None and _holds(streams, on, {**partial, name: number}, name)
        ]
    return [
        {name: streams[name][number] for name, number in one.items()}
        for one in found
        if _all_in_windows(one, names, streams, orders, time, window)
    ]


def _holds(
    streams: Mapping[str, Sequence[Row]],
    on: Sequence[tuple[tuple[str, str], tuple[str, str]]],
    numbers: Mapping[str, int],
    new: str,
) -> bool:
    """Whether the equalities hold that speak of a new row and of others that are there."""
    for (one, x), (other, y) in on:
        if new in (one, other) and one in numbers and other in numbers:
            a, b = streams[one][numbers[one]], streams[other][numbers[other]]
            if not _same_key(a, b, [(x, y)]):
                return False
    return True


def _all_in_windows(
    numbers: Mapping[str, int],
    names: Sequence[str],
    streams: Mapping[str, Sequence[Row]],
    orders: Mapping[str, list[_Place]],
    time: Mapping[str, str],
    window: Mapping[str, Any],
) -> bool:
    places = [_Place(streams[n][numbers[n]][time[n]], i, numbers[n]) for i, n in enumerate(names)]
    last = max(places)
    return all(
        place == last or _is_remembered(place, last, orders[name], window[name])
        for name, place in zip(names, places, strict=True)
    )


def _is_remembered(place: _Place, last: _Place, own: list[_Place], size: Any) -> bool:
    """Whether a tuple is in the window of its stream when a later one comes."""
    if size is None:
        return bool(place.time == last.time)
    if isinstance(size, Rows):
        return bisect_left(own, last) - bisect_left(own, place) <= size.n
    return bool(last.time - place.time <= size)


def _same_key(a: Row, b: Row, on: On) -> bool:
    return all(
        a[mine] is not None and b[other] is not None and _same(a[mine], b[other])
        for mine, other in on
    )


def _same(x: Any, y: Any) -> bool:
    """Equality as Spark's joins have it: inside nested values null is null; NaN is NaN."""
    if x is None or y is None:
        return x is None and y is None
    if isinstance(x, Mapping):
        return x.keys() == y.keys() and all(_same(x[k], y[k]) for k in x)
    if isinstance(x, list | tuple):
        return len(x) == len(y) and all(map(_same, x, y))
    return bool(x == y or (x != x and y != y))


def overlap(x: Iterable[Any] | None, y: Iterable[Any] | None) -> int | None:
    """How many items two sets have in common; nulls are in none, and of null this is null.

    Examples
    --------
    >>> overlap(["a", "b", "b", None], ["b", "c", None]), overlap(None, [])
    (1, None)
    """
    if x is None or y is None:
        return None
    return len((set(x) & set(y)) - {None})


WeightedSet = Mapping[Any, Any] | tuple[Sequence[Any] | None, Sequence[Any] | None] | None
"""Weights by item; or items and weights; or null."""


def inner_product(x: WeightedSet, y: WeightedSet) -> float | None:
    """Products of the weights of common items, added up in the order of the items.

    Items without a weight are in no set, and the weights of equal items are added. Of null, and of
    items and weights that are not as many, this is null; also if it is not a number.

    Examples
    --------
    >>> inner_product({"a": 0.5, "b": 2.0}, (["b", "c", "b"], [1.0, 9.0, 2.0]))
    6.0
    >>> print(inner_product({"a": float("inf")}, {"a": 0.0}))
    None
    """
    mine, theirs = _weights(x), _weights(y)
    if mine is None or theirs is None:
        return None
    total = 0.0
    for item in sorted(mine.keys() & theirs.keys()):
        total += mine[item] * theirs[item]
    return None if isnan(total) else total


def _weights(x: WeightedSet) -> dict[Any, float] | None:
    items, weights = (list(x), list(x.values())) if isinstance(x, Mapping) else x or (None, None)
    if items is None or weights is None or len(items) != len(weights):
        return None
    sums: dict[Any, float] = {}
    for item, weight in zip(items, weights, strict=True):
        if item is not None and weight is not None and not isnan(weight):
            sums[item] = sums[item] + float(weight) if item in sums else float(weight)
    return sums


def join(
    left: Iterable[Row],
    right: Iterable[Row],
    *,
    on: On,
    time: tuple[str, str],
    window: tuple[Any, Any],
    where: Where | None = None,
    how: str = "inner",
    direction: str = "backward",
) -> list[Result]:
    """All rows of the result, for streams of which nothing is late.

    Parameters
    ----------
    left, right
        Rows in the order in which they came.
    on, time, window, where
        As in `window_join`.
    how
        "inner", "left", "right", "full", "semi", "anti" or "asof".
    direction
        Of "asof": "backward" for right rows that are not later, "nearest" for all in the windows.

    Examples
    --------
    >>> left, right = [{"t": 1}, {"t": 5}], [{"t": 4}, {"t": 6}, {"t": 90}]
    >>> settings = {"on": [], "time": ("t", "t"), "window": (2, 2)}
    >>> join(left, right, how="full", **settings)
    [({'t': 5}, {'t': 4}), ({'t': 5}, {'t': 6}), ({'t': 1}, None), (None, {'t': 90})]
    >>> join(left, right, how="semi", **settings), join(left, right, how="anti", **settings)
    ([({'t': 5}, None)], [({'t': 1}, None)])
    >>> join(left, right, how="asof", **settings)
    [({'t': 1}, None), ({'t': 5}, {'t': 4})]
    """
    rows = list(left), list(right)
    matches = _matches(rows, on=on, time=time, window=window, where=where)
    found = _results(how, direction, rows, matches, time)
    return [_rows(numbers, rows) for numbers in found]


def _results(
    how: str,
    direction: str,
    rows: tuple[Sequence[Row], Sequence[Row]],
    matches: list[tuple[int, int]],
    time: tuple[str, str],
) -> list[Numbers]:
    if how == "asof":
        return _nearest(rows, matches, time, direction)
    matched = {i for i, _ in matches}, {j for _, j in matches}
    alone = [[n for n in range(len(rows[side])) if n not in matched[side]] for side in (0, 1)]
    alone_left: list[Numbers] = [(i, None) for i in alone[0]]
    alone_right: list[Numbers] = [(None, j) for j in alone[1]]
    return {
        "inner": [*matches],
        "left": [*matches, *alone_left],
        "right": [*matches, *alone_right],
        "full": [*matches, *alone_left, *alone_right],
        "semi": [(i, None) for i in sorted(matched[0])],
        "anti": alone_left,
    }[how]


def _nearest(
    rows: tuple[Sequence[Row], Sequence[Row]],
    matches: list[tuple[int, int]],
    time: tuple[str, str],
    direction: str,
) -> list[Numbers]:
    """Each left row with the nearest of its matches: the earlier of two, the last of equals."""
    ranks: dict[int, list[tuple[Any, Any, int]]] = {i: [] for i in range(len(rows[0]))}
    for i, j in matches:
        t_left, t_right = rows[0][i][time[0]], rows[1][j][time[1]]
        if direction == "nearest" or t_right <= t_left:
            ranks[i].append((abs(t_left - t_right), t_right, -j))
    return [(i, -min(rank)[2] if rank else None) for i, rank in ranks.items()]


def _rows(numbers: Numbers, rows: tuple[Sequence[Row], Sequence[Row]]) -> Result:
    i, j = numbers
    return None if i is None else rows[0][i], None if j is None else rows[1][j]


def watermarks(
    batches: Iterable[Batch],
    *,
    time: tuple[str, str],
    lateness: Any,
    idle_timeout: Any = None,
    clocks: Sequence[Any] = (),
) -> list[Any]:
    """The watermark after each batch; None until it is known.

    It is the smaller of the two sides' largest times so far, less the lateness, and never goes
    back. A side that is idle does not hold it: then it is the other side's largest time, less the
    lateness. A side is idle in a batch that brings none of its rows (rows without a time do not
    count) if at the clock of the batch *before* it had been silent for longer than `idle_timeout`.
    A side that never spoke has been silent since the clock of the first batch.

    Parameters
    ----------
    batches
        Rows of (left, right), batch by batch.
    time, lateness
        Columns of the event time, and how long to wait for rows.
    idle_timeout, clocks
        How long a side may be silent, and what the clock said in each batch.

    Examples
    --------
    >>> row = lambda t: {"t": t}
    >>> batches = [([row(10)], [row(20)]), ([], [row(30)]), ([], [row(40)]), ([], [row(50)])]
    >>> watermarks(batches, time=("t", "t"), lateness=2)
    [8, 8, 8, 8]

    Before the third batch left was silent for 5, before the fourth for 6:

    >>> watermarks(batches, time=("t", "t"), lateness=2, idle_timeout=5, clocks=[0, 5, 6, 99])
    [8, 8, 8, 48]
    """
    times = [[_largest(r[time[side]] for r in b[side]) for side in (0, 1)] for b in batches]
    found: list[Any] = []
    for n in range(len(times)):
        sides = [[t[side] for t in times[: n + 1]] for side in (0, 1)]
        newest = [_largest(side) for side in sides]
        reached = [] if None in newest else [min(newest)]
        if idle_timeout is not None:
            reached += [newest[1 - s] for s in (0, 1) if _is_idle(sides[s], clocks, idle_timeout)]
        marks = [t - lateness for t in reached if t is not None]
        found.append(_largest(marks + found[-1:]))
    return found


def _largest(times: Iterable[Any]) -> Any:
    return max((t for t in times if t is not None), default=None)


def _is_idle(times: Sequence[Any], clocks: Sequence[Any], idle_timeout: Any) -> bool:
    """Whether a side is idle in the last of some batches, given its largest time in each."""
    now = len(times) - 1
    spoke = [n for n, t in enumerate(times) if t is not None]
    last = spoke[-1] if spoke else 0
    return now > 0 and last < now and bool(clocks[now - 1] - clocks[last] > idle_timeout)


def split_late(
    batches: Iterable[Batch],
    *,
    time: tuple[str, str],
    lateness: Any,
    idle_timeout: Any = None,
    clocks: Sequence[Any] = (),
) -> tuple[tuple[list[Row], list[Row]], tuple[list[Row], list[Row]]]:
    """Separate ((left, right) rows in time, (left, right) rows too late), batch by batch.

    A row is late if its time is below the watermark that the batches *before* its own have
    reached. So, but for idle sides, a row that is at most `lateness` behind the newest row of its
    own stream is never late, wherever batches are cut.

    Examples
    --------
    >>> row = lambda t: {"t": t}
    >>> batches = [([row(10)], [row(20)]), ([row(7), row(8)], [])]
    >>> split_late(batches, time=("t", "t"), lateness=2)
    (([{'t': 10}, {'t': 8}], [{'t': 20}]), ([{'t': 7}], []))
    """
    batches = list(batches)
    marks = watermarks(
        batches, time=time, lateness=lateness, idle_timeout=idle_timeout, clocks=clocks
    )
    kept: tuple[list[Row], list[Row]] = ([], [])
    late: tuple[list[Row], list[Row]] = ([], [])
    for _, side, row, is_late in _arrivals(batches, time, marks):
        (late if is_late else kept)[side].append(row)
    return kept, late


def _arrivals(
    batches: Sequence[Batch], time: tuple[str, str], marks: Sequence[Any]
) -> Iterator[tuple[int, int, Row, bool]]:
    """Each row with the number of its batch, its side, and whether it is late."""
    for n, batch in enumerate(batches):
        before = marks[n - 1] if n else None
        for side in (0, 1):
            for row in batch[side]:
                t = row[time[side]]
                yield n, side, row, t is not None and before is not None and t < before


def answers(
    batches: Iterable[Batch],
    *,
    on: On,
    time: tuple[str, str],
    window: tuple[Any, Any],
    where: Where | None = None,
    how: str = "inner",
    direction: str = "backward",
    lateness: Any,
    idle_timeout: Any = None,
    clocks: Sequence[Any] = (),
) -> list[list[Result]]:
    """The rows of the result batch by batch, and last those that come when the streams end.

    - A pair comes as soon as both its rows have taken part. With windows by time a row takes part
      in its own batch; if a window is by count, in the first batch whose watermark is later than
      the row: before, its place in the order is not known.
    - A row without a partner ("left", "right", "full", "anti") comes in the first batch after which
      it cannot find one: the watermark is later than its time and its window, or, by count, n
      later rows of its own stream have taken part. A row without a key or a time comes at once.
    - A row of "semi" comes with its first pair.
    - A row of "asof" comes when the watermark is later than it ("backward"), or later than it and
      the left window ("nearest").

    Parameters
    ----------
    batches
        Rows of (left, right), batch by batch.
    on, time, window, where, how, direction
        As in `join`.
    lateness, idle_timeout, clocks
        As in `watermarks`.

    Examples
    --------
    >>> row = lambda t: {"t": t}
    >>> batches = [([row(1), row(5)], [row(4)]), ([row(8)], [row(8)]), ([row(90)], [])]
    >>> said = {"on": [], "time": ("t", "t"), "window": (2, 2), "lateness": 0}
    >>> for rows in answers(batches, how="left", **said):
    ...     print(rows)
    [({'t': 5}, {'t': 4}), ({'t': 1}, None)]
    [({'t': 8}, {'t': 8})]
    []
    [({'t': 90}, None)]
    """
    batches = list(batches)
    marks = watermarks(
        batches, time=time, lateness=lateness, idle_timeout=idle_timeout, clocks=clocks
    )
    rows: tuple[list[Row], list[Row]] = ([], [])
    came: tuple[list[int], list[int]] = ([], [])
    for n, side, row, is_late in _arrivals(batches, time, marks):
        if not is_late:
            rows[side].append(row)
            came[side].append(n)
    matches = _matches(rows, on=on, time=time, window=window, where=where)
    if how == "asof" and direction == "backward":
        window = None, window[1]  # no later right row counts, so none is waited for
    calendar = _Calendar(rows, came, marks, on, time, window)
    found: list[list[Result]] = [[] for _ in range(len(batches) + 1)]
    for numbers in _results(how, direction, rows, matches, time):
        found[calendar.when(how, numbers, matches)].append(_rows(numbers, rows))
    return found


@dataclass(frozen=True)
class _Calendar:
    """In which batch something happens to the rows that are not late; the end is one more."""

    rows: tuple[Sequence[Row], Sequence[Row]]
    came: tuple[Sequence[int], Sequence[int]]
    marks: Sequence[Any]
    on: On
    time: tuple[str, str]
    window: tuple[Any, Any]

    def when(self, how: str, numbers: Numbers, matches: list[tuple[int, int]]) -> int:
        """Batch in which a row of the result comes."""
        i, j = numbers
        if how == "semi":
            return min(self.meets(*pair) for pair in matches if pair[0] == i)
        if i is None:
            return self.gives_up(1, j)
        return self.gives_up(0, i) if j is None or how == "asof" else self.meets(i, j)

    def meets(self, i: int, j: int) -> int:
        """Batch in which both rows of a pair have taken part."""
        return max(self.takes_part(0, i), self.takes_part(1, j))

    def takes_part(self, side: int, number: int) -> int:
        """Batch in which a row is joined."""
        if any(isinstance(size, Rows) for size in self.window):
            return self.passes(self.rows[side][number][self.time[side]])
        return self.came[side][number]

    def gives_up(self, side: int, number: int) -> int:
        """Batch after which a row can find no partner any more."""
        row, size = self.rows[side][number], self.window[side]
        time = row[self.time[side]]
        if time is None or any(row[key[side]] is None for key in self.on):
            return self.came[side][number]
        if not isinstance(size, Rows):
            return self.passes(time if size is None else time + size)
        order = _order(self.rows[side], side, self.time[side])
        later = order[order.index(_Place(time, side, number)) + 1 :]
        if size.n > len(later):
            return len(self.marks)
        return self.takes_part(side, later[size.n - 1].number)

    def passes(self, time: Any) -> int:
        """First batch whose watermark is later than a time."""
        known = [n for n, mark in enumerate(self.marks) if mark is not None and mark > time]
        return min(known, default=len(self.marks))
