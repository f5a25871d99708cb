"""Joins: settings (values), logic (what happens to a batch) and state (what is remembered) apart.

Read `arguments.py` (the user's words into settings), `window_join.py` (settings and state),
`logic.py` (what happens to a batch), `methods.py` and `matching.py` (who meets whom), `limits.py`
(what a budget allows), `selective.py` (windows that are probed in part); `multi/` has joins of many
streams. Four operators that work a tuple at a time are for experiments: `moving_window.py` (Kang
2003), `selective_window.py` (Gedik 2005), `plan_window.py` (Mukherji 2011) and `nary_window.py`
(Valsomatzis 2013), with modules of their own names.
"""
