"""Joins: settings (values), logic (what happens to a batch) and state (what is remembered) apart.

Read `arguments.py` (the user's words into settings), `window_join.py` (settings and state),
`logic.py` (what happens to a batch), `methods.py` and `matching.py` (who meets whom),
`regulator.py` (does what `shedding` plans), `window_parts.py` (windows that are probed in part),
`samples.py` (what is seen of what is left out); `base.py` (the contract), `packed.py`, `packing.py`
and `routing.py` (from map tasks to shards), `window_shard.py` (one shard); `multi/` has joins of
many streams, `table/` joins with a table.
"""
