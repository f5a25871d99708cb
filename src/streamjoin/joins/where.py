"""The `where` argument: SQL text in; keys, a predicate and what an index can use out."""

from dataclasses import dataclass

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin.core.predicate import Band, Expression, SetCondition
from streamjoin.core.predicate.bands import find_band
from streamjoin.core.predicate.build import all_of
from streamjoin.core.predicate.expressions import Literal
from streamjoin.core.predicate.sets import find_sets
from streamjoin.errors import ConfigError


@dataclass(frozen=True)
class Where:
    """What is understood of a condition, and the rest.

    A pair of rows matches iff its `equalities` hold, its `predicate` is true, and so is all of the
    `rest`.

    Parameters
    ----------
    equalities
        Positions of a left and a right column that must be equal and can be keys.
    predicate
        The other conditions that are understood; None if there are none.
    band, sets
        What of the predicate an index can use: one of them, or neither.
    rest
        Conditions that only Spark can evaluate, over structs that are called left and right.
    text
        The condition as it came.
    """

    equalities: tuple[tuple[int, int], ...]
    predicate: Expression | None
    band: Band | None
    rest: tuple[str, ...]
    text: str
    sets: SetCondition | None = None

    @property
    def indexed(self) -> str | None:
        """What of the predicate an index can use, in words."""
        if self.sets is not None:
            return "sets"
        return None if self.band is None else "a band"


def parse_where(
    text: str,
    schemas: tuple[pa.Schema, pa.Schema],
    time_zone: str | None = None,
    naming: Naming = ANY_CASE,
) -> Where:
    """Take a condition apart, or say what is wrong with it.

    Parameters
    ----------
    text
        A condition of Spark SQL. Columns are ``left.x`` and ``right.y``, or ``x`` if only one side
        has it; a name that is no plain word stands in backquotes, as in ``left.`my.col` ``.
    schemas
        Of the left and the right stream.
    time_zone
        For ``TIMESTAMP`` literals that name none; without it they are left to Spark.
    naming
        Which names are one.

    Examples
    --------
    >>> schema = pa.schema({"k": pa.string(), "x": pa.int64()})
    >>> text = "left.k = right.k AND abs(left.x - right.x) <= 5 AND left.k LIKE 'a%'"
    >>> where = parse_where(text, (schema, schema))
    >>> where.equalities, where.predicate.describe()
    (((0, 0),), 'abs(left.x - right.x) <= 5')
    >>> where.band
    Band(left=1, right=1, width=5, beyond_finite=False)
    >>> where.rest
    ("left.k LIKE 'a%'",)
    """
    from streamjoin.sql_text.columns import Sides  # these load sqlglot, which few joins need
    from streamjoin.sql_text.translate import conjuncts

    if not isinstance(text, str) or not text.strip():
        raise ConfigError.at("where", repr(text), "a SQL condition such as 'left.x < right.y'")
    left, right = schemas
    sides = Sides(schemas={"left": left, "right": right}, naming=naming)
    parts = conjuncts(text, sides, time_zone)
    understood = [part for part in parts if isinstance(part, Expression)]
    band, conditions = find_band(understood)
    sets = find_sets(conditions)
    predicate = all_of(conditions) if conditions else None
    is_true = isinstance(predicate, Literal) and predicate.value is True
    return Where(
        equalities=tuple(dict.fromkeys(part for part in parts if isinstance(part, tuple))),
        predicate=None if is_true else predicate,
        band=band if sets is None else None,  # sets cost more to compare than numbers
        rest=tuple(part for part in parts if isinstance(part, str)),
        text=text,
        sets=sets,
    )
