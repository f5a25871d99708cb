"""The live page: what queries do, from the records beside their checkpoints.

Reading order: `points` (what a batch is to a chart), `history` (what is kept, and what the page is
told of it), `feed` (what is new in a file, and news for the queries that somebody looks at),
`store` (which queries there are), `server` (how it is asked for). None of it knows
Spark, and it needs nothing but the standard library. The page itself is built from the folder
``page`` into ``static``.
"""

from streamjoin.dashboard.server import Dashboard, start_dashboard

__all__ = ["Dashboard", "start_dashboard"]
