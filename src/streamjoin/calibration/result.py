"""What a calibration found, as plain values."""

from dataclasses import asdict, dataclass
from typing import Any

from streamjoin.calibration.fitting import Fit
from streamjoin.planning.two.algorithm_choice import AccessCosts, OperationCosts


@dataclass(frozen=True)
class TupleCosts:
    """Nanoseconds of the tuple-at-a-time join with one structure.

    `access` is the cost of one tuple touched (C_n or C_h); `probe`, `insert` and `invalidate` are
    what a task costs besides the tuples that it touches.
    """

    access: float
    probe: float
    insert: float
    invalidate: float


@dataclass(frozen=True)
class Crossover:
    """Where two methods cost the same, predicted from the costs and measured; None: nowhere seen.

    For ``hash|list`` of the tuple-at-a-time join `size` is the number of keys and the crossover is
    the ratio of rates (KAN-A14). For methods of a micro-batch `size` is the number of stored
    tuples and the crossover is the number of arrivals; `loss` is how much more the one of the two
    methods that is predicted to be cheaper costs than the other, at most, of all arrivals tried.
    """

    methods: str
    size: int
    predicted: float | None
    measured: float | None
    loss: float | None = None

    @property
    def error(self) -> float | None:
        """Relative error of the prediction."""
        if self.predicted is None or self.measured is None:
            return None
        return self.predicted / self.measured - 1


@dataclass(frozen=True)
class Calibration:
    """Costs of our kernels on this machine, and how well they predict.

    `ratios` are C_h / C_n by the paper's procedure (KAN-A13), for each number of keys tried. By
    choosing the method of a micro-batch by predicted costs at most `batch_loss` of the best
    method's cost was lost.
    """

    operations: OperationCosts
    nested: TupleCosts
    hashed: TupleCosts
    ratios: tuple[tuple[int, float], ...]
    tuple_fit: Fit
    batch_fit: Fit
    batch_loss: float
    crossovers: tuple[Crossover, ...]

    @property
    def access(self) -> AccessCosts:
        """C_n and C_h, measured directly."""
        return AccessCosts(nested=self.nested.access, hashed=self.hashed.access)

    @property
    def ratio_by_crossover(self) -> float | None:
        """C_h / C_n by the paper's procedure: the middle one of those found."""
        found = sorted(ratio for _, ratio in self.ratios)
        return found[len(found) // 2] if found else None

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON knows."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Calibration":
        """Read `to_dict` back; KeyError, TypeError or ValueError if it is something else."""
        return cls(
            operations=OperationCosts(**_floats(values["operations"])),
            nested=TupleCosts(**_floats(values["nested"])),
            hashed=TupleCosts(**_floats(values["hashed"])),
            ratios=tuple((int(n), float(ratio)) for n, ratio in values["ratios"]),
            tuple_fit=Fit(**values["tuple_fit"]),
            batch_fit=Fit(**values["batch_fit"]),
            batch_loss=float(values["batch_loss"]),
            crossovers=tuple(Crossover(**each) for each in values["crossovers"]),
        )


def _floats(values: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}
