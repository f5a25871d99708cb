"""Feed a drawn case to a `LocalJoin` and read its results by the ids of their rows."""

import json
from collections import Counter
from typing import Any

import pyarrow as pa

from streamjoin.local import LocalJoin
from tests.strategies import SCHEMA_X, Case, Ids, table


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
