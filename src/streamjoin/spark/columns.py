"""Columns of DataFrames by name."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def named(name: str) -> Column:
    """A column by its exact name.

    Examples
    --------
    >>> _ = getfixture("spark")
    >>> named("a.b")
    Column<'`a.b`'>
    """
    return F.col("`" + name.replace("`", "``") + "`")
