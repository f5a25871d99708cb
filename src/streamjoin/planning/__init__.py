"""What a join costs, and how to divide too little of something: pure functions (Kang 2003).

Read `cost_model` (what a unit of time costs), then `demand` (what two streams ask for and what
they get), `split` (a division by its name) with `rate_split`, `memory_split` and `joint_split`
(limited CPU, limited memory, both), `algorithm_choice` (how a micro-batch is matched), and
`selective` (which parts of the windows to probe, Gedik 2005).
"""
