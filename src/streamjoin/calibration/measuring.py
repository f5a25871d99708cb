"""All measurements of a calibration, one after the other."""

from collections.abc import Callable

from streamjoin.calibration import judging, micro_batch, tuplewise
from streamjoin.calibration.result import Calibration


def measure(quick: bool, progress: Callable[[str], None]) -> Calibration:
    """Measure this machine; takes under a minute, `quick` a few seconds.

    Other work on the machine makes it less exact: each timing is the best of several.

    Parameters
    ----------
    quick
        Fewer sizes and fewer repetitions.
    progress
        Is told in a few words what is measured next.
    """
    progress("tuple at a time: cost of an access in a list and in a hash table")
    nested, hashed = tuplewise.direct("list", quick), tuplewise.direct("hash", quick)
    progress("tuple at a time: predicted against measured")
    tuple_fit = tuplewise.validate(nested, hashed, quick)
    progress("tuple at a time: where hash table and list cost the same")
    crossovers, ratios = tuplewise.crossovers(nested, hashed, quick)
    progress("micro-batches: cost of the operations of nested, hash and batch")
    operations = micro_batch.measure_operations(quick)
    progress("micro-batches: predicted against measured, and where the methods cost the same")
    judgement = judging.judge(operations, quick)
    return Calibration(
        operations=operations,
        nested=nested,
        hashed=hashed,
        ratios=tuple(ratios),
        tuple_fit=tuple_fit,
        batch_fit=judgement.fit,
        batch_loss=judgement.loss,
        crossovers=(*crossovers, *judgement.crossovers),
    )
