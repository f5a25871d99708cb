"""From a user's budget to the limits of one shard: checked, and divided over the shards.

A budget is one of the streams' own time, not of the clock's: `StreamClock` tells how much of it a
batch brings. So a recorded stream is regulated as the live one was, and a batch that is run again
as before.
"""

from dataclasses import dataclass, replace
from typing import Final, Literal

from streamjoin._typing import Times
from streamjoin.budget import Budget
from streamjoin.core.statistics import WEIGHT
from streamjoin.errors import ConfigError
from streamjoin.planning.two.split import Limits, splits_for
from streamjoin.shedding.fractions import POLICIES
from streamjoin.windows import Rows

Shed = str | list[str] | None
"""What gives way: a word, or a list of what gives way first and what next."""
SELECTIVE: Final = ("selective", "drop")
LAG: Final = ("selective", "lag")
DROP: Final = ("drop",)
BEST: Final = "best"
MAX_PACES: Final = 4.0
"""A batch counts for at most so many times the stream time of those before, unless its rows span
more: a gap, or a row whose time is far ahead, must not pay for a flood."""


@dataclass(frozen=True)
class Shedding:
    """Limits of one shard of a window join: values only."""

    split: str = "best"  # how what there is gets divided between the streams
    cpu_us_per_second: float | None = None  # CPU time of this shard for a second of the streams,
    cpu_us_per_batch: float | None = None  # or for a batch
    rate: float | None = None  # tuples per second that are let in, in all shards
    memory: float | None = None  # what may be remembered, in all shards
    memory_unit: Literal["bytes", "rows"] = "bytes"
    copies: tuple[int, int] = (1, 1)  # to how many shards a left and a right row is sent
    policy: str | None = None  # which parts of windows are probed; None: all, and rows give way
    lag: bool = False  # whether batches that are too large even so take longer; else rows give way

    @property
    def has_gate(self) -> bool:
        """Whether rows are turned away before they are packed, if those alone take too long."""
        return self.policy is not None and not self.lag and self.cpu_us_per_second is not None

    def cpu_us(self, seconds: float) -> float:
        """CPU time for a batch that brings so much time of the streams; 0 without such a limit."""
        if self.cpu_us_per_batch is not None:
            return self.cpu_us_per_batch
        return (self.cpu_us_per_second or 0.0) * seconds

    def over_shards(self, n_shards: int, n_cores: int, copies: tuple[int, int]) -> "Shedding":
        """The part of one shard; rows and memory are divided by how many rows it gets.

        Examples
        --------
        >>> Shedding(cpu_us_per_second=5e5).over_shards(8, n_cores=4, copies=(1, 1))
        Shedding(split='best', cpu_us_per_second=250000.0, ...)
        """
        second, batch = shard_cpu(self.cpu_us_per_second, self.cpu_us_per_batch, n_shards, n_cores)
        return replace(self, cpu_us_per_second=second, cpu_us_per_batch=batch, copies=copies)


@dataclass(frozen=True)
class PlanLimits:
    """What probing may take in one shard of a plan of joins: values only."""

    planner: str = "jaqpot"  # who divides it, one of `planning.many.planners.PLANNERS`
    rate: float | None = None  # probes for a second of the streams;
    cpu_us_per_second: float | None = None  # or CPU time for it,
    cpu_us_per_batch: float | None = None  # or for a batch; to receive rows is a part of it
    freshness: tuple[float, ...] = ()  # seconds, of each stream; infinity for any
    limited: bool = False  # whether joins remember a number of tuples: then states can go stale
    chained: bool = False  # whether the joins are on different keys, so done by several operators

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


def shard_cpu(
    share: float | None, us_per_batch: float | None, n_shards: int, n_cores: int
) -> tuple[float | None, float | None]:
    """What one shard may use of a share of the cores, and of CPU time for each batch.

    A shard runs on one core at a time, however many there are.

    Examples
    --------
    >>> shard_cpu(0.5, None, n_shards=8, n_cores=4), shard_cpu(0.25, None, n_shards=1, n_cores=8)
    ((0.25, None), (0.25, None))
    >>> shard_cpu(None, 800, n_shards=4, n_cores=8)
    (None, 200.0)
    """
    return (
        None if share is None else share * min(1.0, n_cores / n_shards),
        None if us_per_batch is None else us_per_batch / n_shards,
    )


