"""CPU time that is counted instead of measured, so that a budget does the same everywhere."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from streamjoin import local
from streamjoin._typing import SIDES
from streamjoin.joins import base, limits, matching, stopwatch
from streamjoin.joins.base import OutputColumn, Pairs
from streamjoin.joins.limits import Limits
from streamjoin.joins.matching import Matcher, Part


@dataclass
class VirtualCpu:
    """A clock that moves as rows are received, rows and candidates looked at, results handed out.

    Costs are microseconds.
    """

    received: float = 1.0
    looked_at: float = 0.05
    handed_out: float = 0.2
    now_us: float = 0.0

    def read(self) -> int:
        return round(self.now_us * 1000)

    def install(self, patch: pytest.MonkeyPatch) -> "VirtualCpu":
        """Let the engine read this clock, and its operations move it."""
        clock, let_in, take = self, Limits.let_in, Pairs.take

        def look(matcher: Matcher, work: int) -> None:
            clock.now_us += clock.looked_at * (work - matcher.__dict__.get("_work", 0))
            matcher.__dict__["_work"] = work

        def receive(self: Limits, *arrivals: Any) -> tuple[Part, Part]:
            parts = let_in(self, *arrivals)
            clock.now_us += clock.received * sum(len(parts[side].batch) for side in SIDES)
            return parts

        def hand_out(self: Pairs, columns: Sequence[OutputColumn]) -> list[pa.Array]:
            clock.now_us += clock.handed_out * len(self)
            return take(self, columns)

        counted = property(lambda matcher: matcher.__dict__["_work"], look)
        patch.setattr(matching.Matcher, "work", counted, raising=False)
        patch.setattr(limits.Limits, "let_in", receive)
        patch.setattr(base.Pairs, "take", hand_out)
        patch.setattr(stopwatch, "thread_time_ns", self.read)
        patch.setattr(local, "thread_time_ns", self.read)
        return self
