"""A Spark standalone cluster for tests: the one that `streamjoin bench scale` has."""

from benchmarks.scale_cluster import Cluster

__all__ = ["Cluster"]
