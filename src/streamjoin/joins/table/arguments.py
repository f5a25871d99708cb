"""The user's arguments, checked against the stream's schema and the table's."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, get_args

import pyarrow as pa

from streamjoin._names import ANY_CASE, Naming
from streamjoin.budget import Budget
from streamjoin.core.keys import can_be_key, comparable
from streamjoin.durations import Duration
from streamjoin.errors import ConfigError, DataError
from streamjoin.joins.base import OutputColumn
from streamjoin.joins.columns import kind_name, nullable, position_of, refuse_duplicates
from streamjoin.joins.table.settings import STREAM, TABLE, Algorithm, How, Shed, TableJoin
from streamjoin.joins.window.arguments import not_negative, one_of
from streamjoin.tables.base import Table
from streamjoin.windows import Rows

ALGORITHMS: Final[tuple[Algorithm, ...]] = get_args(Algorithm)
HOWS: Final[tuple[How, ...]] = get_args(How)
SHEDS: Final[tuple[Shed, ...]] = get_args(Shed)
NAMES: Final = ("auto", *(f"{c}{name}" for name in ALGORITHMS[1:] for c in ("", "c")))
MEMORY: Final = "256 MB"
ON: Final = 'a column such as "id", several, or stream columns with those of the table'
OnTable = str | Sequence[str] | Mapping[str, str]


def resolve_table_join(
    stream: pa.Schema,
    table: Table,
    *,
    on: OnTable,
    how: str = "inner",
    columns: Sequence[str] | Mapping[str, str] | None = None,
    algorithm: str = "auto",
    budget: Budget | None = None,
    shed: str = "considering",
    front_share: float | None = None,
    max_wait: Duration | None = None,
    naming: Naming = ANY_CASE,
) -> TableJoin:
    """Settings of a join with a table, or an error that names the argument."""
    refuse_duplicates(stream.names, "stream", naming)
    stream = nullable(stream)
    keys = _keys(on, stream, table, naming)
    wanted = _columns(columns, table, naming)
    needed = [name for name in table.schema.names if name in {*table.key, *wanted}]
    schema = nullable(pa.schema([table.schema.field(name) for name in needed]))
    kind = one_of(how, "how", HOWS)
    algorithm = one_of(algorithm, "algorithm", NAMES)
    shedding = one_of(shed, "shed", SHEDS)
    is_number = isinstance(front_share, int | float) and not isinstance(front_share, bool)
    if front_share is not None and not (is_number and 0 <= front_share < 1):
        raise ConfigError.at(
            "front_share", repr(front_share), "a part of the memory, 0 to 1, or None"
        )
    budget = _checked(budget)
    limit = budget.memory_limit
    assert limit is not None
    return TableJoin(
        stream=stream,
        table=schema,
        keys=(tuple(keys), tuple(schema.get_field_index(name) for name in table.key)),
        output=_output(stream, schema, wanted, naming),
        how=kind,
        algorithm=next(name for name in ALGORITHMS if algorithm.endswith(name)),
        memory=int(limit),
        is_cached=algorithm == "auto" or algorithm not in ALGORITHMS,
        front_share=None if front_share is None else float(front_share),
        wait_us=None if max_wait is None else not_negative(max_wait, "max_wait"),
        unique=table.is_unique,
        shed=shedding,
        work_share=budget.cpu_share,
        work_us=budget.cpu_us_per_batch,
    )


def _keys(on: OnTable, stream: pa.Schema, table: Table, naming: Naming) -> list[int]:
    """Positions of the stream's columns that must equal the table's key, in its order."""
    if isinstance(on, Mapping):
        by_table = {theirs: mine for mine, theirs in on.items()}
        if set(by_table) != set(table.key):
            raise ConfigError.at(
                "on", repr(dict(on)), f"a column for each of {', '.join(table.key)}"
            )
        names = [by_table[name] for name in table.key]
    else:
        names = [on] if isinstance(on, str) else list(on) if isinstance(on, list | tuple) else []
        if len(names) != len(table.key) or not all(isinstance(name, str) for name in names):
            raise ConfigError.at("on", f"{on!r} for the table's key {', '.join(table.key)}", ON)
    found = []
    for name, theirs in zip(names, table.key, strict=True):
        position = position_of(stream, name, "the stream", "on", naming)
        column = stream.names[position]
        mine, other = stream.types[position], table.schema.field(theirs).type
        if not can_be_key(mine) or not comparable(mine, other):
            raise DataError(
                f"on: the stream's {column} is {kind_name(mine)} and the table's {theirs} is "
                f"{kind_name(other)}; allowed: equal types (cast one of them)"
            )
        found.append(position)
    return found


def _columns(
    columns: Sequence[str] | Mapping[str, str] | None, table: Table, naming: Naming
) -> dict[str, str]:
    """The table's columns that come out, and what they are called."""
    if columns is None:
        return {name: name for name in table.schema.names if name not in table.key}
    if isinstance(columns, str) or not isinstance(columns, Sequence | Mapping):
        raise ConfigError.at("columns", repr(columns), 'names, or {"name": "customer_name"}')
    given = dict(columns) if isinstance(columns, Mapping) else {name: name for name in columns}
    names = table.schema.names
    return {
        names[position_of(table.schema, name, "the table", "columns", naming)]: str(called)
        for name, called in given.items()
    }


def _output(
    stream: pa.Schema, table: pa.Schema, wanted: Mapping[str, str], naming: Naming
) -> tuple[OutputColumn, ...]:
    found = [OutputColumn(STREAM, i, field.name, field.type) for i, field in enumerate(stream)] + [
        OutputColumn(TABLE, i, wanted[field.name], field.type)
        for i, field in enumerate(table)
        if field.name in wanted
    ]
    twice = naming.twice(column.name for column in found)
    if twice is not None:
        name = twice[1]
        raise DataError(
            f"columns: stream and table both have {name!r}; allowed: another name for the "
            f"table's, such as columns={{{name!r}: {'table_' + name!r}}}"
        )
    return tuple(found)


def _checked(budget: Budget | None) -> Budget:
    """The budget, with a limit on memory; or an error."""
    if budget is None:
        return Budget(memory=MEMORY)
    if not isinstance(budget, Budget):
        raise ConfigError.at("budget", repr(budget), f'a Budget such as Budget(memory="{MEMORY}")')
    if budget.rate is not None or isinstance(budget.memory, Rows):
        raise ConfigError(
            f"budget: got {budget.describe()}; allowed with a table: bytes of memory, and cpu"
        )
    return replace(budget, memory=budget.memory or MEMORY)
