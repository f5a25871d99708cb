"""Joins: settings (values), logic (what happens to a batch) and state (what is remembered) apart.

Read `base.py` (the contract), `packed.py`, `packing.py` and `routing.py` (from map tasks to
shards); then one of the rooms: `window/` (two streams), `multi/` (many), `table/` (a stream and a
table), each of which begins with `arguments.py` (the user's words into settings).
"""
