"""Keys sorted in little memory, and found again."""

from pathlib import Path

import numpy as np
import pytest

from streamjoin.core.kernels.sorted_keys import fill_runs, find_runs
from streamjoin.tables.key_segments import BLOCK, KeySort, Segment, is_whole, write_segment


@pytest.mark.parametrize("n_keys", [40, 30_000])
def test_sorting_on_disk_and_finding(tmp_path: Path, n_keys: int) -> None:
    rng = np.random.default_rng(n_keys)
    sort = KeySort(tmp_path / "run", memory=0)  # as few in memory as it gets: runs on disk
    entries = set()
    for partition in range(12):
        keys = rng.integers(-n_keys, n_keys, 5_000) * (1 << 40)
        for part in np.array_split(keys, 2):
            sort.add(part, partition)
        entries |= {(int(key), partition) for key in keys}
    written = write_segment(tmp_path / "segment", sort.merged(), sort.twice)
    assert written.n == len(entries)
    assert {p.stem for p in tmp_path.iterdir()} == {"segment"}
    assert is_whole(tmp_path / "segment", written)
    segment = Segment(tmp_path / "segment", written)
    wanted = np.unique(rng.integers(-n_keys, n_keys, 3_000) * (1 << 40))
    found = [
        (int(wanted[i]), int(p))
        for rows, partitions in segment.locate(wanted)
        for i, p in zip(rows, partitions, strict=True)
    ]
    named = set(wanted.tolist())
    assert sorted(found) == sorted(entry for entry in entries if entry[0] in named)


def test_keys_of_one_row_are_not_there_twice(tmp_path: Path) -> None:
    for seed, twice in ((0, False), (1, True)):
        sort = KeySort(tmp_path / "run", memory=0)
        keys = np.random.default_rng(seed).permutation(60_000)
        if twice:
            keys[-1] = keys[0]
        for partition, part in enumerate(np.array_split(keys, 7)):
            sort.add(part, partition)
        write_segment(tmp_path / "segment", sort.merged(), sort.twice)
        assert sort.twice == ({int(keys[0])} if twice else set())


def test_kernels_are_their_plain_twins() -> None:
    rng = np.random.default_rng(3)
    keys = np.sort(rng.integers(0, 900, 3 * BLOCK - 5))
    values = rng.integers(0, 50, len(keys)).astype(np.int32)
    wanted = np.arange(-2, 905)
    blocks = np.searchsorted(keys[::BLOCK], wanted, "left")
    want = [
        (i, int(values[j])) for i in range(len(wanted)) for j in np.flatnonzero(keys == wanted[i])
    ]
    for find, fill in ((find_runs, fill_runs), (find_runs.py_func, fill_runs.py_func)):
        starts, counts = np.empty((2, len(wanted)), np.int64)
        total = find(wanted, blocks, keys, BLOCK, starts, counts)
        rows, found = np.empty(total, np.int64), np.empty(total, np.int32)
        fill(starts, counts, values, rows, found)
        assert list(zip(rows.tolist(), found.tolist(), strict=True)) == want
