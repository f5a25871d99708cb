"""What a join may use: CPU, tuples per second, memory."""

import os
import re
from dataclasses import dataclass
from numbers import Real
from typing import Final

from streamjoin.durations import Duration, format_duration, parse_duration
from streamjoin.errors import ConfigError
from streamjoin.windows import Rows

_UNITS: Final = {
    "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40,
}  # fmt: skip
_SIZE: Final = re.compile(r"\s*(\d{1,30}(?:\.\d{1,30})?)\s*([a-z]+)\s*")


@dataclass(frozen=True)
class Budget:
    """Limits of a join; None for no limit, which means an exact join.

    Parameters
    ----------
    cpu
        Share of Spark's cores, 0 to 1: for each second of the streams (by their event times) the
        join may use so much of a second of each core. Or a duration: CPU time for each batch, all
        cores together. If it is short, comparisons give way (Gedik et al.), or tuples if so said.
    rate
        Tuples that are taken in for each second of the streams, of both together: the service rate
        mu of Kang et al., the same on every machine. Others are turned away. Not together with
        `cpu`.
    memory
        What may be remembered, over all shards: ``"64 MB"`` or ``rows(100_000)``. Windows become
        upper bounds.

    Examples
    --------
    >>> Budget(cpu=0.25, memory="64 MB").memory_limit
    64000000
    >>> Budget(cpu=1.5)
    Traceback (most recent call last):
        ...
    streamjoin.errors.ConfigError: budget: got cpu=1.5; allowed: a share of the cores above 0 and up
    to 1, or CPU time for each batch such as "200 ms"

    References
    ----------
    Kang, Naughton, Viglas 2003, sections 4.2 and 4.3; Gedik, Wu, Yu, Liu 2005, sections 4 and 5.
    """

    cpu: float | Duration | None = None
    rate: float | None = None
    memory: str | Rows | None = None

    def __post_init__(self) -> None:
        if self.cpu is None and self.rate is None and self.memory is None:
            raise ConfigError.at("budget", "no limit", "cpu, rate or memory (or no budget at all)")
        if self.cpu is not None and self.rate is not None:
            raise ConfigError.at(
                "budget", f"cpu={self.cpu!r} and rate={self.rate!r}", "one of them"
            )
        if self.cpu is not None and not _is_cpu(self.cpu):
            raise ConfigError.at(
                "budget",
                f"cpu={self.cpu!r}",
                "a share of the cores above 0 and up to 1, or CPU time for each batch such as "
                '"200 ms"',
            )
        if self.rate is not None and not (_is_number(self.rate) and 0 < self.rate < 1e300):
            raise ConfigError.at(
                "budget", f"rate={self.rate!r}", "a positive number of tuples per second"
            )
        if self.memory is not None and not isinstance(self.memory, Rows):
            _parse_size(self.memory)

    @property
    def cpu_share(self) -> float | None:
        """The share of the cores, if `cpu` is one."""
        return float(self.cpu) if isinstance(self.cpu, Real) else None

    @property
    def cpu_us_per_batch(self) -> int | None:
        """CPU time for each batch in microseconds, if `cpu` says so."""
        if self.cpu is None or isinstance(self.cpu, Real):
            return None
        return parse_duration(self.cpu, "budget")  # type: ignore[arg-type]

    @property
    def memory_limit(self) -> int | None:
        """How many bytes, or rows, may be remembered."""
        if isinstance(self.memory, Rows):
            return self.memory.n
        return None if self.memory is None else _parse_size(self.memory)

    def describe(self) -> str:
        """In words.

        Examples
        --------
        >>> Budget(cpu=0.5, memory="1 GB").describe()
        '0.5 of the cores and 1 GB of state'
        """
        said = []
        if self.cpu_share is not None:
            said.append(f"{self.cpu_share:.3g} of the cores")
        elif self.cpu_us_per_batch is not None:
            said.append(f"{format_duration(self.cpu_us_per_batch)} of CPU time a batch")
        if self.rate is not None:
            said.append(f"{self.rate:,.6g} tuples/s")
        if self.memory is not None:
            rows = isinstance(self.memory, Rows)
            said.append(f"{self.memory.n:,} remembered rows" if rows else f"{self.memory} of state")  # type: ignore[union-attr]
        return " and ".join(said)


def machine_bytes() -> int:
    """Main memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def refuse_too_much(budget: Budget) -> None:
    """Refuse more memory than this machine has: it would be no limit."""
    limit = None if isinstance(budget.memory, Rows) else budget.memory_limit
    if limit is not None and limit > machine_bytes():
        raise ConfigError.at(
            "budget",
            f"memory={budget.memory!r}",
            f"at most what this machine has, {machine_bytes() / 1e9:.3g} GB",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_cpu(cpu: float | Duration) -> bool:
    if isinstance(cpu, Real):
        return _is_number(cpu) and 0 < cpu <= 1
    return parse_duration(cpu, "budget") > 0  # type: ignore[arg-type]


def _parse_size(text: object) -> int:
    found = _SIZE.fullmatch(text.lower()) if isinstance(text, str) else None
    unit = _UNITS.get(found[2]) if found else None
    size = round(float(found[1]) * unit) if found and unit else 0
    if size <= 0:
        raise ConfigError.at(
            "budget",
            f"memory={text!r}",
            'a positive size such as "64 MB", or rows(n) for a number of tuples',
        )
    return size
