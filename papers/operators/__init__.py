"""Operators that follow a paper to the letter, a tuple at a time, for its experiments.

`selective_window` (Gedik 2005), `plan_window` (Mukherji 2011), `nary_window` (Valsomatzis 2013) and
`semi_stream` (Naeem 2017), each with its settings, memory and policies in modules that begin with
its name; Kang's is `papers.operators.moving_window`, since calibration measures it.
`kernels/` has their compiled loops.
"""
