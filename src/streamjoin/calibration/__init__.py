"""What our kernels cost on this machine: measured once, stored, used by later plans.

Read `result.py` (what is found) and `store.py` (where it is kept), which joins load; then
`measuring.py` (all of a calibration), which they do not: `kernels.py` (the work of the three
methods of a micro-batch), `micro_batch.py` (what their operations cost), `many_streams.py` (the
same of tuples of several streams), `judging.py` (how well that predicts) and `fitting.py` (timing
and least squares).
"""

from streamjoin.calibration.result import Calibration, Crossover
from streamjoin.calibration.store import load, save, stored_at

__all__ = ["Calibration", "Crossover", "load", "save", "stored_at"]
