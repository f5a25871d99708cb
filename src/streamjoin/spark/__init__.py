"""Joins on Spark DataFrames.

Read `frames.py` (what users call; also `multi_frames.py`, `table_frames.py` and `sql.py`), then
`operator.py` (what Spark runs of any join) with `rows.py` (in map tasks and after the state),
`processor.py` with `stateful.py` (in each shard) and `store.py` (its state). `columns.py` and
`plans.py` are about DataFrames; `session.py`, `requirements.py`, `worker.py` and `daemon.py` about
sessions and Python workers; `status.py`, `recording.py` and `explain.py` tell what happens;
`checkpoint.py` and `failures.py` what went wrong; `pipeline.py`, `generator.py`, `kafka.py` and
`sinks/` are what pipeline files need.
"""
