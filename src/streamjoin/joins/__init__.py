"""Joins: settings (values), logic (what happens to a batch) and state (what is remembered) apart.

Read `base.py` (the contract), `packed.py`, `packing.py` and `routing.py` (from map tasks to shards)
and `channel.py` with `folders.py` (from shards to later batches); then one of the rooms: `window/`
(two streams), `multi/` (many), `table/` (a stream and a table), each of which begins with its
arguments (the user's words into settings). `columns.py` and `where.py` are what arguments share,
`progress.py` (watermarks, late rows) and `ages.py` (of results) what logic shares. `plans.py` has
joins as they will run; to explain one is to fill a `report.py`.
"""
