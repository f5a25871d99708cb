"""Claims of several parts, and what judges look up in comparisons."""

from collections.abc import Iterable, Mapping

import numpy as np

from papers.base import AllNumbers
from papers.valsomatzis.comparison import GRID, Compared, Span
from papers.valsomatzis.nary_streams import DATA_SETS, DataSet
from papers.valsomatzis.printed import PERIODS, Period
from streamjoin.planning.many.nary import Order

ByOrder = Mapping[Order, Compared]


def of(numbers: AllNumbers, data_set: DataSet, period: Period) -> ByOrder:
    """All orders in a case."""
    found: ByOrder = numbers["policies"]["compared"][data_set, period]
    return found


def cases(
    numbers: AllNumbers, order: Order, sets: Iterable[DataSet] = DATA_SETS
) -> dict[tuple[DataSet, Period], Compared]:
    """An order in all cases of some data sets where it was run."""
    return {
        (name, period): of(numbers, name, period)[order]
        for name in sets
        for period in PERIODS
        if order in of(numbers, name, period)
    }


def sentence(parts: Mapping[str, bool]) -> str:
    """Which parts of a claim hold.

    Examples
    --------
    >>> sentence({"it is faster": True, "by half": False})
    'Holds: it is faster. Does not: by half.'
    """
    kept = "; ".join(part for part, holds in parts.items() if holds)
    broken = "; ".join(part for part, holds in parts.items() if not holds)
    return " ".join(
        [*([f"Holds: {kept}."] if kept else []), *([f"Does not: {broken}."] if broken else [])]
    )


def mean(values: Iterable[float]) -> float:
    """The mean.

    Examples
    --------
    >>> mean([1.0, 2.0])
    1.5
    """
    every = list(values)
    return sum(every) / len(every)


def by(found: Compared, time: float, span: Span = "all") -> float:
    """Share of the results by a normalised time."""
    return float(np.interp(time, GRID, found.curve[span]))


def when(found: Compared, share: float, span: Span = "all") -> float:
    """Normalised time when a share of the results has come; beyond the grid its end.

    The curve rises, but for what rounding does.
    """
    curve = np.maximum.accumulate(found.curve[span])
    return float(np.interp(share, curve, GRID))
