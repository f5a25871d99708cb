"""What is known of streams besides the join: their names, filters, and some of their rows."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pyarrow as pa

from streamjoin.workloads import GeneratedStream

ROWS: Final = 20_000
"""Rows of a sample, at most: enough for some thousand matches of usual keys."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of a generated stream.

    Parameters
    ----------
    rows
        Those that pass the stream's own filters.
    rate
        Rows per second that do.
    seconds
        How much time the rows are spread over.
    stream
        What they were drawn from.
    """

    rows: pa.Table
    rate: float
    seconds: float
    stream: GeneratedStream

    @property
    def is_whole(self) -> bool:
        """Whether it has all rows of its time, and not some of them."""
        return self.stream.rate_per_second * self.seconds <= ROWS


@dataclass(frozen=True)
class Sources:
    """What a pipeline file says of its streams besides the join.

    Parameters
    ----------
    names
        What the file calls them, in the order of the join.
    filters
        Conditions that rows must fulfil before the join, by stream.
    samples
        Some rows, by name; empty unless all streams are generated.
    """

    names: tuple[str, ...] = ()
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    samples: Mapping[str, Sample] = field(default_factory=dict)

    @property
    def is_reflexive(self) -> bool:
        """Whether a stream is joined with itself, so that a row also meets itself."""
        streams = [sample.stream for sample in self.samples.values()]
        return len(set(streams)) < len(streams)

    @property
    def burst(self) -> float:
        """How many times as many rows as usual come at most."""
        bursts = (sample.stream.burst for sample in self.samples.values())
        return max((burst.times for burst in bursts if burst is not None), default=1.0)
