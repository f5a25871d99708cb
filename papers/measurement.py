"""A mean over seeds with its 95 % interval."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

_T_975: Final = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
)  # fmt: skip
"""Student's t at 97.5 % for 1, 2, ... degrees of freedom."""


@dataclass(frozen=True)
class Measurement:
    """Mean, bounds of the 95 % interval of the mean (Student's t) and the number of runs.

    Examples
    --------
    >>> Measurement.of([4.0, 5.0, 6.0])
    Measurement(mean=5.0, low=2.515..., high=7.484..., n=3)
    >>> print(Measurement.of([4.9, 5.0, 5.1]), "and", Measurement.of([3.0]))
    5 (4.752 to 5.248) and 3
    """

    mean: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> "Measurement":
        """Summarise runs; a single one has no interval."""
        n = len(values)
        mean = float(np.mean(values))
        if n == 1:
            return cls(mean, mean, mean, 1)
        t = _T_975[n - 2] if n - 2 < len(_T_975) else 1.96 + 2.4 / (n - 1)
        half = t * float(np.std(values, ddof=1)) / n**0.5
        return cls(mean, mean - half, mean + half, n)

    def __str__(self) -> str:
        if self.low == self.high:
            return short(self.mean)
        return f"{short(self.mean)} ({short(self.low)} to {short(self.high)})"


def short(value: float) -> str:
    """Write a number with four figures, large ones in full.

    Examples
    --------
    >>> short(67.0078), short(112820.5), short(0.5), short(3796.5)
    ('67.01', '112820.5', '0.5', '3796.5')
    """
    return f"{value:.1f}".removesuffix(".0") if abs(value) >= 1000 else f"{value:.4g}"


def within(value: float, target: float, share: float) -> bool:
    """Whether a value is within a share of its target.

    Examples
    --------
    >>> within(67.0, 70.0, 0.05), within(60.0, 70.0, 0.05)
    (True, False)
    """
    return abs(value - target) <= share * abs(target)
