"""The loops, compiled by Numba: arrays in, positions out; no checks, no messages, no objects.

Read `_jit.py` (how they are compiled), `hashing.py` (one 64-bit key per row), `equi.py` (rows
grouped by key) and `equi_probe.py` (rows streamed past such groups, or past a list), `sets.py` and
`inverted.py` (the same for sets), `counting.py` (what is only counted) and `sorted_keys.py` (search
in a file's keys).
"""
