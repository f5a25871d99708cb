"""What must hold of a query that was stopped and went on."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.system.upgrade.inputs import BEFORE, read_rows
from tests.system.upgrade.story import Check, Counts, Result, Story, flat

Found = Counter[Result]
Expected = Callable[[Path], Found]
MEASURED: Final = ("cpu_us", "state_bytes", "missed", "unmet")
"""Beginnings of the names of counters that differ from run to run or, as estimates, by version."""


def exact(expected: Expected) -> Check:
    """All results came, each once."""

    def check(story: Story) -> None:
        assert Counter(story.results) == expected(story.base)

    return check


def part_of(expected: Expected) -> Check:
    """Less than all came, nothing else, and nothing twice."""

    def check(story: Story) -> None:
        found, every = Counter(story.results), expected(story.base)
        assert found <= every
        assert found.total() < every.total()

    return check


def as_if_never_stopped(story: Story) -> None:
    """The same results as those of a query that was not stopped, batch by batch, and counts."""
    assert story.whole is not None
    found = [*story.before.results, *story.after.results]
    assert list(map(Counter, found)) == list(map(Counter, story.whole.results))
    for counts, whole in zip(story.counts, story.whole.counts, strict=True):
        names = [name for name in whole if not name.startswith(MEASURED)]
        assert _of(counts, names) == pytest.approx(_of(whole, names))


def same_sums(*names: str) -> Check:
    """Counters whose sum is that of a query that was not stopped, batch by batch."""

    def check(story: Story) -> None:
        assert story.whole is not None
        sums, whole = ([sum(_of(c, names).values()) for c in counts]
                       for counts in (story.counts, story.whole.counts))  # fmt: skip
        assert sums == whole
        assert all(sums)

    return check


def books(streams: dict[str, str], results: str) -> Check:
    """Every row of a stream is counted once, under its name, and so is every result."""

    def check(story: Story) -> None:
        for name, called in streams.items():
            assert story.total(f"rows_{called}") == len(read_rows(story.base, name))
        assert story.total(results) == len(story.results)

    return check


def probes(streams: str) -> Check:
    """Every row that can match has probed, or is counted as one that has not."""

    def check(story: Story) -> None:
        for name in streams:
            probed = story.total(f"probed_{name}", f"skipped_{name}")
            assert probed == story.total(f"rows_{name}") - story.total(
                f"late_{name}", f"null_{name}"
            )

    return check


def at_once(*names: str) -> Check:
    """Counters that are above 0 in the first batch after the stop."""

    def check(story: Story) -> None:
        assert sum(_of(story.after.counts[0], names).values()) > 0

    return check


def at_most(name: str, limit: int) -> Check:
    """A counter that is never above a limit, and not 0."""

    def check(story: Story) -> None:
        assert all(0 < counts[name] <= limit for counts in story.counts)

    return check


def is_left(*names: str) -> Check:
    """Counters of what is left for later: something when the query was stopped, 0 at the end."""

    def check(story: Story) -> None:
        for name in names:
            assert story.before.counts[-1][name] > 0
            assert not story.after.counts[-1][name]

    return check


def in_parts(story: Story) -> None:
    """Of the rows of the last batch before the stop some were answered then, some afterwards."""
    for told in (story.before, story.after):
        assert any(result[0] // 1000 == BEFORE - 1 for result in flat(told.results))


def _of(counts: Counts, names: list[str] | tuple[str, ...]) -> Counts:
    return {name: counts[name] or 0 for name in names}
