"""Streams, limits and strategies of Figures 8 to 10."""

from dataclasses import dataclass
from typing import Any, Final

from papers.kang.cost_model import join_selectivity
from papers.kang.workload import Streams
from streamjoin.budget import Budget
from streamjoin.planning.two.split import Demand, Limits, output, plan
from streamjoin.windows import rows


@dataclass(frozen=True)
class Setting:
    """A figure's streams and limits.

    Parameters
    ----------
    rates, windows, keys
        Of the two streams; windows in seconds.
    service, memory
        What there is (mu, M); None for enough.
    strategies
        Our names of the splits, each with the paper's.
    warm
        Seconds until all windows are full and rates are known.
    every
        Stream time of a batch in virtual time: rows of one batch meet whatever memory there is, so
        with limited memory batches have to be short against the windows.
    spark_every, spark_batches
        The same on Spark, and how many batches are measured there.
    quick_seconds, seconds
        How long is measured.
    """

    rates: tuple[float, float]
    windows: tuple[float, float]
    keys: tuple[int, int]
    service: float | None
    memory: int | None
    strategies: dict[str, str]
    warm: int
    every: int
    spark_every: int
    spark_batches: int
    quick_seconds: int
    seconds: int

    @property
    def demand(self) -> Demand:
        """What the streams would take."""
        return Demand(self.rates, self.windows)

    @property
    def limits(self) -> Limits:
        """What there is, for the model."""
        return Limits(self.service, self.memory)

    @property
    def budget(self) -> Budget:
        """What there is, for the join."""
        return Budget(rate=self.service, memory=rows(self.memory) if self.memory else None)

    def model(self, split: str) -> float:
        """Results a second by Eqs. 10, 13 and 14."""
        selectivity = float(join_selectivity(*self.keys))
        return selectivity * output(plan(split, self.demand, self.limits), self.demand)

    def arguments(self, split: str) -> dict[str, Any]:
        """The arguments of the join, in virtual time and on Spark alike."""
        left, right = (f"{seconds} seconds" for seconds in self.windows)
        return {
            "on": "k",
            "time": "t",
            "window": (left, right),
            "budget": self.budget,
            "split": split,
        }

    def streams(self, seconds: float, seed: int) -> Streams:
        """The streams of one run."""
        return Streams(self.rates, self.keys, seconds, seed)


LIMITED_CPU: Final = Setting(
    rates=(80, 20),
    windows=(9, 1),
    keys=(50, 13),  # 1/0.08 is not a whole number; only the larger one matters
    service=10,
    memory=None,
    strategies={
        "equal": "Equal",
        "rate": "λ Prop",
        "inverse-rate": "λ Inverse",
        "window": "T Prop",
        "inverse-window": "T Inverse",
    },
    warm=100,
    every=50,
    spark_every=400,
    spark_batches=2,
    quick_seconds=3600,  # few tuples are taken in: a shorter run is too noisy to judge
    seconds=12000,
)
LIMITED_MEMORY: Final = Setting(
    rates=(10, 50),
    windows=(200, 200),  # the paper's windows are free: more than memory ever allows
    keys=(200, 100),
    service=None,
    memory=1000,
    strategies={
        "slower": "Max A",
        "inverse-rate": "λ Inverse",
        "equal": "Eq Dist",
        "rate": "λ Prop",
        "faster": "Max B",
    },
    warm=110,
    every=1,
    spark_every=20,
    spark_batches=2,
    quick_seconds=40,
    seconds=300,
)
LIMITED_BOTH: Final = Setting(
    rates=(20, 20),
    windows=(200, 200),
    keys=(100, 100),
    service=10,
    memory=100,
    strategies={
        "left/right": "Max A/max λb",
        "right/left": "Max B/max λa",
        "equal": "Equal",
        "left/left": "Max A/max λa",
        "right/right": "Max B/max λb",
    },
    warm=110,
    every=1,
    spark_every=10,
    spark_batches=5,
    quick_seconds=60,
    seconds=600,
)
