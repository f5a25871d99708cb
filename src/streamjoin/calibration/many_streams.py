"""Costs of tuples of several streams: to form them, to store them and to read them again.

Each is the time of one work in small or in large, done with the functions of the engine.
"""

import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
import pyarrow as pa

from streamjoin.calibration.fitting import best_times
from streamjoin.joins.multi.probing import Probing
from streamjoin.joins.multi.tuples import Tuples, combine, overlap

SPAN: Final = 10_000_000
MANY: Final = 40_000
PIECES: Final = 64
ROWS: Final = 16  # of a small piece
SECONDS: Final = {True: 0.3, False: 2.0}
LINES: Final = 3  # streams of a stored tuple, which has six values then

Work = Callable[[], object]


def _drawn(random: np.random.Generator, n: int, lines: int, n_keys: int) -> Tuples:
    """Tuples in no order of time."""
    starts = random.integers(0, SPAN, (1, n))
    keys, ids = random.integers(0, n_keys, n), random.integers(0, 2**40, (lines, n))
    return Tuples(keys, starts, starts + SPAN, ids)


def measure_tuples(quick: bool) -> dict[str, float]:
    """Nanoseconds of `sort`, `gather`, `visit`, `store`, `piece` and `read`."""
    random = np.random.default_rng(2013)
    with TemporaryDirectory() as name:
        works = _works(random, Path(name))
        times = best_times(list(works.values()), SECONDS[quick])
    took = dict(zip(works, (1e9 * best for best in times), strict=True))
    values = 2 * LINES + 4
    large, small = took["stored large"], took["stored small"]
    return {
        "sort": max(0.0, took["indexed unordered"] - took["indexed"]) / MANY,
        "gather": took["formed"] / (MANY * values),
        "visit": took["visited"] / PIECES,
        "store": max(0.0, large - small) / (MANY * (LINES + 3)),
        "piece": small,
        "read": took["read"],
    }


def _works(random: np.random.Generator, folder: Path) -> dict[str, Work]:
    one, other = _drawn(random, MANY, LINES, MANY), _drawn(random, MANY, LINES, MANY)
    ordered = replace(one, starts=np.sort(one.starts))
    at = [random.integers(0, MANY, MANY, np.int32) for _ in range(2)]
    few = [_drawn(random, ROWS, 1, ROWS) for _ in range(PIECES)]
    tuples, file = _drawn(random, ROWS, LINES, ROWS), folder / "read"
    file.write_bytes(tuples.to_batch().serialize())
    probing = Probing(tuples, SPAN)

    def formed() -> Tuples:
        overlap(one, at[0], other, at[1])
        return combine(one, at[0], other, at[1])

    return {
        "indexed": lambda: list(Probing(ordered, SPAN).past(few[0], SPAN)),
        "indexed unordered": lambda: list(Probing(one, SPAN).past(few[0], SPAN)),
        "formed": formed,
        "visited": lambda: [_visited(probing, piece) for piece in few],
        "stored large": lambda: _stored(folder / "large", one),
        "stored small": lambda: _stored(folder / "small", tuples),
        "read": lambda: Tuples.from_blob(_mapped(file), 1, LINES, weighed=False),
    }


def _visited(probing: Probing, piece: Tuples) -> list[Tuples]:
    found = []
    for mine, theirs in probing.past(piece, SPAN):
        holds = overlap(probing.tuples, mine, piece, theirs)
        found.append(combine(probing.tuples, mine[holds], piece, theirs[holds]))
    return found


def _stored(file: Path, tuples: Tuples) -> None:
    order = np.argsort((tuples.ends[0] // SPAN).astype(np.int16), kind="stable")
    blob = tuples.take(order).to_batch().serialize()
    zlib.crc32(blob)
    draft = file.with_suffix(".draft")
    draft.write_bytes(blob)
    draft.rename(file)
    file.unlink()


def _mapped(file: Path) -> pa.Buffer:
    return pa.memory_map(str(file)).read_buffer()
