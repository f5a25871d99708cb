"""What joins cost, and how to divide too little of something: pure functions.

Two streams (Kang 2003): read `cost_model` (what a unit of time costs), then `demand` (what two
streams ask for and what they get), `split` (a division by its name) with `rate_split`,
`memory_split` and `joint_split` (limited CPU, limited memory, both), `algorithm_choice` (how a
micro-batch is matched), and `selective` (which parts of the windows to probe, Gedik 2005).

Many streams (Mukherji 2011): read `tree` (plans), `plan_model` (their numbers, what they yield),
`path_productivity`, `allocation` (what a planner decides), `knapsack` and `heuristics`; then
`cover` and `refresh` (what keeps results fresh), `jaqpot`, `exact` (the linear programme),
`timed_plan` (states that follow what is formed) and `planners` (all by name); at last `adaptation`
and `analysis` (when to think again), and `join_order` (which streams come first).

One n-ary join (Valsomatzis 2013): read `drivers` (which stream drives), `nary` (sizes of joins and
probing sequences), `nary_cost` (half-way joins), `nary_drains` and `nary_tree` (what a batch costs
in an n-ary join and in a tree) and `nary_choice` (the order and the strategy that cost least).
"""
