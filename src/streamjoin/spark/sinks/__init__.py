"""Where results go for which Spark has no sink that writes each of them once.

Read `postgres.py` (what happens to a batch, how values are stored), `staging.py` (how tasks write
their rows, how the database is spoken to), `target.py` (the table that the rows end up in, and what
is remembered of its batches).
"""
