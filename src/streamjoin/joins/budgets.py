"""A user's budget, checked against the join and turned into the limits of its shards."""

from dataclasses import replace
from typing import Final

from streamjoin.budget import Budget, shard_cpu
from streamjoin.errors import ConfigError
from streamjoin.joins.window_join import WindowJoin
from streamjoin.planning.two.split import Limits, splits_for
from streamjoin.shedding.fractions import POLICIES
from streamjoin.shedding.regulation import Shedding
from streamjoin.windows import Rows

Shed = str | list[str] | None
"""What gives way: a word, or a list of what gives way first and what next."""

SELECTIVE: Final = ("selective", "drop")
LAG: Final = ("selective", "lag")
DROP: Final = ("drop",)
BEST: Final = "best"


def limits_of(join: WindowJoin, budget: Budget, shed: Shed, split: str) -> Shedding:
    """Limits of a join that runs in one shard on one core, or an error that names the argument."""
    if not isinstance(budget, Budget):
        msg = f"budget: got {budget!r}; allowed: a Budget such as Budget(cpu=0.5)"
        raise ConfigError(msg)
    reactions = _reactions(shed, budget)
    _check_join(join, budget)
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
            msg = f"{argument}: got {value!r} without a budget; allowed: only with one"
            raise ConfigError(msg)


def over_shards(
    shedding: Shedding, n_shards: int, n_cores: int, copies: tuple[int, int]
) -> Shedding:
    """Limits of each shard of a join.

    Examples
    --------
    >>> over_shards(Shedding(cpu_us_per_second=5e5), n_shards=8, n_cores=4, copies=(1, 1))
    Shedding(split='best', cpu_us_per_second=250000.0, ...)
    """
    second, batch = shard_cpu(
        shedding.cpu_us_per_second, shedding.cpu_us_per_batch, n_shards, n_cores
    )
    return replace(shedding, cpu_us_per_second=second, cpu_us_per_batch=batch, copies=copies)


def _check_join(join: WindowJoin, budget: Budget) -> None:
    if join.how != "inner":
        msg = (
            f"budget: got {budget.describe()} with how={join.how!r}; allowed: only with 'inner' (of"
            " a row without a partner it is not known whether the partner was left out)"
        )
        raise ConfigError(msg)
    if join.is_ordered:
        msg = f"budget: got {budget.describe()} with a window of rows; allowed: windows of time"
        raise ConfigError(msg)


def _reactions(shed: Shed, budget: Budget) -> tuple[str, ...]:
    """What gives way, in order."""
    if shed is None:
        return DROP if budget.cpu is None else SELECTIVE
    words = (shed,) if isinstance(shed, str) else tuple(shed) if isinstance(shed, list) else None
    words = SELECTIVE if words == SELECTIVE[:1] else words
    if words not in (SELECTIVE, LAG, DROP):
        msg = (
            f"shed: got {shed!r}; allowed: 'selective', 'drop', or ['selective', 'lag'] for "
            "batches that take longer rather than to turn rows away"
        )
        raise ConfigError(msg)
    if words != DROP and budget.cpu is None:
        msg = (
            f"shed: got {shed!r} with {budget.describe()}; allowed: 'drop' (only cpu is selective)"
        )
        raise ConfigError(msg)
    return words


def _check_policy(split: str) -> None:
    if split not in POLICIES:
        msg = f"split: got {split!r}; allowed where comparisons are chosen: {', '.join(POLICIES)}"
        raise ConfigError(msg)


def _check_split(budget: Budget, split: str) -> None:
    has_cpu = budget.cpu is not None or budget.rate is not None
    has_memory = budget.memory is not None
    names = splits_for(Limits(1.0 if has_cpu else None, 1.0 if has_memory else None))
    if split not in names:
        kind = {(True, False): "cpu or rate", (False, True): "memory"}.get(
            (has_cpu, has_memory), "cpu or rate and memory"
        )
        msg = f"split: got {split!r}; allowed with a budget of {kind}: {', '.join(names)}"
        raise ConfigError(msg)
