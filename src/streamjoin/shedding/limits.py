"""From a user's budget to the limits of one shard: checked, and divided over the shards.

A budget is one of the streams' own time, not of the clock's: `StreamClock` tells how much of it a
batch brings. So a recorded stream is regulated as the live one was, and a batch that is run again
as before.
"""

from dataclasses import dataclass, field, replace
from typing import Final, Literal

from streamjoin._typing import Times
from streamjoin.budget import Budget
from streamjoin.errors import ConfigError
from streamjoin.planning.two.split import Demand, Limits, Pair, plan, splits_for
from streamjoin.shedding.costs import WEIGHT
from streamjoin.shedding.fractions import POLICIES, rate_adapt
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
PATIENCE: Final = 3
"""Batches in a row that must be too long before rows are turned away: the first ones load code. And
that must not be before more rows are let in again."""
TOO_LONG: Final = 3.0
"""A batch is too long if it covers so much more time than usual."""
MAX_TIME_SHARE: Final = 0.9
"""Part of the streams' time that all but the comparisons may take."""
MIN_SHARE: Final = 0.01


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
    _check_split(budget, split, selective)
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


def _check_split(budget: Budget, split: str, selective: bool) -> None:
    names: tuple[str, ...] = POLICIES
    when = "where comparisons are chosen"
    if not selective:
        has_cpu = budget.cpu is not None or budget.rate is not None
        has_memory = budget.memory is not None
        names = splits_for(Limits(1.0 if has_cpu else None, 1.0 if has_memory else None))
        kinds = ["cpu or rate"] * has_cpu + ["memory"] * has_memory
        when = f"with a budget of {' and '.join(kinds)}"
    if split not in names:
        raise ConfigError(f"split: got {split!r}; allowed {when}: {', '.join(names)}")


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


@dataclass
class Gate:
    """What map tasks let in before rows are packed, decided for later batches.

    Where reading, packing and shuffling rows takes longer than the streams' own time, no choice of
    comparisons helps: each batch takes longer and so the next one has more rows. Then the fraction
    of the rows that is let in follows the rule of the paper's rate adaptation (GED-A5): it falls
    with the ratio of the time there is to the time it took, and grows slowly while batches do not.

    That a batch takes as long as the time it covers is not enough to tell: without a trigger every
    one does, and what a batch costs whatever its size does not shrink with its rows.

    Examples
    --------
    >>> gate = Gate()
    >>> for seconds in (1.0, 2.0, 4.0, 8.0, 16.0):
    ...     demand = Demand((300.0, 100.0), (10.0, 10.0))
    ...     gate.see(seconds, took=1.8 * seconds, demand=demand)
    >>> gate.share, [round(share, 3) for share in gate.shares]
    (0.5, [0.333, 1.0])
    """

    share: float = 1.0  # part of all rows that is let in
    shares: list[float] = field(default_factory=lambda: [1.0, 1.0])
    """Those of the left and of the right stream: the best split gives both the same rate."""
    slow: int = 0  # batches in a row that were too long
    calm: int = 0  # and that were not
    usual: float | None = None  # what a batch usually covers, in seconds of the streams

    @property
    def is_behind(self) -> bool:
        """Whether the batches take too long, or would if all rows were let in."""
        return self.share < 1 or self.slow > 0

    def see(self, seconds: float, took: float, demand: Demand) -> None:
        """Learn from a batch that covers some seconds of the streams.

        It took some seconds from its first row to its last result, without the time for
        comparisons; `demand` is what the streams bring, with what is turned away.
        """
        if seconds <= 0:
            return
        beta = MAX_TIME_SHARE * seconds / max(took, 1e-9)
        is_slow = self._is_long(seconds) and beta < 1
        self.slow, self.calm = (self.slow + 1, 0) if is_slow else (0, self.calm + 1)
        if is_slow and (self.slow >= PATIENCE or self.share < 1):
            self.share = max(MIN_SHARE, rate_adapt(self.share, beta))
        elif self.calm >= PATIENCE:
            self.share = rate_adapt(self.share, beta=1.0)
        self.shares = _split(self.share, demand)

    def _is_long(self, seconds: float) -> bool:
        """Whether a batch is longer than usual; what is usual rises slowly, and falls at once."""
        if self.usual is None or seconds < self.usual:
            self.usual = seconds
        is_long = seconds > TOO_LONG * self.usual
        if self.share >= 1 and not is_long:
            self.usual += 0.1 * (seconds - self.usual)
        return is_long


def _split(share: float, demand: Demand) -> list[float]:
    if share >= 1:
        return [1.0, 1.0]
    rates: Pair = plan("best", demand, Limits(share * sum(demand.rates), None)).rates
    return [min(1.0, let_in / rate) for let_in, rate in zip(rates, demand.rates, strict=True)]
