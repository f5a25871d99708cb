"""Joins with a table against a plain hash join: algorithms, limits, restarts, other tables."""

import json
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.errors import TableError
from streamjoin.joins.base import MemoryStore, OutputColumn
from streamjoin.joins.table.logic import TableJoinLogic
from streamjoin.joins.table.rows import TableArrival, keyed
from streamjoin.joins.table.settings import How, TableJoin
from streamjoin.joins.table.state import TableJoinState
from streamjoin.planning.table import TableCosts
from streamjoin.tables.base import Changes
from tests.joins.table.memory_table import MemoryTable

SECOND = 1_000_000
KINDS = [pa.int64(), pa.string()]
SHEDS = ["considering", "upfront"]
Result = tuple[int, str | None]


def settings(kind: pa.DataType = KINDS[0], **given: Any) -> TableJoin:
    stream = pa.schema({"k": kind, "n": pa.int64()})
    table = pa.schema({"id": kind, "name": pa.string()})
    output = (OutputColumn(0, 1, "n", pa.int64()), OutputColumn(1, 1, "name", pa.string()))
    known: dict[str, Any] = {"how": "inner", "memory": 10**6, "front_share": 0.5}
    return TableJoin(stream, table, ((0,), (0,)), output, **{**known, **given})


def rows(join: TableJoin, keys: list[int | None], first: int) -> TableArrival:
    """Stream rows with these keys, numbered from a number on."""
    kind = join.stream.types[0]
    values = [None if key is None else str(key) for key in keys]
    column = pa.array(values).cast(kind) if values else pa.array([], kind)
    numbers = pa.array(range(first, first + len(keys)), pa.int64())
    batch = pa.record_batch([column, numbers], schema=join.stream)
    return keyed(batch, join.stream, (0,))


def table_of(join: TableJoin, keys: list[int], cuts: list[int], version: str = "1") -> MemoryTable:
    """A table with these keys; a row is called after its key, place and the table's version."""
    kind = join.table.types[0]
    column = pa.array([str(key) for key in keys], pa.string()).cast(kind)
    names = [f"{key} at {place} of {version}" for place, key in enumerate(keys)]
    found = pa.table([column, pa.array(names, pa.string())], schema=join.table)
    return MemoryTable(found, ("id",), sorted({0, *(c for c in cuts if c < len(keys))}), version)


def expected(
    keys: list[int | None], table: list[int], how: How, version: str = "1", first: int = 0
) -> Counter[Result]:
    found: Counter[Result] = Counter()
    for number, key in enumerate(keys, start=first):
        names = [f"{k} at {p} of {version}" for p, k in enumerate(table) if k == key]
        found.update((number, name) for name in names)
        if not names and how == "left":
            found[number, None] += 1
    return found


def fed(logic: TableJoinLogic, arrival: TableArrival, now: int, **more: Any) -> Counter[Result]:
    found: Counter[Result] = Counter()
    for columns in logic.on_batch(arrival, now * SECOND, **more):
        found.update(zip(*(column.to_pylist() for column in columns), strict=True))
    return found


def restarted(state: TableJoinState) -> TableJoinState:
    return TableJoinState.from_dict(json.loads(json.dumps(state.to_dict())))


ALGORITHMS = st.sampled_from(["auto", "inlj", "meshjoin", "hybridjoin"])
KEYS = st.integers(0, 12)
TABLES = st.lists(KEYS, min_size=1, max_size=14)
UNIQUE = st.lists(KEYS, min_size=1, max_size=14, unique=True)
BATCHES = st.lists(st.lists(KEYS | st.none(), max_size=12), min_size=1, max_size=8)
JOINS = st.fixed_dictionaries(
    {
        "algorithm": ALGORITHMS,
        "how": st.sampled_from(["inner", "left"]),
        "memory": st.sampled_from([1, 800, 3000, 10**6]),
        "is_cached": st.booleans(),
        "front_share": st.sampled_from([None, 0.15, 0.8]),
        "wait_us": st.integers(0, 3).map(lambda s: s * SECOND),
        "costs": st.sampled_from([TableCosts(), TableCosts(scan=1.0), TableCosts(look_up=1e-3)]),
    }
)
LIMITS = st.fixed_dictionaries(
    {"work_share": st.none() | st.sampled_from([1e-6, 1e-3, 1.0]), "shed": st.sampled_from(SHEDS)}
)


