"""What a pair must fulfil, where that is evaluated, and how matches are found."""

from dataclasses import dataclass
from typing import Final

from streamjoin._typing import LEFT, RIGHT
from streamjoin.core.predicate import Band
from streamjoin.core.predicate.expressions import And, Compare, Expression
from streamjoin.joins.arguments import Resolved
from streamjoin.joins.window_join import WindowJoin

_PLACES: Final = {
    "key": "key",
    "index": "index of bands, then checked by the operator",
    "inverted_index": "inverted index of sets",
    "operator": "checked by the operator",
    "spark": "by Spark, after the join",
}


@dataclass(frozen=True)
class Conjunct:
    """One condition on pairs, and where: key, index, inverted_index, operator or spark."""

    text: str
    place: str

    @property
    def described(self) -> str:
        """The place in words."""
        return _PLACES[self.place]


def conditions(resolved: Resolved) -> tuple[Conjunct, ...]:
    """Every condition besides the windows, and where it is evaluated."""
    left, right = resolved.join.streams
    names = left.schema.names, right.schema.names
    keys = [
        Conjunct(f"left.{names[0][a]} = right.{names[1][b]}", "key")
        for a, b in zip(left.key, right.key, strict=True)
    ]
    rest = resolved.where.rest if resolved.where else ()
    return (*keys, *_checked(resolved.join), *(Conjunct(text, "spark") for text in rest))


def _checked(join: WindowJoin) -> list[Conjunct]:
    """What the operator evaluates; the index has found what fulfils the band already."""
    return [Conjunct(part.describe(), _place(part, join)) for part in _parts(join.predicate)]


def _place(part: Expression, join: WindowJoin) -> str:
    if join.sets is not None and part == join.sets.condition:
        return "inverted_index"
    return "index" if _is_banded(part, join.band) else "operator"


def _is_banded(part: Expression, band: Band | None) -> bool:
    """Whether a condition bounds the difference of the band's columns."""
    if band is None or (isinstance(part, Compare) and part.operation in ("<>", "<=>")):
        return False
    columns = {(column.side, column.position) for column in part.columns()}
    return columns == {(LEFT, band.left), (RIGHT, band.right)}


def _parts(predicate: Expression | None) -> tuple[Expression, ...]:
    if predicate is None:
        return ()
    return predicate.parts if isinstance(predicate, And) else (predicate,)


def index(resolved: Resolved) -> str:
    """How matches are found."""
    join = resolved.join
    if join.how == "asof":
        return f"of right rows, {_keyed(join)} in order of time"
    arrivals = "of the rows that arrive; what is remembered is streamed past it"
    if join.band is not None:
        also = f" {_keyed(join)} and" if join.left.key else ""
        return f"hash index{also} by buckets of about {join.band.width:g} {arrivals}"
    if join.sets is not None:
        also = f" {_keyed(join)} and" if join.left.key else ""
        return f"inverted index{also} by the items of sets {arrivals}"
    if join.left.key:
        return f"hash index {_keyed(join)} {arrivals}" if _is_batched(join) else _forced(join)
    return "none: every pair within the windows is looked at"


def _is_batched(join: WindowJoin) -> bool:
    """Whether the rows that arrive are, or may be, indexed to stream the others past them."""
    return not {"auto", "batch"}.isdisjoint(join.algorithm)


def _forced(join: WindowJoin) -> str:
    if "hash" in join.algorithm:
        return f"hash index {_keyed(join)} of basic windows; the rows that arrive probe it"
    return "none: the keys of all rows within the windows are compared"


def _keyed(join: WindowJoin) -> str:
    if not join.left.key:
        return "without a key,"
    exact = join.left.has_exact_key and join.right.has_exact_key
    return "by key" if exact else "by a hash of the key (then the keys are compared)"
