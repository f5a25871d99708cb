"""Feed a case to a join with a budget, batch by batch."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

import streamjoin as sj
from streamjoin.local import LocalJoin
from streamjoin.metrics import JoinCounts
from tests.joins.feeding import ids, local_join, push
from tests.strategies import TIME_WINDOWS, Case, Ids, cases

INNER = cases(TIME_WINDOWS, how="inner")
RATES = st.sampled_from([1e4, 3e5, 2e6])  # times are microseconds: up to two rows in each
ROWS = st.integers(1, 25).map(sj.rows)
BYTES = st.integers(300, 12_000).map(lambda n: f"{n} B")
BUDGETS = st.one_of(
    st.builds(sj.Budget, rate=RATES),
    st.builds(sj.Budget, memory=ROWS | BYTES),
    st.builds(sj.Budget, rate=RATES, memory=ROWS | BYTES),
)
CPU_BUDGETS = st.builds(sj.Budget, cpu=st.sampled_from(["1 ms", "10 us"]), memory=st.none() | ROWS)


@dataclass(frozen=True)
class Batch:
    """What one batch gave: results, counts, and rows remembered of each side."""

    found: Ids
    counts: JoinCounts
    held: tuple[int, int]


def batches(case: Case, *, restarts: bool = False, **said: Any) -> list[Batch]:
    """Results of each batch and of the end; with `restarts`, each from stored state."""
    join, found = local_join(case, **said), list[Batch]()
    for number in range(len(case.batches) + 1):
        if restarts:
            join = _restarted(join, case, said)
        end = number == len(case.batches)
        result = ids(join.finish() if end else push(join, case, number), case.how)
        left, right = (sum(w.rows for w in side) for side in join.state.windows)
        found.append(Batch(result, replace(join.metrics, cpu_us=0), (left, right)))
    return found


def total(found: Sequence[Batch]) -> JoinCounts:
    """All counts of several batches."""
    counts = JoinCounts()
    for batch in found:
        counts = batch.counts + counts.without_state()
    return counts


def _restarted(join: LocalJoin, case: Case, said: dict[str, Any]) -> LocalJoin:
    again = local_join(case, **said)
    saved = json.loads(json.dumps(join.state.to_dict()))
    again.state, again.store = type(join.state).from_dict(saved), join.store
    return again
