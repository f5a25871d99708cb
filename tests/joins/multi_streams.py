"""Streams for tests of joins of many, and what these find, as numbers of rows."""

import copy
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from streamjoin import oracle
from streamjoin.joins.multi.states import MultiJoinState
from streamjoin.local import LocalMultiJoin

SECOND = 1_000_000
SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "n": pa.int64()})
Batch = dict[str, pa.Table]
Numbers = Counter[tuple[int, ...]]


def table(keys: Any, times: Any, first: int = 0) -> pa.Table:
    """Rows with these keys and times in microseconds, numbered from a number on."""
    times = pa.array(np.asarray(times, np.int64)).cast(pa.timestamp("us"))
    numbers = np.arange(first, first + len(times))
    return pa.table({"k": np.asarray(keys, np.int64), "t": times, "n": numbers}, schema=SCHEMA)


def poisson(
    rates: Mapping[str, float],
    keys: int,
    batches: int,
    seed: int = 1,
    bursts: Sequence[float] = (1.0,),
) -> Iterator[Batch]:
    """Batches of a second each; their rates are multiplied by `bursts`, one after the other."""
    rng = np.random.default_rng(seed)
    begun = dict.fromkeys(rates, 0)
    for number in range(batches):
        batch = {}
        for name, rate in rates.items():
            n = int(rng.poisson(rate * bursts[number % len(bursts)]))
            times = np.sort(rng.integers(number * SECOND, (number + 1) * SECOND, n))
            batch[name] = table(rng.integers(0, keys, n), times, begun[name])
            begun[name] += n
        yield batch


def local(names: Sequence[str], **settings: Any) -> LocalMultiJoin:
    """A join of streams of `SCHEMA` on k."""
    return LocalMultiJoin(dict.fromkeys(names, SCHEMA), on="k", time="t", **settings)


def numbers(found: pa.Table, names: Sequence[str]) -> Numbers:
    """Results as numbers of their rows."""
    columns = [found[f"{name}_n"].to_pylist() for name in names]
    return Counter(zip(*columns, strict=True))


def expected(batches: Sequence[Batch], window: Mapping[str, Any] | int) -> Numbers:
    """What the oracle finds; windows in seconds."""
    names = list(batches[0])
    streams = {
        name: pa.concat_tables(batch[name] for batch in batches)
        .set_column(1, "t", pa.concat_tables(b[name] for b in batches)["t"].cast(pa.int64()))
        .to_pylist()
        for name in names
    }
    each = dict.fromkeys(names, window) if isinstance(window, int) else window
    found = oracle.multi_join(
        streams,
        on=[((names[0], "k"), (other, "k")) for other in names[1:]],
        time=dict.fromkeys(names, "t"),
        window={name: each[name] * SECOND for name in names},
    )
    return Counter(tuple(one[name]["n"] for name in names) for one in found)


def restarted(join: LocalMultiJoin) -> LocalMultiJoin:
    """Another join that goes on where this one is, as from a checkpoint."""
    other = copy.copy(join)
    other.stores = copy.deepcopy(join.stores)
    other.states = [
        MultiJoinState.from_dict(json.loads(json.dumps(state.to_dict()))) for state in join.states
    ]
    return other


def probes(join: LocalMultiJoin) -> int:
    """How many were made in the last batch."""
    return sum(n for name, n in join.counts.items() if name.startswith("probed_"))
