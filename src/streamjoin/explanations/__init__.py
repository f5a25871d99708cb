"""What a join will do: in words, as JSON and as a drawing, before it runs. Knows no Spark.

Read `asked` (what is known of the streams of a join, which is one of `joins.plans`) and
`explanation` (reports as text, JSON and SVG; `drawing` draws). A report (`joins.report`) is made by
`window` (two streams), `many` (many streams) and `table` (a table), each of which says what to read
next; `explainer` and `wording` are what they share.
"""
