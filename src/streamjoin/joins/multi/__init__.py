"""Joins of many streams: a plan of half-way joins (JAQ-A1, JAQ-A8), or one n-ary join (VAL-A1).

Reading order: `arguments`, `keys` and `operators` (the user's words into settings), `settings`
(what is joined), `tuples` (partial results as intervals of time), `logic` (what happens to a
batch), `halfway` (how tuples find others, and who meets whom in a tree), `nary` (who drives in an
n-ary join), `states` (what is remembered), `rows` (partial results back to rows), `regulator`
(which tuples probe, where CPU is limited), `reordering` (plan and strategy change while it runs),
`shard` (an operator in one shard).
"""
