"""Nested loops over rows."""
from streamjoin.core.index import HashIndex as ListIndex
__all__ = ["ListIndex"]
