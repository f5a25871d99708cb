"""Tables 4 and 5 as printed, by policy: 0.1M and 1M for each data set, I to VI."""

from collections.abc import Mapping
from typing import Final

from papers.valsomatzis.nary_streams import DATA_SETS, DataSet
from streamjoin.planning.many.nary import Order

Period = str
Cases = Mapping[tuple[DataSet, Period], float]

PERIODS: Final[dict[Period, int]] = {"0.1M": 100_000, "1M": 1_000_000}
"""Time units of a batch (VAL-A12)."""
TIMESTAMP: Final[Order] = "timestamp"
PROPOSED: Final[tuple[Order, ...]] = ("consumption-rate", "initial-output-size", "output-rate")
EARLY: Final[tuple[Order, ...]] = ("initial-output-size", "output-rate")


def _table(*rows: tuple[float, float], sets: tuple[DataSet, ...] = DATA_SETS) -> Cases:
    return {
        (name, period): value
        for name, row in zip(sets, rows, strict=True)
        for period, value in zip(PERIODS, row, strict=True)
    }


TIMES: Final[dict[Order, Cases]] = {
    "round-robin": _table(
        (0.985, 1.012), (1.002, 1.002), (1.003, 1.014), (0.966, 0.997), (0.948, 0.927),
        (1.128, 0.926),
    ),
    "consumption-rate": _table((0.863, 0.808), (0.785, 0.728), sets=("V", "VI")),
    "initial-output-size": _table(
        (0.854, 0.791), (0.859, 0.773), (0.871, 0.811), (0.744, 0.801), (0.882, 0.5),
        (0.785, 0.611),
    ),
    "output-rate": _table(
        (0.903, 0.769), (0.840, 0.777), (0.884, 0.815), (0.755, 0.789), (0.906, 0.851),
        (0.956, 0.819),
    ),
}  # fmt: skip
"""Running time over that of timestamp order (VAL-C1)."""

HALVES: Final[dict[Order, Cases]] = {
    "round-robin": _table(
        (0.5, 0.4), (0.45, 0.4), (0.5, 0.45), (0.55, 0.5), (0.85, 0.9), (0.65, 0.55)
    ),
    "timestamp": _table(
        (0.45, 0.45), (0.5, 0.45), (0.5, 0.45), (0.5, 0.45), (0.5, 0.45), (0.5, 0.45)
    ),
    "consumption-rate": _table((0.1, 0.05), (0.4, 0.35), sets=("V", "VI")),
    "initial-output-size": _table(
        (0.85, 0.85), (0.85, 0.85), (0.8, 0.8), (0.65, 0.6), (0.95, 1.0), (0.8, 0.95)
    ),
    "output-rate": _table(
        (0.85, 0.85), (0.85, 0.85), (0.8, 0.8), (0.6, 0.6), (0.9, 0.95), (0.7, 0.7)
    ),
}
"""Share of a batch's results by half of the time of timestamp order (VAL-C2)."""


def average(table: Cases, period: Period) -> float:
    """Mean over the data sets of a column.

    Examples
    --------
    >>> round(average(TIMES["initial-output-size"], "0.1M"), 4)
    0.8325
    """
    column = [value for (_, each), value in table.items() if each == period]
    return sum(column) / len(column)
