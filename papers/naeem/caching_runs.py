"""Figures 5 and 6: what the front stage gives, by memory, size of the table, skew and data."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from papers.base import Context, Numbers
from papers.measurement import Measurement
from papers.naeem.foreign_keys import INTERVALS, LONGITUDES, local_stream, longitudes
from papers.naeem.runs import Gain, measure, rates, ratio
from papers.naeem.workload import Setting, n_table
from papers.operators.semi_stream import DiskTable, SemiStreamRun, Totals
from papers.operators.semi_stream_costs import (
    MAGNETIC_DISK,
    SSD,
    BackEnd,
    Operations,
    Prices,
    TupleSizes,
)

JOINS: Final[tuple[BackEnd, ...]] = ("mesh", "hybrid")
Gains = Mapping[BackEnd, list[Gain]]
LINKS_S: Final = (0.0, 3e-12, 6e-11)
"""Seconds for a link of a hash chain, at the paper's size."""
_MEMORY_BYTES: Final = 1.2e9
_ROWS: Final = 2_000_000  # of the cloud reports; the paper's are ten times as many
_ROUNDS: Final = 4


def figure_5a(context: Context) -> Numbers:
    """Service rate against memory."""
    shares = (0.01, 0.1) if context.quick else (0.01, 0.02, 0.04, 0.07, 0.1)
    n = n_table(context)
    return {
        "x": shares,
        "n": n,
        "gains": _gains(context, [Setting(n, memory=share) for share in shares]),
    }


def figure_5b(context: Context) -> Numbers:
    """Service rate and processing time against the size of the table (also Figure 6)."""
    sizes = (20, 100) if context.quick else (20, 40, 60, 80, 100)
    return {"x": sizes, "gains": _gains(context, [_of_size(context, m) for m in sizes])}


def _of_size(context: Context, millions: int) -> Setting:
    size = millions * 1_000_000
    n = round(n_table(context) * millions / 100)
    return Setting(n, memory=_MEMORY_BYTES / (size * 120), paper_n=size)


def figure_5c(context: Context) -> Numbers:
    """INLJ and CINLJ against the size of the table; and both against HYBRIDJOIN."""
    sizes = (20, 100) if context.quick else (20, 60, 100)
    settings = [replace(_of_size(context, m), back_end="index") for m in sizes]
    plain = [replace(s, back_end="mesh", front_share=0.0) for s in settings]
    return {
        "x": sizes,
        "gains": {"index": [Gain.of(context, s) for s in settings]},
        "mesh": [rates(measure(context, s)) for s in plain],
    }


def figure_5d(context: Context) -> Numbers:
    """Service rate against skew; MESHJOIN also where links of hash chains are charged."""
    skews = (0.0, 0.5, 1.0) if context.quick else (0.0, 0.25, 0.5, 0.65, 0.8, 1.0)
    settings = [Setting(n_table(context), skew=skew) for skew in skews]
    linked = {}
    for link_s in LINKS_S:
        prices = Prices(operations=Operations(link_s=link_s))
        ends = [replace(s, back_end="mesh", prices=prices) for s in (settings[0], settings[-1])]
        uniform, skewed = (measure(context, s.uncached()) for s in ends)
        linked[link_s] = {
            "fall": ratio(skewed, uniform),
            "gain": ratio(measure(context, ends[1]), skewed),
        }
    return {"x": skews, "gains": _gains(context, settings), "linked": linked}


def figure_5e(context: Context) -> Numbers:
    """Customers and orders of TPC-H: as they are (uniform), and by Zipf's law (NAE-I4)."""
    shares = (0.01, 0.1) if context.quick else (0.01, 0.05, 0.1)
    n, prices = n_table(context), Prices(sizes=TupleSizes(table=223, stream=138))
    kinds = {"uniform": (0.0, 2 / 3), "Zipf": (1.0, 1.0)}
    return {
        "x": shares,
        "gains": {
            kind: _gains(context, [
                Setting(n, memory=share, skew=skew, used=used, paper_n=20_000_000, prices=prices)
                for share in shares
            ])
            for kind, (skew, used) in kinds.items()
        },
    }  # fmt: skip


