"""Joins of a stream with a table that memory does not hold (Naeem et al. 2017).

Read `settings.py` (what is joined), `rows.py` (rows in stored form, and results), `logic.py` (what
happens to a batch), `state.py` (what is remembered), `front_stage.py` (the cache of frequent table
rows), `back_ends.py` and `mesh.py` (how the others are answered), `waiting.py` (rows that are left
for later) and `shard.py` (which rows go to which shard, and one shard).
"""
