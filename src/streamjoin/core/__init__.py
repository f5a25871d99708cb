"""The engine-free core: NumPy, Arrow and Numba; no Spark, no files, no wall clock.

Read `stream.py` (what is known of one input), `batch.py` (the rows of one arrival), `keys.py`
(one 64-bit key per row, and the check that equal hashes are equal keys), `order.py` (the total
order), `window.py` (basic windows and the directory of them), `index.py` (who meets whom),
`sets.py` and `inverted_index.py` (whose sets have items in common), `cells.py` (the windows as one
axis in small steps), and `kernels/` (the loops).
"""
