"""What the front stage caches, beyond the paper: three ways to admit, popularity that changes."""

from dataclasses import replace
from typing import Final

import numpy as np

from papers.base import AllNumbers, Context, Numbers, ResultTable
from papers.measurement import Measurement
from papers.naeem.foreign_keys import ForeignKeys, KeyArray
from papers.naeem.workload import Setting, n_table
from papers.operators.semi_stream import DiskTable, SemiStreamRun
from papers.operators.semi_stream_costs import BackEnd
from papers.operators.semi_stream_settings import ADMISSIONS

BACK: Final[tuple[BackEnd, ...]] = ("mesh", "hybrid", "index")
CHANGES: Final = {"never": 0, "once": 1, "every 2 turns": 4, "every turn": 8}
"""How often other keys become popular within 8 turns of H_S."""
_TURNS: Final = 8


def admission(context: Context) -> Numbers:
    """Hit shares in the second half of a run."""
    found: dict[tuple[str, float, str], dict[str, Measurement]] = {}
    changes = dict(list(CHANGES.items())[:: 2 if context.quick else 1])
    for back_end in BACK[1:2] if context.quick else BACK:
        for memory in (0.1,) if context.quick else (0.01, 0.1):
            setting = Setting(n_table(context), back_end, memory=memory)
            for change, times in changes.items():
                context.progress(f"{back_end}, memory {memory:.0%}, popularity changes {change}")
                found[setting.join.name, memory, change] = {
                    name: Measurement.of([
                        _hits(replace(setting, admission=name), times, seed)
                        for seed in context.seeds[: 1 if context.quick else 2]
                    ])
                    for name in ADMISSIONS
                }  # fmt: skip
    return {"found": found}


def _hits(setting: Setting, times: int, seed: int) -> float:
    end = setting.turns(_TURNS)
    run = SemiStreamRun(setting.join, DiskTable.of(setting.n), _changing(setting, end, times, seed))
    run.advance(served=end // 2)
    before = run.totals
    run.advance(served=end)
    return (run.totals - before).hit_share


def _changing(setting: Setting, n: int, times: int, seed: int) -> KeyArray:
    """A stream whose popular keys are others after each of so many changes."""
    spare = n + 2 * setting.split.waiting
    sizes = np.diff(np.linspace(0, spare, times + 2).astype(np.int64))
    parts = [
        ForeignKeys(setting.n, setting.skew, (seed, i)).draw(int(size))
        for i, size in enumerate(sizes)
    ]
    return np.concatenate(parts)


def _rows(numbers: AllNumbers) -> list[tuple[str, ...]]:
    return [
        (join, f"{memory:.0%}", change, *(f"{each[name].mean:.3f}" for name in ADMISSIONS))
        for (join, memory, change), each in numbers["admission"]["found"].items()
    ]


ADMISSION: Final = ResultTable(
    title="What the front stage caches",
    note=(
        "Hit shares in the second half of 8 turns of H_S, Zipf's law with exponent 1, when all "
        "popular keys change from time to time. recorder: the paper's; ageing: cached tuples count "
        "hits, halved after each turn; sketch: a count-min sketch with ageing, whose bytes are "
        "taken from the cache."
    ),
    columns=("join", "memory", "popularity changes", *ADMISSIONS),
    rows=_rows,
)
