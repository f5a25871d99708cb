"""Recorded streams of sets, and the settings of a selective window join."""

from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from streamjoin._typing import Times
from streamjoin.errors import ConfigError, DataError
from streamjoin.shedding.fractions import POLICIES

Index = Literal["none", "hash", "inverted-time", "inverted-identifier"]
Policy = Literal["full", "drop", "best", "ra", "ra+tc", "ra+jd", "ra+tc+jd"]

_INDEXES: Final = ("none", "hash", "inverted-time", "inverted-identifier")
_FAR: Final = 2**52  # whole microseconds are exact as floating-point numbers, sums too


@dataclass(frozen=True, eq=False)
class SetTrace:
    """A recorded stream of sets.

    Parameters
    ----------
    times
        Microseconds, 0 or more, in order.
    offsets
        The items of tuple i are ``items[offsets[i]:offsets[i + 1]]``.
    items
        Whole numbers from 0 on, small ones: lists are kept by number. Distinct within a set.
    weights
        Of each item, for the inner product; by default 1 each, which makes it the overlap.

    Examples
    --------
    >>> import numpy as np
    >>> len(SetTrace.single(np.array([0, 5, 9]), np.array([3, 1, 3])))
    3
    """

    times: Times
    offsets: NDArray[np.int64]
    items: NDArray[np.int64]
    weights: NDArray[np.float64] | None = None

    @classmethod
    def single(cls, times: Times, items: NDArray[np.int64]) -> "SetTrace":
        """A stream of single values, which are equal if they overlap in one item."""
        return cls(times, np.arange(len(items) + 1), items)

    def __post_init__(self) -> None:
        for name in ("times", "offsets", "items"):
            array = getattr(self, name)
            if array.dtype != np.int64 or array.ndim != 1:
                raise DataError(
                    f"{name}: got {array.dtype} of {array.ndim} dimensions; allowed: int64 of one"
                )
        if not _rising(self.times) or (len(self.times) and not self.times[0] >= 0):
            raise DataError(
                "times: got times out of order or below 0; allowed: 0 or more, never going back"
            )
        if len(self.times) and self.times[-1] >= _FAR:
            raise DataError(f"times: got {self.times[-1]} us; allowed: below 2**52")
        self._check_sets()

    def _check_sets(self) -> None:
        n, items = len(self.times), self.items
        whole = len(self.offsets) == n + 1 and self.offsets[0] == 0 and _rising(self.offsets)
        if not whole or self.offsets[-1] != len(items):
            raise DataError(
                f"offsets: got others; allowed: {n + 1}, from 0 to {len(items)}, never going back"
            )
        if len(items) and not 0 <= items.min() <= items.max() < 2**31:
            raise DataError(
                f"items: got {items.min()} to {items.max()}; allowed: from 0 to below 2**31"
            )
        of_rows = np.repeat(np.arange(n), np.diff(self.offsets)) * 2**31 + items
        if len(np.unique(of_rows)) < len(items):
            raise DataError("items: got an item twice in a set; allowed: distinct items")
        if self.weights is not None:
            _check_weights(self.weights, len(items))

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True)
class ProbeCosts:
    """Cost units of what a join does.

    Parameters
    ----------
    comparison
        With a tuple, without an index; whether it matches or not.
    entry
        Of a list, walked.
    look_up
        Of the list of an item in a basic window (GED-C11).
    adaptation
        Of each step of an adaptive policy.
    """

    comparison: float = 1.0
    entry: float = 1.0
    look_up: float = 0.0
    adaptation: float = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < float("inf"):
                raise ConfigError(f"{name}: got {value}; allowed: 0 or more")


@dataclass(frozen=True)
class SelectiveJoin:
    """Settings of a selective window join; the defaults of adaptation are the paper's (GED-A19).

    Parameters
    ----------
    windows_us
        w_1 and w_2; 0 for a stream that is not remembered.
    policy
        "full", "drop", or one of `shedding.fractions.POLICIES`.
    basic_us
        b; None for no basic windows: a window is one list, probed from its newest end.
    threshold
        The least overlap, or inner product if items have weights, of a match; more than 0. 1 is
        equality for streams of single values.
    index
        What each basic window has.
    capacity
        Cost units per virtual second, or one number for each second, of which the last holds on.
        None: a tuple is done when it comes.
    costs
        What things cost.
    fraction
        r, to be kept; None adapts it to the load.
    rate_period_us, correlation_period_us
        T_r and T_c. Random drop adapts every second.
    boost, gamma
        delta_r and the sampling probability.
    memory
        Part of what was seen until the last period that still counts. The paper has none; with some
        few samples, at a small r, are enough. Policy "best" has its own.
    buffer_us
        The arrivals of so long a time wait before each input; of what comes to a full buffer the
        new tuple is lost (GED-I8).
    seed
        Of what is left to chance: sampling and random drop.
    """

    windows_us: tuple[int, int]
    policy: Policy = "ra+tc+jd"
    basic_us: int | None = 1_000_000
    threshold: float = 3
    index: Index = "none"
    capacity: float | tuple[float, ...] | None = None
    costs: ProbeCosts = ProbeCosts()
    fraction: float | None = None
    rate_period_us: int = 5_000_000
    correlation_period_us: int = 5_000_000
    boost: float = 1.2
    gamma: float = 0.1
    memory: float = 0.0
    buffer_us: int = 1_000_000
    seed: int = 0

    def __post_init__(self) -> None:
        _choice("policy", self.policy, ("full", "drop", *POLICIES))
        _choice("index", self.index, _INDEXES)
        for window in self.windows_us:
            _between("windows_us", window, 0, _FAR)
        _between("threshold", self.threshold, 0, np.inf, open_below=True)
        _between("boost", self.boost, 1, np.inf)
        _between("gamma", self.gamma, 0, 1)
        _between("memory", self.memory, 0, 1)
        for name in ("basic_us", "rate_period_us", "correlation_period_us", "buffer_us"):
            if getattr(self, name) is not None:
                _between(name, getattr(self, name), 1, _FAR)
        for capacity in () if self.capacity is None else np.atleast_1d(self.capacity):
            _between("capacity", float(capacity), 0, np.inf, open_below=True)
        if self.fraction is not None:
            _between("fraction", self.fraction, 0, 1)
            if self.policy == "full":
                raise ConfigError(
                    f"fraction: got {self.fraction} with policy 'full'; allowed: None"
                )
        if self.policy == "drop" and self.fraction is None and self.capacity is None:
            raise ConfigError(
                "capacity: got None with policy 'drop'; allowed: a capacity, or a fraction"
            )


def _check_weights(weights: NDArray[np.float64], n: int) -> None:
    if weights.shape != (n,) or weights.dtype != np.float64:
        raise DataError(f"weights: got {len(weights)} of {weights.dtype}; allowed: {n} of float64")
    if not bool(np.all(np.isfinite(weights))):
        raise DataError("weights: got NaN or infinity; allowed: finite numbers")


def _rising(numbers: NDArray[np.int64]) -> bool:
    return bool(np.all(numbers[1:] >= numbers[:-1]))


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ConfigError(f"{name}: got {value!r}; allowed: {', '.join(map(repr, allowed))}")


def _between(name: str, value: float, low: float, high: float, open_below: bool = False) -> None:
    if not low <= value <= high or value == np.inf or (open_below and value == low):
        least = f"more than {low}" if open_below else f"{low} or more"
        most = "" if high == np.inf else f", {high} at most"
        raise ConfigError(f"{name}: got {value}; allowed: {least}{most}")
