"""Joins of two streams over windows.

Read `arguments.py` (what a user says), `settings.py` (what the join is), `shard.py` and `logic.py`
(what one shard does with a batch); then `remembered.py` and `matching.py` with `methods.py` and
`ordering.py` (how pairs are found), `spread_join.py` (hot keys), and `regulator.py` with `parts.py`
and `samples.py` (what is left out under a budget).
"""
