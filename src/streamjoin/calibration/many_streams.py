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
from streamjoin.joins.multi.halfway import Probing
from streamjoin.joins.multi.tuples import Tuples, combine, overlap

TUPLE_COSTS: Final = ("sort", "gather", "visit", "store", "piece", "read", "load")
"""Those of the operations' costs that are measured here."""
SPAN: Final = 10_000_000
MANY: Final = 100_000
PIECES: Final = 64
ROWS: Final = 16  # of a small piece
SECONDS: Final = {True: 0.3, False: 2.0}
LINES: Final = 3  # streams of a tuple, which is stored as six values then

Work = Callable[[], object]


def _drawn(random: np.random.Generator, n: int, lines: int, n_keys: int) -> Tuples:
    """Tuples in no order of time."""
    starts = random.integers(0, SPAN, (1, n))
    keys, ids = random.integers(0, n_keys, n), random.integers(0, 2**40, (lines, n))
    return Tuples(keys, starts, starts + SPAN, ids)


def measure_tuples(quick: bool) -> dict[str, float]:
    """Nanoseconds of each of `TUPLE_COSTS`."""
    with TemporaryDirectory() as name:
        works = _works(np.random.default_rng(2013), Path(name))
        times = best_times(list(works.values()), SECONDS[quick])
    took = dict(zip(works, (1e9 * best for best in times), strict=True))

    def more(work: str, than: str, n: int) -> float:
        return max(0.0, took[work] - took[than]) / n

    found = (
        more("indexed unordered", "indexed", MANY),
        took["formed"] / (MANY * (2 * LINES + 9)),  # rows' names, key, and intervals twice
        took["visited"] / PIECES,
        more("stored large", "stored small", MANY * (LINES + 3)),
        took["stored small"],
        took["read small"],
        more("read large", "read small", MANY * (LINES + 3)),
    )
    return dict(zip(TUPLE_COSTS, found, strict=True))


def _works(random: np.random.Generator, folder: Path) -> dict[str, Work]:
    many, others = (_drawn(random, MANY, LINES, MANY) for _ in range(2))
    few = _drawn(random, ROWS, LINES, ROWS)
    pieces = [_drawn(random, ROWS, 1, ROWS) for _ in range(PIECES)]
    ordered = replace(many, starts=np.sort(many.starts))
    at, at_others = (random.integers(0, MANY, MANY, np.int32) for _ in range(2))
    probing, large, small = Probing(few, SPAN), folder / "large", folder / "small"
    for file, tuples in ((large, many), (small, few)):
        file.write_bytes(tuples.to_batch().serialize())

    def formed() -> Tuples:
        overlap(many, at, others, at_others)
        return combine(many, at, others, at_others)

    return {
        "indexed": lambda: list(Probing(ordered, SPAN).past(pieces[0], SPAN)),
        "indexed unordered": lambda: list(Probing(many, SPAN).past(pieces[0], SPAN)),
        "formed": formed,
        "visited": lambda: [_visited(probing, piece) for piece in pieces],
        "stored large": lambda: _stored(folder / "new", many),
        "stored small": lambda: _stored(folder / "new", few),
        "read large": lambda: _read(large),
        "read small": lambda: _read(small),
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


def _read(file: Path) -> Tuples:
    """Tuples of a piece, put together with others."""
    blob = pa.memory_map(str(file)).read_buffer()
    tuples = Tuples.from_blob(blob, 1, LINES, weighed=False)
    return Tuples.joined([tuples, tuples.take(slice(0, 0))], 1, LINES)
