"""Joins of a stream with a table on a virtual disk, against a plain hash join."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from papers.operators.semi_stream import (
    DiskTable,
    SemiStreamJoin,
    SemiStreamRun,
    semi_stream_join,
)
from papers.operators.semi_stream_costs import BACK_ENDS, BackEnd, Split
from papers.operators.semi_stream_settings import ADMISSIONS, Admission, SheddingKind
from streamjoin.errors import ConfigError, DataError

N_KEYS = 12
KEYS = st.lists(st.integers(0, N_KEYS - 1), max_size=80)
SPLITS = st.builds(
    Split,
    waiting=st.integers(1, 12),
    cached=st.sampled_from([0, 1, 3]),
    partition=st.integers(1, 5),
)
SHEDDING: tuple[tuple[BackEnd, SheddingKind, float], ...] = (
    ("index", "none", 1.0), ("index", "upfront", 1.0), ("mesh", "none", 1.0),
    ("mesh", "upfront", 1.0), ("hybrid", "none", 1.0), ("hybrid", "none", 0.4),
    ("hybrid", "upfront", 1.0), ("hybrid", "considering", 1.0), ("hybrid", "considering", 0.15),
)  # fmt: skip


def stream(keys: list[int]) -> np.ndarray[Any, np.dtype[np.int32]]:
    return np.array(keys, np.int32)


def hash_join(table: list[int], keys: list[int]) -> list[int]:
    """How many tuples of the table each stream tuple meets."""
    copies = Counter(table)
    return [copies[key] for key in keys]


@pytest.mark.parametrize(("back_end", "shedding", "position"), SHEDDING)
@given(
    keys=KEYS,
    present=st.sets(st.integers(0, N_KEYS - 1), min_size=1),
    split=SPLITS,
    admission=st.sampled_from(ADMISSIONS),
    threshold=st.sampled_from([None, 1, 3]),
    gap=st.sampled_from([0.0, 1e-4, 1e-2, 1.0]),
)
@settings(max_examples=30)
def test_every_join_is_a_hash_join_once_drained(
    keys: list[int], present: set[int], split: Split, admission: Admission,
    threshold: int | None, gap: float, back_end: BackEnd, shedding: SheddingKind, position: float,
) -> None:  # fmt: skip
    """Cached or not, with and without shedding, whatever the load."""
    table = sorted(present, key=lambda key: (key * 7) % N_KEYS)
    join = SemiStreamJoin(
        back_end, split, admission, threshold, shedding=shedding, position=position
    )
    arrivals = np.arange(len(keys), dtype=np.float64) * gap
    run = semi_stream_join(join, DiskTable(stream(table), N_KEYS), stream(keys), arrivals)
    assert run.outputs.tolist() == hash_join(table, keys)
    totals = run.totals
    assert totals.served == len(keys)
    assert totals.shed == totals.reloaded
    assert totals.hits + totals.entered == len(keys) + totals.shed or shedding == "upfront"
    assert len(run.queued) == run.spilled == 0
    assert len(run.cached) == len(set(run.cached.tolist())) <= split.cached


@given(
    table=st.lists(st.integers(0, N_KEYS - 1), min_size=1, max_size=30),
    keys=KEYS,
    split=SPLITS,
    admission=st.sampled_from(ADMISSIONS),
)
@settings(max_examples=40)
def test_a_scan_meets_all_tuples_of_a_key(
    table: list[int], keys: list[int], split: Split, admission: Admission
) -> None:
    """Many to many (NAE-D4): a hit stands for all of them."""
    join = SemiStreamJoin("mesh", split, admission)
    run = semi_stream_join(join, DiskTable(stream(table), N_KEYS), stream(keys))
    assert run.outputs.tolist() == hash_join(table, keys)


@given(keys=KEYS, more=KEYS, split=SPLITS, cut=st.integers(0, 80))
@settings(max_examples=40)
def test_a_table_may_grow_in_mid_run(
    keys: list[int], more: list[int], split: Split, cut: int
) -> None:
    """NAE-C25: tuples that come later may refer to the new part."""
    early = [key % 6 for key in keys]
    arrivals = np.concatenate([np.zeros(len(early)), np.full(len(more), 1e6)])
    join = SemiStreamJoin("mesh", split)
    run = SemiStreamRun(join, DiskTable.of(N_KEYS), stream(early + more), arrivals, n_table=6)
    run.advance(until_s=1e3, iterations=cut)
    run.grow(N_KEYS)
    assert run.advance()
    assert run.outputs.tolist() == [1] * len(early + more)


def test_cuts_change_nothing() -> None:
    """A run may be stopped and go on at any moment."""
    keys = np.random.default_rng(1).integers(0, 200, 4000).astype(np.int32) ** 2 % 200
    join = SemiStreamJoin("hybrid", Split(100, 20, 10), shedding="considering", position=0.15)
    arrivals = np.arange(len(keys), dtype=np.float64) * 2e-4
    whole = semi_stream_join(join, DiskTable.of(200), keys, arrivals)
    cut = SemiStreamRun(join, DiskTable.of(200), keys, arrivals)
    n = 0
    while not cut.advance(iterations=n):
        n += 3
    assert cut.totals == whole.totals
    assert whole.totals.shed > 0


def test_the_queue_is_looked_up_where_it_should() -> None:
    """NAE-A14: a share of the queue from the newest; tuples leave from anywhere."""
    keys = np.arange(100, dtype=np.int32)[::-1].copy()
    for position, first in ((0.0, 0), (0.25, 25), (0.5, 50), (1.0, 99)):
        join = SemiStreamJoin("hybrid", Split(100, 0, 1), position=position)
        run = SemiStreamRun(join, DiskTable.of(100), keys)
        run.advance(iterations=1)  # the newest key is 0, the oldest 99
        assert set(range(100)) - set(run.queued.tolist()) == {first}
        run.advance(iterations=2)
        assert len(run.queued) == 98


def test_the_least_frequent_goes_first() -> None:
    """NAE-A9: of two places the one with fewer matches is overwritten."""
    keys = [0] * 5 + [1] * 3 + [2] * 4
    join = SemiStreamJoin("hybrid", Split(12, 2, 1), threshold=1)
    run = semi_stream_join(join, DiskTable.of(3), stream(keys))
    assert sorted(run.cached.tolist()) == [0, 2]
    assert run.totals.evicted == 1


def test_costs_are_charged_as_stated() -> None:
    """NAE-A19, for one iteration of HYBRIDJOIN: a seek, two tuples read, two served."""
    join = SemiStreamJoin("hybrid", Split(4, 0, 2))
    run = semi_stream_join(join, DiskTable.of(2), stream([0, 1]))
    disk, cpu = join.prices.disk, join.prices.operations
    seconds = disk.access_s(240) + 2 * cpu.probe_s + 2 * cpu.back_end_s
    assert run.totals.seconds == pytest.approx(seconds)
    assert run.totals.disk_s == pytest.approx(disk.access_s(240))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"back_end": "nested"}, "back_end: got 'nested'; allowed: index, mesh, hybrid"),
        ({"admission": "lru"}, "admission: got 'lru'; allowed: recorder, ageing, sketch"),
        ({"shedding": "all"}, "shedding: got 'all'; allowed: none, considering, upfront"),
        ({"position": 1.5}, "position: got 1.5; allowed: 0 to 1"),
        ({"back_end": "mesh", "shedding": "considering"}, "back_end: got 'mesh' with shedding"),
    ],
)
def test_bad_settings_are_refused(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        SemiStreamJoin(**{"back_end": "hybrid", "split": Split(1, 0, 1), **changed})


def test_bad_data_are_refused() -> None:
    join = SemiStreamJoin("hybrid", Split(1, 0, 1))
    with pytest.raises(DataError, match=r"table: got several tuples of a key"):
        SemiStreamRun(join, DiskTable(stream([0, 0]), 1), stream([]))
    with pytest.raises(DataError, match=r"keys: got 3 to 3; allowed: 0 to 1"):
        SemiStreamRun(join, DiskTable.of(2), stream([3]))
    with pytest.raises(DataError, match=r"keys: got 0 to 5; allowed"):
        DiskTable(stream([0, 5]), 2)


def test_back_ends_have_the_papers_names() -> None:
    names = [SemiStreamJoin(b, Split(1, c, 1)).name for b in BACK_ENDS for c in (0, 1)]
    assert names == ["INLJ", "CINLJ", "MESHJOIN", "CMESHJOIN", "HYBRIDJOIN", "CHYBRIDJOIN"]
