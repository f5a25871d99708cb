"""Where results go for which Spark has no sink that writes each of them once.

Read `postgres.py` (what happens to a batch, how values are stored) and `tables.py` (how tasks write
their rows, in which table these end up, and how the database is spoken to).
"""
