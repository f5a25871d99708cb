"""The arrays that the kernels of the selective window join work on."""

import math

import numpy as np
from numpy.typing import NDArray

from papers.operators.kernels import basic_windows as matching
from papers.operators.kernels import selective_window as kernel
from papers.operators.selective_settings import SelectiveJoin, SetTrace
from streamjoin.errors import DataError

Traces = tuple[SetTrace, SetTrace]

_NEVER = 2**62


def new_join(traces: Traces, settings: SelectiveJoin) -> kernel.Join:
    """What is joined and how."""
    if settings.index == "hash" and any(np.any(np.diff(t.offsets) != 1) for t in traces):
        raise DataError("index: got 'hash' with sets; allowed for streams of single values")
    n_rows = max(map(len, traces))
    times = np.full((2, n_rows + 1), _NEVER)
    for side, trace in enumerate(traces):
        times[side, : len(trace)] = trace.times
    costs = settings.costs
    return kernel.Join(
        times,
        np.random.default_rng(settings.seed).random((2, n_rows)),
        np.array(settings.windows_us, np.int64),
        settings.basic_us or 0,
        settings.buffer_us,
        _way(traces, settings),
        float(settings.threshold),
        settings.index == "inverted-identifier",
        float(costs.comparison),
        float(costs.entry),
        float(costs.look_up),
    )


def new_tuples(traces: Traces, way: int) -> matching.Tuples:
    """Both traces, and room for all tuples that may be remembered."""
    n_rows = max(map(len, traces))
    items = np.concatenate([trace.items for trace in traces])
    offsets = np.zeros((2, n_rows + 1), np.int64)
    for side, trace in enumerate(traces):
        offsets[side, : len(trace) + 1] = trace.offsets + side * len(traces[0].items)
    n_items = int(items.max(initial=-1)) + 1
    lengths = np.array([np.bincount(trace.items, minlength=n_items) for trace in traces])
    begins = np.cumsum(lengths.ravel()).reshape(2, n_items) - lengths
    n_bits, n_entries = (n_rows if way == w else 0 for w in (matching.BITS, matching.LISTS))
    n_lists = len(items) if way == matching.LISTS else 0
    return matching.Tuples(
        offsets, items, np.concatenate([_weights(trace) for trace in traces]),
        rows=np.zeros((2, n_rows + 1), np.int64),
        bits=np.zeros((2, 2, n_bits), np.uint64),
        begins=begins, lengths=np.zeros_like(lengths),
        lists=np.empty(n_lists, np.int64), owns=np.empty(n_lists),
        sought=np.zeros(n_items),
        scores=np.empty(n_entries), marks=np.zeros(n_entries, np.int64),
        hits=np.empty(n_rows, np.int64),
    )  # fmt: skip


def new_state(n: int) -> kernel.State:
    """Empty buffers and windows of `n` basic windows, at time 0."""
    return kernel.State(
        np.zeros((2, kernel.N_STATE), np.int64), np.zeros((2, n), np.int64), np.zeros(1),
        np.zeros(1, np.int64),
    )  # fmt: skip


def basic_windows_of(settings: SelectiveJoin) -> tuple[int, int]:
    """How many basic windows each window has."""
    if settings.basic_us is None:
        return 1, 1
    left, right = (n_basic_windows(w, settings.basic_us) for w in settings.windows_us)
    return left, right


def _way(traces: Traces, settings: SelectiveJoin) -> int:
    if settings.index != "none":
        return matching.LISTS
    few = all(trace.weights is None and trace.items.max(initial=0) < 128 for trace in traces)
    return matching.BITS if few else matching.SETS


def _weights(trace: SetTrace) -> NDArray[np.float64]:
    return np.ones(len(trace.items)) if trace.weights is None else trace.weights


def n_basic_windows(window: float, basic: float) -> int:
    """How many basic windows cover a window at all times: one is being filled (GED-A8, U5).

    Examples
    --------
    >>> n_basic_windows(20, 1), n_basic_windows(20, 3)
    (21, 8)
    """
    return 1 + math.ceil(window / basic)