@given(
    BATCHES, UNIQUE | TABLES, st.lists(st.integers(0, 13), max_size=4), JOINS, LIMITS,
    st.sampled_from(KINDS), st.sets(st.integers(1, 7), max_size=2),
)  # fmt: skip
def test_once_drained_it_equals_a_hash_join(
    batches: list[list[int | None]],
    table: list[int],
    cuts: list[int],
    given_settings: dict[str, Any],
    limits: dict[str, Any],
    kind: pa.DataType,
    pauses: set[int],
) -> None:
    """Whatever the algorithm, memory, costs and limits; restarted after every batch."""
    unique = len(set(table)) == len(table)
    join = settings(kind, **given_settings, **limits, unique=unique)
    open_table, store, state = table_of(join, table, cuts), MemoryStore(), TableJoinState()
    found: Counter[Result] = Counter()
    first = answered = 0
    for now, keys in enumerate([*batches, []]):
        logic = TableJoinLogic(join, state, store, open_table, lambda: open_table.clock)
        end = now == len(batches) or now in pauses
        found += fed(logic, rows(join, keys, first), now, end=end)
        state, first = restarted(state), first + len(keys)
        here = logic.counts
        answered += here["rows"]
        if end:
            assert here["waiting_rows"] == here["spilled_rows"] == 0
    everything = [key for keys in batches for key in keys]
    assert answered == len(everything)
    assert found == expected(everything, table, join.how)
    assert not state.waiting
    assert not state.spilled


@given(
    st.lists(st.tuples(st.lists(KEYS, max_size=8), st.booleans()), min_size=1, max_size=6),
    st.lists(UNIQUE, min_size=7, max_size=7), JOINS, st.sampled_from(KINDS),
)  # fmt: skip
def test_a_table_that_changes_in_mid_run(
    batches: list[tuple[list[int], bool]],
    tables: list[list[int]],
    given_settings: dict[str, Any],
    kind: pa.DataType,
) -> None:
    """Each row gets what one table had that was there since it came, and not later than now."""
    join = settings(kind, **{**given_settings, "how": "left"}, unique=True)
    store, state, version, first = MemoryStore(), TableJoinState(), 0, 0
    came: dict[int, tuple[int, int]] = {}
    done: set[int] = set()
    for now, (keys, changed) in enumerate([*batches, ([], False)]):
        version += changed
        open_table = table_of(join, tables[version], [3, 6, 9], version=str(version))
        changes = Changes(whole=True) if changed else None
        for number, key in enumerate(keys, start=first):
            came[number] = key, version
        logic = TableJoinLogic(join, state, store, open_table)
        arrival = rows(join, list(keys), first)
        result = fed(logic, arrival, now, changes=changes, end=now == len(batches))
        for (number, name), n in result.items():
            key, since = came[number]
            assert n == 1
            assert number not in done
            done.add(number)
            seen = None if name is None else int(name.rpartition(" ")[2])
            if seen is None:
                assert any(key not in tables[v] for v in range(since, version + 1))
            else:
                assert name is not None
                assert name.startswith(f"{key} at ")
                assert since <= seen <= version
        state, first = restarted(state), first + len(keys)
    assert done == set(came)


