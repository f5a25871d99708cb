"""What a scenario's results must be, from what was fed and how it was cut into batches."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from streamjoin import oracle
from streamjoin.local import LocalJoin, LocalMultiJoin
from tests.system.chaos.checkpoint import Cuts
from tests.system.chaos.rows import LATENESS, SCHEMA, SECOND, plain_rows
from tests.system.chaos.scenarios import TABLE_ROWS, WINDOW_SECONDS, Scenario

Found = Counter[tuple[tuple[str, Any], ...]]
"""Rows of a result with all their columns, and how often each is there."""
Fed = Mapping[str, Sequence[pa.Table]]
"""Tables of each stream by name; of a topic, a table for each message."""
WINDOW: int = WINDOW_SECONDS * SECOND


def counted(rows: Iterable[Mapping[str, Any]]) -> Found:
    """Count rows; columns may come in any order."""
    return Counter(tuple(sorted(row.items())) for row in rows)


def person(key: int | None) -> str | None:
    """What the table says of a key."""
    return None if key is None or not 0 <= key < TABLE_ROWS else f"person {key}"


def people() -> pa.Table:
    """The table of joins with a table."""
    keys = range(TABLE_ROWS)
    return pa.table({"x": pa.array(keys, pa.int64()), "name": [person(key) for key in keys]})


def exact(scenario: Scenario, fed: Fed, cuts: Cuts) -> Found:
    """Results of the oracle."""
    if scenario.kind == "table":
        return counted({**row, "name": person(row["x"])} for row in _rows(fed["l"]))
    if scenario.kind == "many":
        return counted(_many(scenario, {name: _rows(fed[name]) for name in fed}))
    batches = [tuple(_rows(taken[name]) for name in "lr") for taken in _taken(fed, cuts)]
    kept, _ = oracle.split_late(batches, time=("t", "t"), lateness=LATENESS)  # type: ignore[arg-type]
    return counted(_pairs(scenario, kept))


def replayed(scenario: Scenario, fed: Fed, cuts: Cuts) -> Found:
    """Results of the same batches in this process, without a fault."""
    join = LocalMultiJoin if scenario.kind == "many" else LocalJoin
    rows: list[dict[str, Any]] = []
    for _, results in _again(scenario, fed, cuts, join):
        rows += plain_rows(results)
    return counted(rows)


def comparisons(scenario: Scenario, fed: Fed, cuts: Cuts) -> dict[int, int]:
    """How many comparisons each batch has, made or not: they tell whether all rows are kept."""
    return {
        number: sum(
            getattr(join.metrics, f"{what}_{side}")
            for what in ("compared", "skipped")
            for side in ("left", "right")
        )
        for number, (join, _) in zip(
            sorted(cuts.batches), _again(scenario, fed, cuts, LocalJoin), strict=True
        )
    }


def of_kept(whole: Found, found: Found) -> Found:
    """Those of all pairs whose two rows were not dropped, as other pairs show."""
    seen = [{_side(row, suffix) for row in found} for suffix in ("_left", "_right")]
    return Counter(
        row for row in whole if _side(row, "_left") in seen[0] and _side(row, "_right") in seen[1]
    )


def _side(row: tuple[tuple[str, Any], ...], suffix: str) -> tuple[tuple[str, Any], ...]:
    return tuple(cell for cell in row if cell[0].endswith(suffix))


def _again(
    scenario: Scenario, fed: Fed, cuts: Cuts, kind: type[LocalJoin] | type[LocalMultiJoin]
) -> Iterator[tuple[Any, pa.Table]]:
    """The join, and its results, after each of the batches."""
    schemas = dict.fromkeys(scenario.streams, SCHEMA)
    join: Any = kind(
        *([schemas] if kind is LocalMultiJoin else schemas.values()),
        on=scenario.on, time="t", window=f"{WINDOW_SECONDS} seconds",
        lateness=f"{LATENESS} microseconds",
        **{key: value for key, value in scenario.said.items() if key != "shards"},
    )  # fmt: skip
    for taken in _taken(fed, cuts):
        tables = {name: pa.concat_tables([SCHEMA.empty_table(), *of]) for name, of in taken.items()}
        yield join, join.push(tables) if kind is LocalMultiJoin else join.push(*tables.values())


def _taken(fed: Fed, cuts: Cuts) -> list[dict[str, list[pa.Table]]]:
    """The tables that made each batch."""
    return [
        {name: [fed[name][number] for number in batch.get(name, [])] for name in fed}
        for _, batch in sorted(cuts.batches.items())
    ]


def _rows(tables: Sequence[pa.Table]) -> list[dict[str, Any]]:
    return plain_rows(pa.concat_tables([SCHEMA.empty_table(), *tables]))


def _pairs(
    scenario: Scenario, rows: tuple[list[oracle.Row], list[oracle.Row]]
) -> Iterable[dict[str, Any]]:
    """Rows of a join of two streams; but not of those that end the streams: they stay open."""
    on = scenario.on
    how = scenario.said.get("how", "inner")
    groups: dict[Any, tuple[list[oracle.Row], list[oracle.Row]]] = {}
    for side in (0, 1):
        for row in rows[side]:
            groups.setdefault(row[on], ([], []))[side].append(row)
    for group in groups.values():  # keys do not meet, and the oracle compares all with all
        for a, b in oracle.join(
            *group, on=[(on, on)], time=("t", "t"), window=(WINDOW, WINDOW), how=how
        ):
            if all(row is None or row["id"] >= 0 for row in (a, b)):
                yield _joined(on, a, b)


def _joined(on: str, a: oracle.Row | None, b: oracle.Row | None) -> dict[str, Any]:
    columns = [name for name in SCHEMA.names if name != on]
    left = {f"{name}_left": None if a is None else a[name] for name in columns}
    right = {f"{name}_right": None if b is None else b[name] for name in columns}
    key = a[on] if a is not None else b[on] if b is not None else None
    return {on: key, **left, **right}


def _many(scenario: Scenario, streams: dict[str, list[dict[str, Any]]]) -> Iterable[dict[str, Any]]:
    names = list(streams)
    on = scenario.on
    groups = [streams]
    if isinstance(on, str):
        keys = {row[on] for row in streams[names[0]]}
        groups = [
            {name: [row for row in of if row[on] == key] for name, of in streams.items()}
            for key in keys
        ]
        on = [f"{names[0]}.{on} = {other}.{on}" for other in names[1:]]
    equal: Any = [[tuple(end.split(".")) for end in text.split(" = ")] for text in on]
    shared = scenario.on if isinstance(scenario.on, str) else None
    for group in groups:
        for found in oracle.multi_join(
            group, on=equal, time=dict.fromkeys(names, "t"), window=dict.fromkeys(names, WINDOW)
        ):
            row = {
                f"{name}_{column}": value
                for name in names
                for column, value in found[name].items()
                if column != shared
            }
            yield row if shared is None else {shared: found[names[0]][shared], **row}
