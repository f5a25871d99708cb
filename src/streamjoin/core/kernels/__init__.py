"""The loops, compiled by Numba: arrays in, positions out; no checks, no messages, no objects.

Read `_jit.py` (how they are compiled), `hashing.py` (one 64-bit key per row), `equi.py` (rows
grouped by key) and `equi_probe.py` (rows streamed past such groups), `sets.py` and `inverted.py`
(the same for sets), and `moving_window.py` (a whole run, tuple by tuple: what an access costs).
"""
