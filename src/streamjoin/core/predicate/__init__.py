"""Conditions on pairs of rows, as Spark SQL defines them and evaluated on Arrow columns.

An expression is a value: it can be compared, hashed, pickled and shown, and it knows no engine and
no SQL parser. `build` makes expressions and knows Spark's types (ANSI mode), `values` holds the
arithmetic, `bands` and `sets` find what an index can use.
"""

from streamjoin.core.predicate.bands import Band
from streamjoin.core.predicate.expressions import Expression, Fetch, mask
from streamjoin.core.predicate.sets import SetCondition

__all__ = ["Band", "Expression", "Fetch", "SetCondition", "mask"]
