"""Seeded streams for examples, tests and benchmarks.

Reading order: `stream` (what a generated stream is and how a range of its rows is made), `keys`
(how join keys are drawn), `payloads` (the columns of each workload).
"""

from streamjoin.workloads.payloads import WORKLOADS, Workload
from streamjoin.workloads.stream import GeneratedStream

__all__ = ["WORKLOADS", "GeneratedStream", "Workload"]
