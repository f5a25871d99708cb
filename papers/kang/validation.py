"""How well the cost models predict the kernels of this machine."""

from papers.base import Context, Numbers
from papers.kang import tuplewise
from streamjoin.calibration.measuring import METHODS, judge, measure_operations


def validation(context: Context) -> Numbers:
    """Predicted against measured CPU time: the paper's operator, and the three methods of a batch.

    Costs are fitted to other settings than those that are predicted.
    """
    context.progress("the paper's operator")
    nested, hashed = (tuplewise.direct(s, context.quick) for s in ("list", "hash"))
    tuple_fit = tuplewise.validate(nested, hashed, context.quick)
    context.progress("methods of a micro-batch")
    found, timed = judge(measure_operations(context.quick), context.quick)
    return {
        "tuple_fit": tuple_fit,
        "batch_fit": found.batch_fit,
        "loss": found.batch_loss,
        "points": {
            method: [(t.predicted, t.measured) for t in timed if t.case.method == method]
            for method in METHODS
        },
    }
