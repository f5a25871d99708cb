"""Windows that are probed in part: numbers, times and conditions at their limits."""

from typing import Any

import numpy as np
import pyarrow as pa

import streamjoin as sj
from streamjoin._typing import LEFT
from streamjoin.core.batch import Batch, arrange
from streamjoin.core.stream import Stream
from streamjoin.core.window import MOST_CELLS, Axis, BasicWindow
from streamjoin.local import LocalJoin
from streamjoin.shedding.costs import Costs
from streamjoin.shedding.rows import in_sample

SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "x": pa.int64()})


def rows(times: Any, keys: Any, x: Any) -> pa.Table:
    at = pa.array(np.asarray(times, np.int64), pa.timestamp("us"))
    return pa.table([pa.array(np.asarray(keys, np.int64)), at, pa.array(x)], schema=SCHEMA)


def join(budget: str | float, **said: Any) -> LocalJoin:
    said = {"time": "t", "window": "4 s", "lateness": "1 s", **said}
    return LocalJoin(SCHEMA, SCHEMA, Costs(), budget=sj.Budget(cpu=budget), **said)


def second(number: int, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return 1_000_000 * number + np.arange(n) * (1_000_000 // n)


def test_a_utility_that_no_float_holds_exactly() -> None:
    limited = join("20 us", on="k", utility="x")
    for number in range(4):
        some = rows(second(number, 50), np.arange(50) % 5, np.full(50, 2**62 + 1))
        limited.push(some, some)
    assert limited.total.selective > 0


def test_conditions_are_not_evaluated_outside_of_the_windows() -> None:
    """Rows with equal x are 1 us more than the window apart, in the cells that yield most."""
    limited = join("2 ms", where="10 / (left.x - right.x) < -0.125")
    n = 80  # two rows in a cell, so that the last one within reach has matches too
    for number in range(16):
        x, times = np.arange(n) + n * number, second(number, n) + 5_000
        left, right = rows(times, np.zeros(n), x), rows(times - 1, np.zeros(n), x + 4 * n)
        limited.push(left, right)
    assert limited.metrics.selective == 1
    assert limited.total.pairs > 0


def test_rows_without_new_time_are_not_turned_away() -> None:
    limited = join(0.9, on="k")
    some = rows(np.zeros(100), np.arange(100), np.zeros(100, np.int64))
    limited.push(some, some)
    assert limited.total.pairs == 100
    assert limited.total.dropped_left == limited.total.dropped_right == 0


def test_the_first_batch_is_within_the_budget_too() -> None:
    """Without an index every pair of rows is a candidate, which is known beforehand."""
    limited = join("2 ms", where="left.x * 2 = right.x * 2")
    some = rows(second(0, 1000), np.zeros(1000), np.arange(1000))
    limited.push(some, some)
    assert limited.metrics.selective == 1
    assert limited.metrics.cpu_us < 2 * 2_000


def test_a_sample_takes_single_rows_of_one_key_and_time() -> None:
    stream = Stream(SCHEMA, key=(0,), time=1, window_us=5)
    table = rows(np.zeros(4000), np.zeros(4000), np.arange(4000)).combine_chunks()
    batch = Batch(arrange(table.to_batches()[0], stream).rows, stream)
    shares = [float(in_sample(batch, LEFT, share).mean()) for share in (0.5, 0.1)]
    assert abs(shares[0] - 0.5) < 0.05
    assert abs(shares[1] - 0.1) < 0.03
    half, tenth = (in_sample(batch, LEFT, share) for share in (0.5, 0.1))
    assert not bool((tenth & ~half).any())


def test_rows_that_were_not_counted_are_spread_evenly_over_few_cells() -> None:
    axis = Axis((1_000_000, 1_000_000))
    counted = axis.of_window(BasicWindow(0, 0, 10**7, 0, 10**10, 0, 0))
    assert int(counted.rows.sum()) == 10**7
    assert len(counted.cells) <= MOST_CELLS
    assert (counted.cells[0], counted.cells[-1]) == (0, 10**10 // axis.cell_us)
