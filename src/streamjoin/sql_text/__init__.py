"""Reads SQL: conditions of joins, whole queries, and files of statements.

Only this package loads sqlglot; `joins.where` imports it when needed. sqlglot only reads: text that
goes on to Spark is the user's own, so that Spark decides what it means.

Reading order: `words` (the text, its words and parts), `columns` (what names mean). Conditions:
`literals`, `translate` (a condition as expressions, part for part). Queries: `clauses` (what
standard SQL does not have), `query` (the whole), `query_columns` (what is selected, where each
condition is evaluated), `query_plan` (what becomes of the whole), `query_script` (files of several
statements).
"""
