"""What a calibration found, and where it is kept: one JSON file of this user on this machine."""

import json
import logging
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from streamjoin._private import cache_folder, make_folders
from streamjoin.calibration.fitting import Fit
from streamjoin.errors import EngineError
from streamjoin.planning.two.algorithm_choice import OperationCosts

VERSION: Final = 2
"""Of the file's form; a file of another version is not used."""

_log = logging.getLogger(__name__)


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
            operations=OperationCosts(
                **{name: float(cost) for name, cost in values["operations"].items()}
            ),
            batch_fit=Fit(**values["batch_fit"]),
            batch_loss=float(values["batch_loss"]),
            crossovers=tuple(Crossover(**each) for each in values["crossovers"]),
        )


def stored_at() -> Path:
    """The file: ``$STREAMJOIN_CALIBRATION``, or one in the user's cache folder.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch.dict("os.environ", STREAMJOIN_CALIBRATION="/somewhere/costs.json"):
    ...     stored_at().as_posix()
    '/somewhere/costs.json'
    """
    named = os.environ.get("STREAMJOIN_CALIBRATION")
    return Path(named).expanduser() if named else cache_folder() / "calibration.json"


def save(calibration: Calibration) -> Path:
    """Store a calibration in place of the one before; a reader never sees half a file."""
    path = stored_at()
    text = json.dumps({"version": VERSION, **calibration.to_dict()}, indent=2)
    try:
        make_folders(path.parent)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise EngineError(
            f"the calibration cannot be stored at {path}: {error.strerror or error}; "
            "let STREAMJOIN_CALIBRATION name a file that can be written"
        ) from error
    return path


def load() -> Calibration | None:
    """The stored calibration; None if there is none, or (with a warning) none that can be used."""
    path = stored_at()
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["version"] != VERSION:
            _log.warning("%s: calibration of another version is not used; calibrate again", path)
            return None
        return Calibration.from_dict(values)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _log.warning("%s: no usable calibration (%r); calibrate again", path, error)
        return None
