"""What is left out when a limit is reached, and what that costs.

A policy plans and changes nothing: ``plan(statistics, budget)`` returns values. The regulators
(`joins/window/regulator.py`, `joins/multi/regulator.py`) gather the statistics, do what is planned,
and let the state keep what later batches go by.

Read `limits` (from a user's budget to the limits of a shard, and which part of the rows is packed
at all), `rows` (how many are let in, and which), `comparisons` with `fractions` (which parts of the
windows are probed), `memory` (what is remembered), `plans` (which tuples probe in a plan of many
joins), `costs` (CPU time of operations, and rates) and `recall` (what was missed, and how surely).
"""
