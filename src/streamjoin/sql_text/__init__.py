"""Reads SQL: conditions of joins, whole queries, and files of statements.

Only this package loads sqlglot; `joins.where` imports it when needed. sqlglot only reads: text that
goes on to Spark is the user's own, so that Spark decides what it means.

Reading order. Conditions: `columns` (what names mean), `literals`, `translate` (parsed SQL as
expressions), `conjuncts` (a condition taken apart at its ANDs). Queries: `query_text` (words and
places), `clauses` (what standard SQL does not have), `query` (the whole), `query_columns` (what
names mean, what is selected), `query_places` (where each condition is evaluated), `query_plan`
(what becomes of the whole), `query_script` (files of several statements).
"""
