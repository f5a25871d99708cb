"""What our kernels cost on this machine: measured once, stored, used by later plans.

Read `result.py` (what is found), `tuplewise.py` (the paper's C_n and C_h), `kernels.py` (the work
of the three methods of a micro-batch), `micro_batch.py` (what their operations cost),
`many_streams.py` (the same of tuples of several streams), `judging.py` (how well that predicts),
`fitting.py` (timing and least squares) and `store.py` (where it is kept).
"""

from streamjoin.calibration.measuring import measure
from streamjoin.calibration.result import Calibration, Crossover, TupleCosts
from streamjoin.calibration.store import load, save, stored_at

__all__ = ["Calibration", "Crossover", "TupleCosts", "load", "measure", "save", "stored_at"]
