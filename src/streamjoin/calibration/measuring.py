"""All measurements of a calibration, one after the other."""

from collections.abc import Callable

from streamjoin.calibration import judging, micro_batch
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
    progress("micro-batches: cost of the operations of nested, hash and batch")
    operations = micro_batch.measure_operations(quick)
    progress("micro-batches: predicted against measured, and where the methods cost the same")
    judgement = judging.judge(operations, quick)
    return Calibration(
        operations=operations,
        batch_fit=judgement.fit,
        batch_loss=judgement.loss,
        crossovers=tuple(judgement.crossovers),
    )
