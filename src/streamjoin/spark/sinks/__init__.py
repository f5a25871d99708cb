"""Where results go for which Spark has no sink that writes each of them once.

Read `postgres.py` (what happens to a batch), `staging.py` (how tasks write their rows), `target.py`
(the table that the rows end up in, and what is remembered of its batches), `server.py` (how the
database is spoken to), `values.py` (how values are stored).
"""
