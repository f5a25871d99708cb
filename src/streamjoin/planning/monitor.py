"""Averages of what was seen last (Mukherji 2011, Section 4.4; JAQ-A25)."""

from collections import deque
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from streamjoin.errors import ConfigError

_NONE: Final[Mapping[str, float]] = MappingProxyType({})


class Monitor:
    """Windowed averages of named numbers.

    Parameters
    ----------
    window
        How many observations of each number count.

    Examples
    --------
    A selectivity counts by the probes that it was seen in.

    >>> monitor = Monitor(window=2)
    >>> monitor.observe({"rate a": 90, "sigma b": 0.5})
    >>> monitor.observe({"rate a": 100, "sigma b": 0.2}, weights={"sigma b": 10})
    >>> monitor.observe({"rate a": 110, "sigma b": 0.4}, weights={"sigma b": 30})
    >>> monitor.averages
    {'rate a': 105.0, 'sigma b': 0.35}
    """

    def __init__(self, window: int = 10) -> None:
        if window < 1:
            msg = f"window: got {window}; allowed: at least one observation"
            raise ConfigError(msg)
        self.window = window
        self._seen: dict[str, deque[tuple[float, float]]] = {}

    def observe(self, values: Mapping[str, float], weights: Mapping[str, float] = _NONE) -> None:
        """Add one observation; numbers that are not in it keep theirs.

        Parameters
        ----------
        values
            The numbers.
        weights
            How much each counts; 1 if it is not named. One of 0 is not kept.
        """
        for name, value in values.items():
            weight = float(weights.get(name, 1.0))
            if weight > 0:
                self._seen.setdefault(name, deque(maxlen=self.window)).append((value, weight))

    @property
    def averages(self) -> dict[str, float]:
        """The average of each number."""
        return {
            name: sum(value * weight for value, weight in seen) / sum(weight for _, weight in seen)
            for name, seen in self._seen.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it."""
        seen = {name: [list(pair) for pair in pairs] for name, pairs in self._seen.items()}
        return {"window": self.window, "seen": seen}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Monitor":
        """What `to_dict` gave."""
        monitor = cls(stored["window"])
        for name, pairs in stored["seen"].items():
            monitor._seen[name] = deque(
                ((value, weight) for value, weight in pairs), maxlen=monitor.window
            )
        return monitor
