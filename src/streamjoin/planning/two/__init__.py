"""Two streams (Kang 2003).

Read `split` (what is scarce, divided between them), then `algorithm_choice` (how a micro-batch is
matched).
"""