@given(
    st.lists(st.tuples(st.lists(KEYS, max_size=8), st.booleans()), min_size=1, max_size=5),
    TABLES, st.lists(st.integers(0, 12), max_size=4), JOINS,
)  # fmt: skip
def test_keys_that_are_there_several_times_and_rows_that_are_added(
    batches: list[tuple[list[int], bool]],
    table: list[int],
    added: list[int],
    given_settings: dict[str, Any],
) -> None:
    """Each row gets all rows of its key, of one of the tables that there were since it came."""
    join = settings(**{**given_settings, "how": "left"}, unique=False)
    store, state, first = MemoryStore(), TableJoinState(), 0
    found: Counter[Result] = Counter()
    came: dict[int, tuple[int, bool]] = {}
    was_old = True
    for now, (keys, is_old) in enumerate([*batches, ([], False)]):
        is_old = is_old and was_old
        new = table if is_old else [*table, *added]
        grown = table_of(join, new, [4, len(table)], version="1" if is_old else "2")
        names = [f"{key} at {place} of 1" for place, key in enumerate(new)]
        grown.rows = grown.rows.set_column(1, "name", pa.array(names, pa.string()))
        changes = None
        if was_old and not is_old:
            changes = Changes(added=tuple(range(len(grown.begins)))[-1:] if added else ())
        came |= {number: (key, is_old) for number, key in enumerate(keys, start=first)}
        logic = TableJoinLogic(join, state, store, grown)
        arrival = rows(join, list(keys), first)
        found += fed(logic, arrival, now, changes=changes, end=now == len(batches))
        state, first, was_old = restarted(state), first + len(keys), is_old
    for number, (key, was_there) in came.items():
        got = [name for (n, name), times in found.items() if n == number for _ in range(times)]
        old = [f"{k} at {p} of 1" for p, k in enumerate(table) if k == key]
        later = [f"{k} at {p} of 1" for p, k in enumerate([*table, *added]) if k == key]
        wanted: list[Any] = [
            sorted(one) or [None] for one in ([old, later] if was_there else [later])
        ]
        if join.algorithm == "meshjoin":  # rows that have met some of the table meet the rest
            assert set(got) <= {None, *later}
            assert len(got) == len(set(got))
        else:
            assert sorted(got, key=str) in wanted


def test_rows_that_wait_are_answered_by_another_algorithm() -> None:
    store, state = MemoryStore(), TableJoinState()
    for now, algorithm in enumerate(["hybridjoin", "inlj"]):
        join = settings(algorithm=algorithm, wait_us=9 * SECOND, how="left")
        logic = TableJoinLogic(join, state, store, table_of(join, list(range(40)), [10, 20]))
        found = fed(logic, rows(join, [1, 50, 12], 3 * now), now)
    assert found == expected([1, 50, 12, 1, 50, 12], list(range(40)), "left") - Counter(
        {(1, None): 1}
    )


@pytest.mark.parametrize("algorithm", ["auto", "inlj", "meshjoin", "hybridjoin"])
def test_a_table_without_partitions(algorithm: str) -> None:
    join = settings(algorithm=algorithm, how="left")
    table = MemoryTable(table_of(join, [], []).rows, ("id",), [])
    logic = TableJoinLogic(join, TableJoinState(), MemoryStore(), table)
    assert fed(logic, rows(join, [1, None], 0), 0) == {(0, None): 1, (1, None): 1}


def test_what_once_took_long_is_tried_again() -> None:
    """A first look-up of 300 ms does not mean that all partitions are loaded for ever."""
    join = settings(algorithm="auto", is_cached=False, costs=TableCosts(2000.0, 1000.0))
    table = table_of(join, list(range(400)), list(range(0, 400, 10)))
    store, state = MemoryStore(), TableJoinState()
    for now in range(60):
        logic = TableJoinLogic(join, state, store, table, lambda: table.clock)
        table.delay = 300_000_000 if now == 0 else 0
        fed(logic, rows(join, [now % 400, 5], 0), now)
    assert logic.counts["looked_up"] == 2


def test_spilled_rows_come_again_in_pieces() -> None:
    """When there is time for all, not more of them are in memory than there is room for."""
    join = settings(algorithm="inlj", is_cached=False, memory=4000, work_us=1)
    table = table_of(join, list(range(40)), [10, 20])
    store, state = MemoryStore(), TableJoinState()
    keys: list[int | None] = [number % 40 for number in range(2000)]
    fed(TableJoinLogic(join, state, store, table, lambda: table.clock), rows(join, keys, 0), 0)
    assert state.spilled
    logic = TableJoinLogic(join, state, store, table, lambda: table.clock)
    sizes = [len(columns[0]) for columns in logic.on_batch(rows(join, [], 0), 1, end=True)]
    assert sum(sizes) == logic.counts["reloaded"] > 1000
    assert max(sizes) * 24 <= 4000


