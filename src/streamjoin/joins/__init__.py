"""Joins: settings (values), logic (what happens to a batch) and state (what is remembered) apart.

Read `arguments.py` (the user's words into settings), then `window_join.py`.
"""
