"""What is left out when a limit is reached, and what that costs.

Read `regulation.py` (how many tuples are let in and how much is remembered: plans, nothing is
applied here), `selection.py` (which tuples), `selective.py` and `productivity.py` (which parts of
the windows are probed), `gate.py` (which part of the rows is packed at all), `recall.py` (what was
missed, and how sure that is).
"""
