"""Many streams (Mukherji 2011, Valsomatzis 2013).

Read `tree` (plans), `plan_model` (their numbers, what they yield, what a planner decides), `cover`
(what keeps results fresh), `jaqpot` (JAQPOT, GrePP, heuristics and the linear programme),
`timed_plan` (states that follow what is formed) and `planners` (all by name; when to plan anew).

One n-ary join: read `nary` (sizes of joins, probing sequences, which stream drives), `nary_cost`
(what a batch costs in an n-ary join and in a tree) and `strategy` (the order, the tree and the
strategy that cost least).
"""
