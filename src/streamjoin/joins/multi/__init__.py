"""Joins of many streams, by a plan of half-way joins (JAQ-A1, JAQ-A8, JAQ-A10).

Reading order: `settings` (what is joined), `tuples` (partial results as intervals of time),
`logic` (what happens to a batch), `halfway` (who meets whom), `states` (what is remembered), `rows`
(partial results back to rows), `limits` (which tuples probe, where CPU is limited), `reordering`
(the plan changes while it runs).
"""
