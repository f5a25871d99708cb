"""C_h / C_n of this machine by the paper's procedure (KAN-A13): where HJ and NLJ take as long."""

from statistics import median

from papers.base import Context, Numbers
from papers.kang import tuplewise
from papers.kang.cost_model import crossover_ratio
from papers.operators.moving_window import AccessCosts


def ratio(context: Context) -> Numbers:
    """The ratio directly and by crossovers, and the crossovers that it predicts (KAN-C6).

    Many more buckets than the paper's: with few of them nested loops win at every rate here.
    """
    context.progress("cost of an access in a list and in a hash table")
    nested, hashed = (tuplewise.direct(s, context.quick) for s in ("list", "hash"))
    context.progress("where hash table and list take as long")
    found, ratios = tuplewise.crossovers(nested, hashed, context.quick)
    k = median(each for _, each in ratios) if ratios else float("nan")
    return {
        "buckets": [crossover.size for crossover in found],
        "crossovers": [_number(crossover.measured) for crossover in found],
        "ratios": dict(ratios),
        "predicted": [float(crossover_ratio(c.size, AccessCosts(1.0, k))) for c in found],
        "predicted_linear": [_number(crossover.predicted) for crossover in found],
        "k": k,
        "direct": hashed.access / nested.access,
    }


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
