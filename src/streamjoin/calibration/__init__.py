"""What our kernels cost on this machine: measured once, stored, used by later plans.

Read `store.py` (what is found and where it is kept), which joins load; then `measuring.py` (all of
a calibration), which they do not, `many_streams.py` (what tuples of several streams cost) and
`fitting.py` (timing and least squares).
"""

from streamjoin.calibration.store import Calibration, Crossover, load, save, stored_at

__all__ = ["Calibration", "Crossover", "load", "save", "stored_at"]
