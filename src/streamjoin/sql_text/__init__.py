"""Reads SQL conditions. Only this package loads sqlglot; `joins.where` imports it when needed.

sqlglot only reads: text that goes on to Spark is the user's own, so that Spark decides what it
means.
"""
