"""What the right answer is: window joins in plain Python, slow and easy to check by eye.

Rows are dictionaries. Nothing here is shared with the kernels or the core; every join of this
library is tested against these functions.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Pair = tuple[Row, Row]


def window_join(
    left: Iterable[Row],
    right: Iterable[Row],
    *,
    on: Sequence[tuple[str, str]],
    time: tuple[str, str],
    window: tuple[Any, Any],
) -> list[Pair]:
    """All pairs with equal keys and ``-window[0] <= t_left - t_right <= window[1]``.

    A null key or a null time matches nothing. Times and windows may be of any types that can be
    subtracted and compared, such as numbers, or datetimes with timedeltas.

    Examples
    --------
    >>> calls = [{"person": "ann", "t": 10}, {"person": None, "t": 11}]
    >>> trades = [{"person": "ann", "t": 15}, {"person": "ann", "t": 16}]
    >>> window_join(calls, trades, on=[("person", "person")], time=("t", "t"), window=(5, 5))
    [({'person': 'ann', 't': 10}, {'person': 'ann', 't': 15})]
    """
    right = list(right)
    return [
        (a, b)
        for a in left
        for b in right
        if _same_key(a, b, on) and _in_window(a[time[0]], b[time[1]], window)
    ]


def _same_key(a: Row, b: Row, on: Sequence[tuple[str, str]]) -> bool:
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


def _in_window(t_left: Any, t_right: Any, window: tuple[Any, Any]) -> bool:
    if t_left is None or t_right is None:
        return False
    if t_left <= t_right:
        return bool(t_right - t_left <= window[0])
    return bool(t_left - t_right <= window[1])


def split_late(
    batches: Iterable[tuple[Sequence[Row], Sequence[Row]]],
    *,
    time: tuple[str, str],
    lateness: Any,
) -> tuple[tuple[list[Row], list[Row]], tuple[list[Row], list[Row]]]:
    """Separate ((left, right) rows in time, (left, right) rows too late), batch by batch.

    After each batch the watermark is the smaller of the two sides' largest times so far, less the
    lateness; it never goes back. A row is late if its time is below the watermark that the batches
    *before* its own have reached. So a row that is at most `lateness` behind the newest row of its
    own stream is never late, wherever batches are cut.

    Examples
    --------
    >>> row = lambda t: {"t": t}
    >>> batches = [([row(10)], [row(20)]), ([row(7), row(8)], [])]
    >>> split_late(batches, time=("t", "t"), lateness=2)
    (([{'t': 10}, {'t': 8}], [{'t': 20}]), ([{'t': 7}], []))
    """
    kept: tuple[list[Row], list[Row]] = ([], [])
    late: tuple[list[Row], list[Row]] = ([], [])
    newest: list[Any] = [None, None]
    watermark: Any = None
    for batch in batches:
        for side in (0, 1):
            for row in batch[side]:
                t = row[time[side]]
                is_late = watermark is not None and t is not None and t < watermark
                (late if is_late else kept)[side].append(row)
        for side in (0, 1):
            times = [row[time[side]] for row in batch[side] if row[time[side]] is not None]
            before = [] if newest[side] is None else [newest[side]]
            newest[side] = max(times + before, default=None)
        if None not in newest:
            reached = min(newest) - lateness
            watermark = reached if watermark is None else max(watermark, reached)
    return kept, late
