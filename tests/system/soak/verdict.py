"""Whether a line is flat: what it gains after warm-up, and how sure that is.

The rest after the first third is cut into equal blocks, and each counts by its median: so a saw's
teeth and the noise of other programs do not look like a trend. A straight line through the medians
gives the gain over the rest with its 95 % interval. The line

flat      gains less than its tolerance, also at the upper end of the interval
falls     loses more than that, also at the upper end
grows     gains more than that, and the interval is above zero
unclear   may gain more than that, but it may as well be noise

The tolerance is 5 % of the mean, or the least that counts in its unit if that is more; of what is
counted one by one (open files, processes) it is that least alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from scipy.stats import t as students_t

Verdict = Literal["flat", "falls", "grows", "unclear"]
WARM_UP: Final = 1 / 3
BLOCKS: Final = 20
TOLERANCE: Final = 0.05
CONFIDENCE: Final = 0.95
LEAST: Final = {"MB": 4.0, "s": 0.1, "rows": 100.0, "files": 30.0, "MB on disk": 16.0, "": 10.0}
"""By unit: a gain below it counts as none. A file a batch would be 240 files in twenty minutes."""
COUNTED: Final = ""
"""Unit of what is counted one by one."""


@dataclass(frozen=True)
class Line:
    """Something measured over time; times are in seconds from the start."""

    name: str
    unit: str
    times: Sequence[float]
    values: Sequence[float]


@dataclass(frozen=True)
class Judged:
    """A line with its mean after warm-up, gain per hour, that gain's interval, and the verdict."""

    line: Line
    mean: float
    per_hour: float
    low: float
    high: float
    verdict: Verdict

    @property
    def is_leak(self) -> bool:
        """Whether it has to be looked at."""
        return self.verdict in ("grows", "unclear")


def judge(line: Line) -> Judged:
    """Fit a straight line through the blocks' medians and apply the rule.

    Examples
    --------
    >>> judge(Line("memory", "MB", range(1800), [100 + at / 60 for at in range(1800)])).verdict
    'grows'
    """
    times, values = _after_warm_up(line)
    hours, medians = _blocks(times, values)
    slope, error = _fit(hours, medians)
    margin = error * float(students_t.ppf((1 + CONFIDENCE) / 2, len(hours) - 2))
    length = (times[-1] - times[0]) / 3600
    mean = float(np.mean(values))
    tolerance = max(0.0 if line.unit == COUNTED else TOLERANCE * abs(mean), LEAST[line.unit])
    gain, least, most = (each * length for each in (slope, slope - margin, slope + margin))
    verdict: Verdict = "unclear"
    if gain > tolerance and least > 0:
        verdict = "grows"
    elif most < tolerance:
        verdict = "falls" if gain < -tolerance and most < 0 else "flat"
    return Judged(line, mean, slope, slope - margin, slope + margin, verdict)


def _after_warm_up(line: Line) -> tuple[np.ndarray, np.ndarray]:
    times, values = np.asarray(line.times, float), np.asarray(line.values, float)
    warm = times >= times[0] + WARM_UP * (times[-1] - times[0])
    return times[warm], values[warm]


def _blocks(times: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    parts = zip(np.array_split(times, BLOCKS), np.array_split(values, BLOCKS), strict=True)
    found = [(np.mean(at) / 3600, np.median(of)) for at, of in parts if len(at)]
    return np.array([at for at, _ in found]), np.array([of for _, of in found])


def _fit(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Slope of the least squares line, and its standard error."""
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ y) / spread
    left = y - y.mean() - slope * centred
    return slope, float(np.sqrt(left @ left / (len(x) - 2) / spread))
