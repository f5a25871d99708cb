"""What a join will do: in words, as JSON and as a drawing, before it runs; knows no Spark.

Read `plans` (what is explained), `explanation` (what is asked and what comes back, with the reading
order of the rest) and `drawing/` (cards as lines of text and as SVG).
"""
