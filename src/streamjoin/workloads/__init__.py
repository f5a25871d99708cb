"""Seeded streams for examples, tests and benchmarks.

Reading order: `stream` (what a generated stream is and how a range of its rows is made), `pace`
(when rows are made), `keys` (how join keys are drawn), `payloads` and `set_payloads` (the columns
of each workload), `rotating_sets` (sets that follow a rotation, Gedik 2005); `people` is a table.
"""

from streamjoin.workloads.base import Workload
from streamjoin.workloads.pace import Burst
from streamjoin.workloads.payloads import WORKLOADS
from streamjoin.workloads.stream import GeneratedStream

__all__ = ["WORKLOADS", "Burst", "GeneratedStream", "Workload"]
