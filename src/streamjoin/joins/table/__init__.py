"""Joins of a stream with a table that memory does not hold (Naeem et al. 2017).

Read `settings.py` (what is joined), `arrivals.py` (rows in stored form), `logic.py` (what happens
to a batch), `front_stage.py` (the cache of frequent table rows), `back_ends.py`, `hybrid.py` and
`mesh.py` (how the others are answered), `waiting.py` and `spill.py` (rows that are left for later),
`answers.py` (from positions to results), `shaping.py` (which rows go to which shard) and `shard.py`
(one shard).
"""
