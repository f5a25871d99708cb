"""Feed a case to a `LocalJoin` and read its results by the ids of their rows."""

import json
import random
from collections import Counter
from typing import Any

import pyarrow as pa

from streamjoin.local import LocalJoin
from tests.strategies import SCHEMA_X, Case, Ids, Row, table


def row(t: int | None, *, k: int | None = 1, id: int = 0, x: int | None = 0) -> Row:
    return {"k": k, "t": t, "id": id, "s": f"row {id}", "x": x}


def fixed_streams() -> list[tuple[list[Row], list[Row]]]:
    """Two streams of 60 rows, out of order, in five batches; the same every time."""
    rng = random.Random(3)
    sides = [
        [
            row(
                None if rng.random() < 0.03 else i + rng.randrange(9),
                k=rng.choice([None, 0, 0, 1, 2]),
                id=100 * side + i,
                x=rng.choice([None, *range(-3, 9)]),
            )
            for i in range(60)
        ]
        for side in (0, 1)
    ]
    return [(sides[0][n : n + 12], sides[1][n : n + 12]) for n in range(0, 60, 12)]


def local_join(case: Case, schema: pa.Schema = SCHEMA_X, **changed: Any) -> LocalJoin:
    return LocalJoin(schema, schema, **{**case.arguments(), **changed})


def ids(result: pa.Table, how: str) -> Ids:
    """Semi and anti joins have the columns of the left stream and no others."""
    if how in ("semi", "anti"):
        return Counter((i, None) for i in result["id"].to_pylist())
    return Counter(zip(result["id_left"].to_pylist(), result["id_right"].to_pylist(), strict=True))


def push(join: LocalJoin, case: Case, number: int) -> pa.Table:
    left, right = (table(rows, SCHEMA_X) for rows in case.batches[number])
    now = case.clocks[number] if case.idle_timeout is not None else None
    return join.push(left, right, now=now)


def tables(case: Case) -> list[pa.Table]:
    """Results of each batch, and of the end."""
    join = local_join(case)
    return [*(push(join, case, n) for n in range(len(case.batches))), join.finish()]


def results(case: Case) -> list[Ids]:
    """What `Case.answers` says, found by the join."""
    return [ids(found, case.how) for found in tables(case)]


def restarted(join: LocalJoin, case: Case) -> LocalJoin:
    """Another join that goes on from the stored state, as after a restart."""
    again = local_join(case)
    saved = json.loads(json.dumps(join.state.to_dict()))
    again.state, again.store = type(join.state).from_dict(saved), join.store
    return again


def results_with_restarts(case: Case) -> list[Ids]:
    """What `results` gives, with a restart before each batch and before the end."""
    join, found = local_join(case), []
    for number in range(len(case.batches)):
        join = restarted(join, case)
        found.append(ids(push(join, case, number), case.how))
    return [*found, ids(restarted(join, case).finish(), case.how)]


def total(found: list[Ids]) -> Ids:
    return sum(found, Counter())


def feed(how: str, *batches: tuple[list[Row], list[Row]], **said: Any) -> list[list[Any]]:
    """Results of each batch and of the end, as sorted ids; windows of 5 and 3 microseconds."""
    case = Case(batches, said.pop("window", (5, 3)), how, **said)
    found = results(case)
    assert found == case.answers()
    return [sorted(batch.elements(), key=str) for batch in found]


def cannot_match(case: Case, row: Row) -> bool:
    return row["t"] is None or (case.keyed and row["k"] is None)


def counted_late(case: Case, side: int, *, may_idle: bool = True) -> list[Row]:
    """A late row without a key counts as late only where it would have come out."""
    keeps = case.how in (("left", "full", "anti", "asof"), ("right", "full"))[side]
    _, late = case.split_late(may_idle=may_idle)
    return [r for r in late[side] if keeps or not cannot_match(case, r)]


def most_state(case: Case) -> int:
    """The most rows in state over 200 batches of 10 rows a side, of which half find a partner."""
    join = local_join(case)
    sizes, blobs = [], []
    for batch in range(200):
        left = [row(10 * batch + i, k=i % 7, id=i) for i in range(10)]
        right = [row(10 * batch + i, k=i % 7 + 3, id=i) for i in range(10)]
        join.push(table(left, SCHEMA_X), table(right, SCHEMA_X))
        sizes.append(join.metrics.state_rows + join.metrics.held_rows)
        blobs.append(len(join.store))
    for counts in (sizes, blobs):
        assert max(counts[150:]) == max(counts[100:150])
    return max(sizes)
