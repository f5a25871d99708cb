"""What a query selects: expressions over the join's result, stars written out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from streamjoin._names import quoted
from streamjoin.errors import DataError
from streamjoin.sql_text.query import Part
from streamjoin.sql_text.query_columns import Column, Scope
from streamjoin.sql_text.query_text import allowed


@dataclass(frozen=True)
class Output:
    """One column of the result: its SQL over structs that are called as the streams are."""

    sql: str
    start: int
    name: str | None
    columns: tuple[Column, ...]


def outputs(items: Sequence[Part], scope: Scope) -> tuple[Output, ...]:
    """The columns of the result, in order.

    A column that a star brings and whose name comes twice gets its stream's name in front.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from streamjoin.sql_text.query import parse_query
    >>> query = parse_query("SELECT *, b.x + 1 AS y FROM a, b WINDOW 1 DAY")
    >>> one, two = pa.schema({"k": "int64"}), pa.schema({"k": "int64", "x": "int64"})
    >>> for output in outputs(query.items, Scope(query.text, {"a": one, "b": two}, {})):
    ...     print(output.sql)
    a.k AS a_k
    b.k AS b_k
    b.x AS x
    b.x + 1 AS y
    """
    starred = [column for item in items for column in _starred(item, scope)]
    times = Counter(scope.naming.fold(column) for _, column in starred)
    found: list[Output] = []
    earlier: list[str] = []
    for item in items:
        star = list(_starred(item, scope))
        found += [_column(item, column, times, scope) for column in star]
        if not star:
            found.append(_expression(item, replace(scope, earlier=earlier)))
            earlier += [item.meaning.alias] if isinstance(item.meaning, exp.Alias) else []
    _refuse_twice(found, scope)
    return tuple(found)


def _starred(item: Part, scope: Scope) -> Iterator[Column]:
    """The columns that a star stands for; none if the item is no star."""
    star = item.meaning
    table = star.table if isinstance(star, exp.Column) else ""
    star = star.this if isinstance(star, exp.Column) else star
    if not isinstance(star, exp.Star):
        return
    if any(star.args.values()):
        what = f"{item.text}: a star with more; allowed: *, a.*, or the columns one by one"
        raise scope.text.error(item.start, what)
    aliases = [alias for alias in scope.schemas if not table or scope.naming.same(alias, table)]
    if not aliases:
        what = f"unknown stream {table!r}; {allowed(list(scope.schemas), table)}"
        raise scope.text.error(item.start, what)
    seen: set[str] = set()
    for alias in aliases:
        for name in scope.schemas[alias].names:
            holders = () if table else scope.holders(name)
            folded = scope.naming.fold(name)
            if alias not in holders or folded not in seen:
                yield alias, name
            seen |= {folded} if alias in holders else set()


def _column(item: Part, column: Column, times: Counter[str], scope: Scope) -> Output:
    alias, name = column
    if "${" in name:
        what = (
            f"{item.text} brings the column {name!r}, which Spark's SQL takes for a variable; "
            "allowed: other names (rename it), or the columns one by one"
        )
        raise scope.text.error(item.start, what, DataError)
    title = f"{alias}_{name}" if times[scope.naming.fold(name)] > 1 else name
    holders = [a for a in scope.holders(name) if a in scope.schemas]
    is_star = isinstance(item.meaning, exp.Star)
    chosen = scope.with_the_value(holders) if is_star and alias in holders else (alias,)
    values = [f"{quoted(a)}.{quoted(name)}" for a in chosen]
    value = values[0] if len(values) == 1 else f"coalesce({', '.join(values)})"
    columns = tuple((a, scope.field(a, name)) for a in chosen)
    return Output(f"{value} AS {quoted(title)}", item.start, title, columns)


def _expression(item: Part, scope: Scope) -> Output:
    names = scope.names(item)
    sql = scope.rewritten(item, {alias: quoted(alias) for alias in scope.schemas})
    title = item.meaning.alias_or_name or None
    if isinstance(item.meaning, exp.Column) and len(names[0].aliases) > 1:
        sql = f"{sql} AS {quoted(names[0].column)}"
    columns = tuple((alias, name.column) for name in names for alias in name.aliases)
    return Output(sql, item.start, title, columns)


def _refuse_twice(found: Sequence[Output], scope: Scope) -> None:
    seen: set[str] = set()
    for output in found:
        name = None if output.name is None else scope.naming.fold(output.name)
        if name is not None and name in seen:
            what = (
                f"two columns of the result are called {output.name!r}; "
                f"allowed: names of their own, such as {output.sql.partition(' AS ')[0]} AS other"
            )
            raise scope.text.error(output.start, what, DataError)
        seen |= {name} if name is not None else set()
