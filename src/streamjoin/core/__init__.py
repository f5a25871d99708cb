"""The engine-free core: NumPy, Arrow and Numba; no Spark, no files, no wall clock.

Read `stream.py` (what is known of one input, and the total order), `batch.py` (the rows of one
arrival), `keys.py` (one 64-bit key per row, and the check that equal hashes are equal keys),
`window.py` (basic windows, the directory of them, and the windows as one axis in small steps),
`index.py` (who meets whom), `sets.py` (whose sets have items in common), `predicate/` (conditions
on pairs), `sealed.py` (bytes that are checked) and `kernels/` (the loops).
"""
