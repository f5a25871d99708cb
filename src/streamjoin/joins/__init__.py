"""Joins: settings (values), logic (what happens to a batch) and state (what is remembered) apart.

Read `arguments.py` (the user's words into settings), `window_join.py` (settings and state),
`logic.py` (what happens to a batch), `methods.py` and `matching.py` (who meets whom), `limits.py`
(what a budget allows), `selective.py` (windows that are probed in part). Two operators that work a
tuple at a time are for experiments: `moving_window.py` (Kang 2003) and `selective_window.py` with
`selective_settings.py` (Gedik 2005).
"""
