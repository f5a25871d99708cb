"""Seeded streams for examples, tests and benchmarks.

Reading order: `base` (what a workload is, how join keys are drawn), `stream` (a generated stream,
when its rows are made, how a range of them is made again), `payloads` (the columns of each
workload, and a table of people), `rotating_sets` (sets that follow a rotation, Gedik 2005).
"""

from streamjoin.workloads.base import Workload
from streamjoin.workloads.payloads import WORKLOADS
from streamjoin.workloads.stream import Burst, GeneratedStream

__all__ = ["WORKLOADS", "Burst", "GeneratedStream", "Workload"]
