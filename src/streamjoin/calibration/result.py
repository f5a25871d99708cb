"""What a calibration found, as plain values."""

from dataclasses import asdict, dataclass
from typing import Any

from streamjoin.calibration.fitting import Fit
from streamjoin.planning.two.algorithm_choice import OperationCosts


@dataclass(frozen=True)
class Crossover:
    """Where two methods cost the same, predicted from the costs and measured; None: nowhere seen.

    For methods of a micro-batch `size` is the number of stored tuples and the crossover is the
    number of arrivals; `loss` is how much more the one of the two methods that is predicted to be
    cheaper costs than the other, at most, of all arrivals tried.
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

    By choosing the method of a micro-batch by predicted costs at most `batch_loss` of the best
    method's cost was lost.
    """

    operations: OperationCosts
    batch_fit: Fit
    batch_loss: float
    crossovers: tuple[Crossover, ...]

    def to_dict(self) -> dict[str, Any]:
        """As values that JSON knows."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Calibration":
        """Read `to_dict` back; KeyError, TypeError or ValueError if it is something else."""
        return cls(
            operations=OperationCosts(**_floats(values["operations"])),
            batch_fit=Fit(**values["batch_fit"]),
            batch_loss=float(values["batch_loss"]),
            crossovers=tuple(Crossover(**each) for each in values["crossovers"]),
        )


def _floats(values: dict[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}