def limits_of(
    budget: Budget, shed: Shed, split: str, *, how: str, has_row_windows: bool
) -> Shedding:
    """Limits of a join that runs in one shard on one core, or an error that names the argument."""
    if not isinstance(budget, Budget):
        raise ConfigError.at("budget", repr(budget), "a Budget such as Budget(cpu=0.5)")
    reactions = _reactions(shed, budget)
    _check_join(budget, how, has_row_windows)
    selective = reactions != DROP
    if selective:
        _check_policy(split)
    else:
        _check_split(budget, split)
    share = budget.cpu_share
    return Shedding(
        split=BEST if selective else split,
        policy=split if selective else None,
        lag=reactions == LAG,
        cpu_us_per_second=None if share is None else share * 1e6,
        cpu_us_per_batch=budget.cpu_us_per_batch,
        rate=budget.rate,
        memory=budget.memory_limit,
        memory_unit="rows" if isinstance(budget.memory, Rows) else "bytes",
    )


def refuse_without_budget(**given: object) -> None:
    """Refuse what only a budget can use: it would change nothing.

    Examples
    --------
    >>> refuse_without_budget(shed=None, split="equal")
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: split: got 'equal' without a budget; allowed: only with one
    """
    for argument, value in given.items():
        if value is not None and (argument, value) != ("split", BEST):
            raise ConfigError.at(argument, f"{value!r} without a budget", "only with one")


def _check_join(budget: Budget, how: str, has_row_windows: bool) -> None:
    if how != "inner":
        raise ConfigError.at(
            "budget",
            f"{budget.describe()} with how={how!r}",
            "only with 'inner' (of a row without a partner it is not known whether the partner was"
            " left out)",
        )
    if has_row_windows:
        raise ConfigError.at(
            "budget", f"{budget.describe()} with a window of rows", "windows of time"
        )


def _reactions(shed: Shed, budget: Budget) -> tuple[str, ...]:
    """What gives way, in order."""
    if shed is None:
        return DROP if budget.cpu is None else SELECTIVE
    words = (shed,) if isinstance(shed, str) else tuple(shed) if isinstance(shed, list) else None
    words = SELECTIVE if words == SELECTIVE[:1] else words
    if words not in (SELECTIVE, LAG, DROP):
        raise ConfigError.at(
            "shed",
            repr(shed),
            "'selective', 'drop', or ['selective', 'lag'] for batches that take longer rather than"
            " to turn rows away",
        )
    if words != DROP and budget.cpu is None:
        raise ConfigError.at(
            "shed", f"{shed!r} with {budget.describe()}", "'drop' (only cpu is selective)"
        )
    return words


def _check_policy(split: str) -> None:
    if split not in POLICIES:
        raise ConfigError(
            f"split: got {split!r}; allowed where comparisons are chosen: {', '.join(POLICIES)}"
        )


def _check_split(budget: Budget, split: str) -> None:
    has_cpu = budget.cpu is not None or budget.rate is not None
    has_memory = budget.memory is not None
    names = splits_for(Limits(1.0 if has_cpu else None, 1.0 if has_memory else None))
    if split not in names:
        kind = {(True, False): "cpu or rate", (False, True): "memory"}.get(
            (has_cpu, has_memory), "cpu or rate and memory"
        )
        raise ConfigError(
            f"split: got {split!r}; allowed with a budget of {kind}: {', '.join(names)}"
        )


@dataclass
class StreamClock:
    """How far event time has come.

    Examples
    --------
    >>> clock = StreamClock()
    >>> [clock.elapsed(t, span=1.0, slack_us=0) for t in (1_000_000, 3_000_000, 3_000_000)]
    [1.0, 2.0, 0.0]
    """

    clock: int | None = None  # event time that has been reached
    pace: float = 0.0  # seconds of it that a batch brings, as an average that forgets

    def elapsed(self, newest: int | None, span: float, slack_us: int) -> float:
        """Seconds of event time since the batch before.

        `newest` is the time that the batch has reached, `span` the seconds that most of its rows
        span (all that counts if it is the first), `slack_us` how far behind rows may be.
        """
        if newest is None:
            return 0.0
        if self.clock is None:
            self.clock, self.pace = newest, span
            return span
        ahead, most = (newest - self.clock) / 1e6, max(span, MAX_PACES * self.pace)
        if ahead < -slack_us / 1e6 - most:
            self.clock = newest  # a batch before had a time that was far ahead
            return self.pace
        self.clock = max(self.clock, newest)
        if ahead <= 0:
            return 0.0
        seconds = min(ahead, most) if most else ahead
        self.pace += WEIGHT * (seconds - self.pace)
        return seconds


def span_seconds(times: Times) -> float:
    """Seconds that most rows of a batch span: a few times that are far off do not count."""
    if not len(times):
        return 0.0
    quarter = len(times) // 4
    middle, whole = times[-1 - quarter] - times[quarter], times[-1] - times[0]
    return int(min(2 * middle, whole)) / 1e6
