"""Five streams of temperatures: recorded in the Intel Berkeley lab, or made up (JAQ-D2).

54 sensors hang along the walls of a laboratory, numbered on the way round, so that neighbours have
neighbouring numbers. Streams A to E are the sensors 1-11, 12-22, 23-33, 34-44 and 45-54. Time runs
72 times as fast: a day takes 20 minutes, a reading every 31 s becomes one every 0.43 s, and each
stream has about 15 a second. To process all of the paper's plan then takes thousands of probes a
second, by day and hour, so its limits of 300, 600 and 900 are an overload most of the time.

The paper does not say what the streams are joined on (JAQ-I11). Here it is the temperature in steps
of 0.049 degrees, which is five times what the sensors can tell apart: selectivities are about 0.01
to 0.03, as in its Table 3. Recorded readings come from the folder that ``STREAMJOIN_DATA`` names.
Without it each sensor is a daily cycle and a random walk that is drawn back to it.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from papers.jaqpot.plan_streams import PlanStream

FILE: Final = Path("intel_lab", "intel_clean.parquet")
STEP: Final = 0.049
"""Degrees of Celsius, from `COLDEST` on: five times what a sensor can tell apart."""
COLDEST: Final = -38.4
SPEED: Final = 72
"""How many seconds pass in one."""
GROUP: Final = 11
N_GROUPS: Final = 5
N_SENSORS: Final = 54
DAYS: Final = 5
PERIOD_S: Final = 31
_DAY_S: Final = 86_400
_KEPT: Final = 0.62  # of all readings, as in the recorded data
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings in the order of time."""

    times_us: NDArray[np.int64]
    sensors: NDArray[np.int64]
    temperatures: Floats
    recorded: bool

    def streams(self, day: int, seconds: float) -> list[PlanStream]:
        """Streams A to E, from the beginning of a day (0 is the first) for some fast seconds.

        Examples
        --------
        >>> noon = 43_200 * 10**6
        >>> readings = Readings(np.array([0, noon]), np.array([1, 12]), np.array([20, 20.1]), False)
        >>> a, b, *_ = readings.streams(day=0, seconds=900)
        >>> b.times.tolist(), (b.left - a.right).tolist()
        ([600000000], [2])
        """
        begin = day * _DAY_S * 1_000_000
        times = (self.times_us - self.times_us[0] - begin) // SPEED
        keys = np.rint((self.temperatures - COLDEST) / STEP).astype(np.int64)
        groups = np.minimum((self.sensors - 1) // GROUP, N_GROUPS - 1)
        shown = (times >= 0) & (times < seconds * 1e6)
        each = (shown & (groups == group) for group in range(N_GROUPS))
        return [PlanStream(times[mine], keys[mine], keys[mine]) for mine in each]


def readings(seed: int) -> Readings:
    """Recorded readings if there are any, else made up ones of this seed."""
    file = Path(os.environ.get("STREAMJOIN_DATA", "")) / FILE
    return _recorded(file) if file.is_file() else made_up(seed)


def _recorded(file: Path) -> Readings:
    rows = pq.read_table(file, columns=["ts", "moteid", "temperature"]).sort_by("ts")
    times, sensors, temperatures = (column.to_numpy() for column in rows.columns)
    times_us = times.astype("datetime64[us]").astype(np.int64)
    return Readings(times_us, sensors.astype(np.int64), temperatures, recorded=True)


def made_up(seed: int, days: float = DAYS) -> Readings:
    """Sensors with a daily cycle, a place of their own and a slow random walk.

    Examples
    --------
    >>> readings = made_up(seed=1, days=0.5)
    >>> len(readings.temperatures), bool(abs(readings.temperatures.mean() - 22) < 3)
    (46892, True)
    """
    rng = np.random.default_rng((seed, N_SENSORS))
    n = int(days * _DAY_S / PERIOD_S)
    times_s = np.arange(n) * PERIOD_S
    sensors = np.arange(N_SENSORS)
    # The sunny side of the room is warmer and later: neighbours are alike.
    place = 2 * np.pi * sensors / N_SENSORS
    warmth = 22 + 0.7 * np.cos(place) + rng.normal(0, 0.4, N_SENSORS)
    swing = 3 + 0.5 * np.cos(place - 1) + rng.normal(0, 0.2, N_SENSORS)
    phase = 2 * np.pi * times_s[:, None] / _DAY_S - np.pi - 0.4 * np.cos(place)
    walks = _walks(rng, n, deviation=0.4, memory_s=7200)
    temperatures = warmth + swing * np.sin(phase) + walks
    when = times_s[:, None] + np.sort(rng.uniform(0, PERIOD_S, N_SENSORS))
    kept = rng.random((n, N_SENSORS)) < _KEPT
    times_us = np.floor(when[kept] * 1e6).astype(np.int64)
    order = np.argsort(times_us, kind="stable")
    numbers = np.broadcast_to(sensors + 1, kept.shape)[kept]
    return Readings(times_us[order], numbers[order], temperatures[kept][order], recorded=False)


def _walks(rng: np.random.Generator, n: int, deviation: float, memory_s: float) -> Floats:
    """Random walks that forget: one column for each sensor."""
    stay = float(np.exp(-PERIOD_S / memory_s))
    steps = rng.normal(0, deviation * (1 - stay**2) ** 0.5, (n, N_SENSORS))
    at, walks = rng.normal(0, deviation, N_SENSORS), np.empty((n, N_SENSORS))
    for i, step in enumerate(steps):
        at = stay * at + step
        walks[i] = at
    return walks
