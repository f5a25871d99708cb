"""What probing may take in a plan of joins, and what a batch of it showed: values only."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from streamjoin.budget import shard_cpu
from streamjoin.planning.many.tree import Tree


@dataclass(frozen=True)
class PlanLimits:
    """What probing may take in one shard: values only.

    Parameters
    ----------
    planner
        Who divides it, one of `planning.many.planners.PLANNERS`.
    rate
        Probes for a second of the streams.
    cpu_us_per_second, cpu_us_per_batch
        Or CPU time, for a second of the streams or for a batch; to receive rows is a part of it.
    freshness
        Age in seconds that a tuple of each stream may have in a result; infinity for any.
    limited
        Whether joins remember a number of tuples: only then their states can go stale.
    chained
        Whether the joins are on different keys, hence done by several operators.
    """

    planner: str = "jaqpot"
    rate: float | None = None
    cpu_us_per_second: float | None = None
    cpu_us_per_batch: float | None = None
    freshness: tuple[float, ...] = ()
    limited: bool = False
    chained: bool = False

    def over_shards(self, n_shards: int, n_cores: int) -> "PlanLimits":
        """The part of one shard.

        Examples
        --------
        >>> PlanLimits(cpu_us_per_second=5e5).over_shards(8, n_cores=4).cpu_us_per_second
        250000.0
        """
        rate = None if self.rate is None else self.rate / n_shards
        second, batch = shard_cpu(self.cpu_us_per_second, self.cpu_us_per_batch, n_shards, n_cores)
        return replace(self, rate=rate, cpu_us_per_second=second, cpu_us_per_batch=batch)


@dataclass(frozen=True)
class Observed:
    """What one batch showed.

    Parameters
    ----------
    seconds
        Event time that it brought.
    arrived, probed, found
        Tuples of each node that came, that probed, and that probing formed.
    all_arrived, all_found
        As many as there would be if all tuples probed; estimates.
    sizes
        Tuples that were stored of each node.
    probe_us
        CPU time of each node's probes.
    receive_us
        CPU time of everything else.

    Examples
    --------
    >>> one = Observed(1.0, *([[4.0, 0.0]] * 7), 10.0)
    >>> other = Observed(1.0, *([[0.0, 2.0]] * 7), 6.0)
    >>> both = Observed.together([one, other], shards=2)
    >>> both.arrived, both.receive_us
    ([2.0, 1.0], 8.0)
    """

    seconds: float
    arrived: list[float]
    probed: list[float]
    found: list[float]
    all_arrived: list[float]
    all_found: list[float]
    sizes: list[float]
    probe_us: list[float]
    receive_us: float

    def on(self, nodes: Sequence[int], n_nodes: int) -> "Observed":
        """The same of nodes that have other numbers in a larger plan."""

        def placed(values: list[float]) -> list[float]:
            found = [0.0] * n_nodes
            for node, value in zip(nodes, values, strict=True):
                found[node] = value
            return found

        values: dict[str, Any] = {name: placed(getattr(self, name)) for name in _BY_NODE}
        return replace(self, **values)

    @classmethod
    def together(cls, parts: "Sequence[Observed]", shards: int) -> "Observed":
        """What operators of one plan showed, each with so many shards: of an average shard."""
        sums = {
            name: [
                sum(values) / shards
                for values in zip(*(getattr(p, name) for p in parts), strict=True)
            ]
            for name in _BY_NODE
        }
        seconds = max(part.seconds for part in parts)
        return cls(seconds, **sums, receive_us=sum(part.receive_us for part in parts) / shards)


_BY_NODE: Final = ("arrived", "probed", "found", "all_arrived", "all_found", "sizes", "probe_us")


@dataclass(frozen=True)
class Whole:
    """The plan that an operator has a part of.

    Parameters
    ----------
    tree
        All of it.
    nodes
        Numbers in it of the operator's nodes.
    observed
        What all operators showed in the batch before; None if that is not known.
    """

    tree: Tree
    nodes: tuple[int, ...]
    observed: Observed | None
