"""The only part that knows Spark.

Read `frames.py`, `multi_frames.py` and `table_frames.py` (what users call), `operator.py` (any join
as one operator), `pack.py` (rows to blobs before the shuffle), `stateful.py` and `processor.py` (a
shard, called once per batch), `store.py` (basic windows in Spark's state), `channel.py` (what
shards tell later batches), `rows.py` (results and counters out), `requirements.py` (what a session
must offer), `plans.py` and `explain.py` (which joins a DataFrame has, and what they will do).
"""
