"""The same gains on other disks, as a table of the report."""

from typing import Final

from papers.base import AllNumbers, ResultTable
from papers.naeem.runs import Gain

_NAMES: Final = {"mesh": "CMESHJOIN", "hybrid": "CHYBRIDJOIN"}


def _rows(numbers: AllNumbers) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for disk, gains in numbers["disks"].items():
        for back_end, name in _NAMES.items():
            gain: Gain = gains[back_end]
            rows.append((
                disk, name, f"{gain.without.mean:,.0f}", f"{gain.with_.mean:,.0f}",
                f"{gain.ratio.mean:.2f}", f"{gain.most:.2f}", f"{gain.hits.mean:.2f}",
            ))  # fmt: skip
    return rows


DISKS: Final = ResultTable(
    title="The front stage on other disks",
    note=(
        "Memory of 10 % of the table, exponent 1. database: 12.7 ms a seek and 12 MB/s, as behind "
        "a database server; disk: the same without one, 100 MB/s; SSD: 0.1 ms and 500 MB/s. Rates "
        "are stream tuples a virtual second; the bound is that of a join that waits for the disk "
        "only, at the hit share that was measured."
    ),
    columns=("disk", "join", "rate without", "rate with", "ratio", "bound", "hit share"),
    rows=_rows,
)