@given(BATCHES, st.lists(st.booleans(), min_size=8, max_size=8), JOINS)
def test_a_table_that_is_away_for_a_while(
    batches: list[list[int | None]], away: list[bool], given_settings: dict[str, Any]
) -> None:
    """Rows that need it wait until it is back, if that is allowed."""
    join = settings(**given_settings)
    table, store, state = table_of(join, list(range(9)), [3, 6]), MemoryStore(), TableJoinState()
    found: Counter[Result] = Counter()
    first = 0
    for now, (keys, is_away) in enumerate(
        zip([*batches, []], [*away[: len(batches)], False], strict=True)
    ):
        table.is_away = is_away
        logic = TableJoinLogic(join, state, store, table, is_patient=True)
        found += fed(logic, rows(join, keys, first), now, end=now == len(batches))
        state, first = restarted(state), first + len(keys)
    assert found == expected([key for keys in batches for key in keys], list(range(9)), join.how)


@pytest.mark.parametrize("algorithm", ["auto", "inlj", "meshjoin", "hybridjoin"])
def test_a_table_that_is_away_is_an_error(algorithm: str) -> None:
    join = settings(algorithm=algorithm)
    table = table_of(join, list(range(9)), [3, 6])
    table.is_away = True
    logic = TableJoinLogic(join, TableJoinState(), MemoryStore(), table)
    with pytest.raises(TableError, match="the table is away"):
        fed(logic, rows(join, [1, 2], 0), 0)


