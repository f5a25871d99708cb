"""Seeded streams for examples, tests and benchmarks.

Reading order: `drawing` (how keys and sets are drawn), `payloads` (what a workload is, the columns
of each, and a table of people), `stream` (a generated stream, when its rows are made, how a range
of them is made again).
"""

from streamjoin.workloads.payloads import WORKLOADS, Workload
from streamjoin.workloads.stream import Burst, GeneratedStream

__all__ = ["WORKLOADS", "Burst", "GeneratedStream", "Workload"]
