"""Recorded streams for a plan of joins, and the plan's settings."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Times
from streamjoin.errors import ConfigError, DataError
from streamjoin.planning.many.tree import Tree

Index = Literal["hash", "none"]
Keys = NDArray[np.int64]

MAX_KEY: Final = 10_000_000
_FAR: Final = 2**52  # whole microseconds are exact as floating-point numbers, sums too


@dataclass(frozen=True, eq=False)
class PlanTrace:
    """A recorded stream of a plan.

    Streams stand from left to right, and each join has an attribute of its own: it compares the
    last stream of its left input with the first one of its right input (JAQ-D1).

    Parameters
    ----------
    times
        Microseconds, 0 or more, in order.
    left, right
        What is compared with the stream on its left, and on its right: whole numbers from 0 on,
        small ones, since states keep a list for each.

    Examples
    --------
    >>> import numpy as np
    >>> len(PlanTrace.single(np.array([0, 5, 9]), np.array([3, 1, 3])))
    3
    """

    times: Times
    left: Keys
    right: Keys

    @classmethod
    def single(cls, times: Times, keys: Keys) -> "PlanTrace":
        """A stream with one attribute for all joins."""
        return cls(times, keys, keys)

    def __post_init__(self) -> None:
        for name in ("times", "left", "right"):
            array = getattr(self, name)
            if array.dtype != np.int64 or array.shape != (len(self.times),):
                raise DataError(
                    f"{name}: got {array.dtype} of shape {array.shape}; allowed: int64, one a row"
                )
        times = self.times
        if len(times) and not (times[0] >= 0 and np.all(np.diff(times) >= 0) and times[-1] < _FAR):
            raise DataError("times: got others; allowed: from 0 to below 2**52, never going back")
        keys = np.concatenate([self.left, self.right])
        if len(keys) and not 0 <= keys.min() <= keys.max() < MAX_KEY:
            raise DataError(
                f"keys: got {keys.min()} to {keys.max()}; allowed: from 0 to below {MAX_KEY}"
            )

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class PlanJoin:
    """A plan, what its states remember, and what counts as stale.

    Parameters
    ----------
    tree
        The plan.
    sizes
        For each node but the root, how many of its last tuples are remembered (JAQ-A1); None for
        no such limit.
    spans_us
        For how long they are remembered, from when they came or were made (JAQ-A3).
    freshness_us
        For each stream, how old a tuple may be when a result with it is made (JAQ-A9); None for
        any age.
    withhold
        Whether stale results are held back, and only counted.
    fill
        Whether probes that fill a state of some size for the first time are free: without it a
        state whose half-way joins have no allowance stays empty for ever.
    cycle_s
        For how many seconds unused allowance is saved up.
    index
        How a probe finds its partners: by hash table, or by looking at every tuple.

    Examples
    --------
    >>> tree = Tree.parse("(a b) c")
    >>> PlanJoin(tree, sizes=(10, 10, 10))
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: sizes: got 3; allowed: one for each of a, b, c, a b
    """

    tree: Tree
    sizes: tuple[int | None, ...] = ()
    spans_us: tuple[int | None, ...] = ()
    freshness_us: tuple[int | None, ...] = ()
    withhold: bool = False
    fill: bool = False
    cycle_s: float = 10.0
    index: Index = "hash"

    def __post_init__(self) -> None:
        nodes = [self.tree.label(node) for node in range(self.tree.root)]
        for name, of in (("sizes", nodes), ("spans_us", nodes), ("freshness_us", self.tree.names)):
            values = getattr(self, name)
            if len(values) not in (0, len(of)):
                raise ConfigError(
                    f"{name}: got {len(values)}; allowed: one for each of {', '.join(of)}"
                )
            if any(value is not None and value < 0 for value in values):
                raise ConfigError(
                    f"{name}: got {min(v for v in values if v is not None)}; allowed: 0 or more"
                )
        if self.withhold and not any(value is not None for value in self.freshness_us):
            raise ConfigError(
                "withhold: got True without freshness_us; allowed with a limit for some stream"
            )
        if not self.cycle_s > 0:
            raise ConfigError(f"cycle_s: got {self.cycle_s}; allowed: more than 0")
