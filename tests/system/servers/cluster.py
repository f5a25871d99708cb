"""A Spark standalone cluster for tests: the one that `streamjoin bench scale` has."""

from streamjoin.bench.scale_cluster import Cluster

__all__ = ["Cluster"]
