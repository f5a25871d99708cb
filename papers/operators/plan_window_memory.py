"""The arrays that the kernel of a plan of joins works on."""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import plan_window as kernel
from papers.operators.plan_window_settings import PlanJoin, PlanTrace
from streamjoin.planning.many.tree import Tree

UNLIMITED: Final = 2**61
"""Tuples, or microseconds: more than there are."""
_FIRST_ROOM: Final = 1024


def merge(traces: Sequence[PlanTrace]) -> kernel.Arrivals:
    """All streams as one, in the order of time; of one time the left stream first."""
    times = np.concatenate([trace.times for trace in traces])
    streams = np.repeat(np.arange(len(traces)), [len(trace) for trace in traces])
    order = np.argsort(times, kind="stable")
    left = np.concatenate([trace.left for trace in traces])
    right = np.concatenate([trace.right for trace in traces])
    keys = np.stack([left, right], axis=1)
    return kernel.Arrivals(streams[order], times[order], keys[order])


class Plan:
    """A plan's arrays, with room that grows."""

    def __init__(self, join: PlanJoin, traces: Sequence[PlanTrace]) -> None:
        tree = join.tree
        n = tree.root
        self.root = n
        sizes = np.array([UNLIMITED if s is None else s for s in join.sizes or (None,) * n])
        spans = np.array([UNLIMITED if s is None else s for s in join.spans_us or (None,) * n])
        limits = join.freshness_us or (None,) * tree.n_streams
        fresh = np.array([UNLIMITED if f is None else f for f in limits])
        room = np.array(
            [_power_of_two(s) if s < UNLIMITED else _FIRST_ROOM for s in sizes.tolist()]
        )
        buckets = _buckets(tree, traces)
        self.plan = kernel.Plan(
            above=np.array(tree.parents),
            sibling=np.array([tree.sibling(node) for node in range(n)]),
            key=np.array([_inner_key(tree, node) for node in range(n)]),
            root=n,
            base=_begins(room),
            room=room,
            heads=_begins(buckets),
            sizes=sizes,
            spans=spans,
            freshness=fresh,
            fill=join.fill,
            hashed=int(join.index == "hash"),
            walk=join.index == "none" or bool(np.any(fresh < UNLIMITED)),
        )
        self.memory = kernel.Memory(
            entries=np.zeros((int(room.sum()), kernel.N_ENTRY), np.int64),
            states=np.zeros((n, kernel.N_STATE), np.int64),
            newest=np.zeros(int(buckets.sum()), np.int64),
            counts=np.zeros(int(buckets.sum()), np.int64),
            credit=np.zeros(n),
            credited=np.zeros(n, np.int64),
            level=np.zeros((2, _FIRST_ROOM, kernel.N_TUPLE), np.int64),
            clock=np.zeros(kernel.N_CLOCK, np.int64),
        )

    def grow(self, node: int) -> None:
        """Double the room of a state; for the root's number, that of the level."""
        if node == self.root:
            wide = np.concatenate([self.memory.level] * 2, axis=1)
            self.memory = self.memory._replace(level=wide)
            return
        base, room = self.plan.base, self.plan.room.copy()
        room[node] *= 2
        entries = np.zeros((int(room.sum()), kernel.N_ENTRY), np.int64)
        begins = _begins(room)
        for at, (old, new) in enumerate(zip(self.plan.room, room, strict=True)):
            # Numbers stay: a tuple's slot is its number modulo the room, a power of two.
            end = self.memory.states[at, kernel.END]
            numbers = np.arange(max(0, end - old), end)
            entries[begins[at] + numbers % new] = self.memory.entries[base[at] + numbers % old]
        self.plan = self.plan._replace(base=begins, room=room)
        self.memory = self.memory._replace(entries=entries)


def _power_of_two(least: int) -> int:
    return 1 << max(0, least - 1).bit_length()


def _inner_key(tree: Tree, node: int) -> int:
    """Which of its two keys a node's tuples are compared by."""
    left, _ = tree.children(tree.parents[node])
    return kernel.RIGHT if node == left else kernel.LEFT


def _buckets(tree: Tree, traces: Sequence[PlanTrace]) -> NDArray[np.int64]:
    """How many keys the join above each node knows."""
    found = []
    for node in range(tree.root):
        left, right = tree.children(tree.parents[node])
        one, other = traces[tree.streams(left)[-1]].right, traces[tree.streams(right)[0]].left
        found.append(1 + max(int(one.max(initial=0)), int(other.max(initial=0))))
    return np.array(found)


def _begins(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    begins: NDArray[np.int64] = np.cumsum(lengths) - lengths
    return begins