def figure_5f(context: Context) -> Numbers:
    """Cloud reports joined on longitude: all rows of a value lie together and are one tuple."""
    shares = (0.01, 0.1) if context.quick else (0.01, 0.02, 0.05, 0.1)
    rows = _ROWS // (4 if context.quick else 1)
    sizes = TupleSizes(table=128 * rows // LONGITUDES, stream=128)
    found: dict[BackEnd, list[dict[str, Measurement]]] = {}
    for back_end in JOINS:
        found[back_end] = []
        for share in shares:
            setting = Setting(
                LONGITUDES, back_end, memory=share, paper_n=LONGITUDES * 20_000_000 // rows,
                prices=Prices(sizes=sizes),
            )  # fmt: skip
            after, before = (
                [_reports(s, seed) for seed in context.seeds] for s in (setting, setting.uncached())
            )
            found[back_end].append({
                "ratio": ratio(after, before), "with": rates(after), "without": rates(before),
                "hits": Measurement.of([run.hit_share for run in after]),
            })  # fmt: skip
    return {"x": shares, "found": found}


def _reports(setting: Setting, seed: int) -> Totals:
    warm, end = 3 * setting.split.waiting, 6 * setting.split.waiting
    keys = longitudes(end + 2 * setting.split.waiting, seed)
    run = SemiStreamRun(setting.join, DiskTable.of(LONGITUDES), keys)
    run.advance(served=warm)
    before = run.totals
    run.advance(served=end)
    return run.totals - before


def figure_5g(context: Context) -> Numbers:
    """Temporal locality: intervals with popular keys of their own, each key N times (NAE-D4)."""
    copies = (1, 20) if context.quick else (1, 5, 10, 20)
    shares = (0.01, 0.1)
    n = n_table(context) // (INTERVALS * 20) * INTERVALS * 20
    found: dict[float, list[dict[str, Measurement]]] = {}
    for share in shares:
        found[share] = []
        for each in copies:
            context.progress(f"memory {share:.0%}, N = {each}")
            setting = Setting(n, "mesh", memory=share)
            after, before = (
                [_local(s, each, seed) for seed in context.seeds[:3]]
                for s in (setting, setting.uncached())
            )
            found[share].append({
                "ratio": ratio(after, before), "with": rates(after), "without": rates(before),
                "hits": Measurement.of([run.hit_share for run in after]),
            })  # fmt: skip
    return {"x": copies, "found": found}


def _local(setting: Setting, copies: int, seed: int) -> Totals:
    """The 25 intervals again and again, of which the last two rounds count."""
    parts = [
        local_stream(setting.n, copies, setting.n // 2, seed=seed + 100 * r) for r in range(_ROUNDS)
    ]
    stream = np.concatenate([keys for _, keys in parts])
    table = DiskTable(parts[0][0], setting.n // copies)
    run = SemiStreamRun(setting.join, table, stream)
    run.advance(served=len(stream) // 2)
    before = run.totals
    run.advance()
    return run.totals - before


def disks(context: Context) -> Numbers:
    """The gains on other disks: the plain one of 2012, and an SSD."""
    prices = {
        "database": Prices(),
        "disk": Prices(disk=MAGNETIC_DISK),
        "SSD": Prices(disk=SSD, spill=SSD),
    }
    setting = Setting(n_table(context))
    return {
        name: {
            back_end: Gain.of(context, replace(setting, back_end=back_end, prices=each))
            for back_end in JOINS
        }
        for name, each in prices.items()
    }


def _gains(context: Context, settings: list[Setting]) -> Gains:
    found: dict[BackEnd, list[Gain]] = {}
    for back_end in JOINS:
        found[back_end] = []
        for i, setting in enumerate(settings):
            context.progress(f"{back_end}, {i + 1} of {len(settings)}")
            found[back_end].append(Gain.of(context, replace(setting, back_end=back_end)))
    return found
