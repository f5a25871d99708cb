"""The only part that knows Spark.

Read `frames.py` (what users call), `pack.py` (rows to blobs before the shuffle), `processor.py`
(one join per shard), `store.py` (basic windows in Spark's state), `rows.py` (results and counters
out), `requirements.py` (what a session must offer), `plans.py` and `explain.py` (which joins a
DataFrame has, and what they will do).
"""
