"""What the benchmark of n-ary joins joins: streams whose keys are in groups.

In *small* workloads most rows are of one stream, and few tuples of the others match each other. In
*large* ones streams match in parts: there are many intermediate tuples and hardly any results.
"""

from dataclasses import dataclass
from typing import Final

from benchmarks.recorded import GroupedKeys

WINDOW_SECONDS: Final = 8


@dataclass(frozen=True)
class Workload:
    """What is joined.

    Parameters
    ----------
    name
        How it is called.
    streams
        What they bring in a batch, which is a file of each.
    full
        Batches until the states of all systems have their size.
    """

    name: str
    streams: GroupedKeys
    full: int

    @property
    def names(self) -> str:
        """The streams, a letter each."""
        return "".join(self.streams.rows)


def workloads(part: float = 1) -> tuple[Workload, ...]:
    """All of them, with a part of their rows and keys."""

    def streams(rows: dict[str, int], seconds: float, groups: dict[str, int]) -> GroupedKeys:
        return GroupedKeys(
            {name: round(part * n) for name, n in rows.items()},
            seconds,
            {group: max(1, round(part * n)) for group, n in groups.items()},
        )

    few = {"a": 15_000, "b": 15_000, "c": 270_000}
    fewer = {**dict.fromkeys("abcd", 10_000), "e": 260_000}
    alike, alike5 = dict.fromkeys("abc", 30_000), dict.fromkeys("abcde", 10_000)
    pairs = {**dict.fromkeys(("ab", "ac", "bc"), 4_000), "abc": 100_000}
    fours = {**dict.fromkeys(("bcde", "acde", "abde", "abce", "abcd"), 4_000), "abcde": 10_000}
    slow = {**dict.fromkeys(("bcde", "acde", "abde", "abce"), 700), "abcde": 10_000}
    return (
        Workload("3 small", streams(few, 10, {"ac": 150, "bc": 150, "abc": 15_000}), 2),
        Workload("3 large", streams(alike, 2, pairs), 6),
        Workload("5 small", streams(fewer, 10, slow), 2),
        Workload("5 large", streams(alike5, 2, fours), 6),
    )


def orders_streams(part: float = 1) -> GroupedKeys:
    """Streams of rates 1, 10 and 100 with common keys, as in the paper's data V (VAL-D1)."""
    rows = {name: round(part * n) for name, n in (("a", 2_000), ("b", 20_000), ("c", 200_000))}
    return GroupedKeys(rows, 2, {"abc": round(part * 20_000)})
