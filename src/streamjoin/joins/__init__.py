"""Joins: settings (values), logic (what happens to a batch) and state (what is remembered) apart.

Read `arguments.py` (the user's words into settings), `window_join.py` (settings and state),
`logic.py` (what happens to a batch), `methods.py` and `matching.py` (who meets whom), `limits.py`
(what a budget allows), `selective.py` (windows that are probed in part), `report.py` (what a join
says of itself before it runs); `multi/` has joins of many streams, `table/` joins with a table.
"""