@pytest.mark.parametrize("algorithm", ["meshjoin", "hybridjoin"])
def test_no_row_waits_longer_than_allowed(algorithm: str) -> None:
    join = settings(algorithm=algorithm, is_cached=False, wait_us=3 * SECOND)
    table = table_of(join, list(range(40)), list(range(0, 40, 5)))
    store, state = MemoryStore(), TableJoinState()
    for now in range(12):
        logic = TableJoinLogic(join, state, store, table)
        found = fed(logic, rows(join, [now, now + 7, now + 20], 3 * now), now)
        assert all(number // 3 >= now - 4 for number, _ in found)
        assert state.waiting or now < 2


@pytest.mark.parametrize("algorithm", ["meshjoin", "hybridjoin"])
def test_no_row_waits_for_a_clock_that_was_put_back(algorithm: str) -> None:
    join = settings(algorithm=algorithm, is_cached=False, wait_us=3 * SECOND, work_share=0.5)
    table = table_of(join, list(range(40)), list(range(0, 40, 5)))
    store, state = MemoryStore(), TableJoinState()
    found = Counter[Result]()
    for batch in range(12):
        now = 1000 + batch if batch < 6 else 700 + batch
        logic = TableJoinLogic(join, state, store, table)
        found += fed(logic, rows(join, [batch, batch + 7, batch + 20], 3 * batch), now)
        least = 3 * batch if batch == 6 else 3 * (batch - 4)  # all was answered in batch 6
        assert set(range(least)) <= {number for number, _ in found}
        assert bool(state.waiting) == (batch != 6) or batch < 2


def test_memory_makes_the_fullest_partition_go_first() -> None:
    join = settings(algorithm="hybridjoin", is_cached=False, memory=600, wait_us=100 * SECOND)
    table = table_of(join, list(range(30)), [10, 20])
    logic = TableJoinLogic(join, TableJoinState(), MemoryStore(), table)
    keys = [11] * 30 + [1, 2, 25]
    found = fed(logic, rows(join, list(keys), 0), 0)
    assert {number for number, _ in found} == set(range(30))
    assert table.loads == [1]


def test_what_is_frequent_is_cached_and_stays() -> None:
    join = settings(algorithm="hybridjoin", memory=1600, wait_us=SECOND)
    table = table_of(join, list(range(200)), list(range(0, 200, 20)))
    store, state = MemoryStore(), TableJoinState()
    hits = []
    for now in range(30):
        keys: list[int | None] = [3, 3, 3, 77, 77, now + 100]
        logic = TableJoinLogic(join, state, store, table)
        fed(logic, rows(join, keys, 0), now)
        hits.append(logic.counts["hits"])
    assert hits[-1] == 5
    assert logic.counts["cached_rows"] <= 800 // 64


def test_one_wide_row_does_not_empty_the_cache() -> None:
    join = settings(algorithm="inlj", memory=200_000)
    table = table_of(join, list(range(500)), [100, 300])
    names = table.rows["name"].to_pylist()
    wide = pa.array([*names[:-1], "x" * 20_000])
    table.rows = table.rows.set_column(1, "name", wide)
    store, state = MemoryStore(), TableJoinState()
    cached = []
    for now, keys in enumerate([list(range(400)), list(range(400)), [499, 499], [499]]):
        logic = TableJoinLogic(join, state, store, table)
        fed(logic, rows(join, list(keys), 0), now)
        cached.append(logic.counts["cached_rows"])
    assert cached[1] == 400
    assert cached[-1] > 300


def test_auto_waits_only_where_that_is_cheaper() -> None:
    keys: list[int | None] = [number % 40 for number in range(200)]
    for costs, waits in ((TableCosts(scan=1e6, look_up=1.0), False), (TableCosts(1.0, 1e5), True)):
        join = settings(algorithm="auto", is_cached=False, wait_us=9 * SECOND, costs=costs)
        table = table_of(join, list(range(40)), [10, 20, 30])
        logic = TableJoinLogic(join, TableJoinState(), MemoryStore(), table)
        found = fed(logic, rows(join, keys, 0), 0)
        assert bool(found) is not waits
        assert logic.counts["looked_up"] == (0 if waits else 200)
        assert logic.counts["waiting_rows"] == (200 if waits else 0)


@pytest.mark.parametrize("algorithm", ["auto", "inlj", "meshjoin", "hybridjoin"])
@pytest.mark.parametrize("shed", SHEDS)
def test_what_there_is_no_time_for_is_spilled_and_comes_again(algorithm: str, shed: str) -> None:
    """Far too much for ten batches, then a quarter of what there is time for."""
    join = settings(
        algorithm=algorithm, shed=shed, memory=4000, is_cached=False, wait_us=2 * SECOND,
        work_share=0.02, costs=TableCosts(2000.0, 1000.0, 100.0),
    )  # fmt: skip
    table = table_of(join, list(range(400)), list(range(0, 400, 10)))
    store, state = MemoryStore(), TableJoinState()
    found: Counter[Result] = Counter()
    first, spilled = 0, []
    everything: list[int | None] = []
    for now in range(40):
        keys = [(7 * i + now) % 400 for i in range(200 if now < 10 else 5)]
        logic = TableJoinLogic(join, state, store, table, lambda: table.clock)
        found += fed(logic, rows(join, list(keys), first), now)
        state, first = restarted(state), first + len(keys)
        everything += keys
        spilled.append(logic.counts["spilled_rows"])
        here = logic.counts
        assert here["rows"] == len(keys)
        assert sum(found.values()) + here["waiting_rows"] + here["spilled_rows"] == first
    assert max(spilled) > 300
    assert spilled[-1] <= max(spilled) - 200
    logic = TableJoinLogic(join, state, store, table, lambda: table.clock)
    found += fed(logic, rows(join, [], first), 40, end=True)
    assert found == expected(everything, list(range(400)), "inner")


def test_considering_answers_more_than_upfront() -> None:
    """NAE-C16: rows that are shed after they have had their chance leave the better ones."""
    answered = {}
    for shed in SHEDS:
        join = settings(
            algorithm="hybridjoin", shed=shed, memory=6000, is_cached=False, wait_us=2 * SECOND,
            work_share=0.01, costs=TableCosts(2000.0, 1000.0, 100.0),
        )  # fmt: skip
        table = table_of(join, list(range(400)), list(range(0, 400, 10)))
        store, state = MemoryStore(), TableJoinState()
        n = 0
        for now in range(30):
            keys: list[int | None] = [int((i * 0.61803 % 1) ** 4 * 400) for i in range(200)]
            logic = TableJoinLogic(join, state, store, table, lambda t=table: t.clock)  # type: ignore[misc]
            n += sum(fed(logic, rows(join, keys, 0), now).values())
        answered[shed] = n
    assert answered["considering"] > 1.2 * answered["upfront"]
