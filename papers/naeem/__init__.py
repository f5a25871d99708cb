"""Naeem, Dobbie, Lutteroth and Weber 2017: a stream joined with a table on disk.

Reading order: ``claims.toml``, `workload` (set-ups, scaled), `runs` (with a front stage and
without), `experiments`, `judges`, `figures`; `admission_runs` and `tables` go beyond the paper. All
of it is in virtual time, on a virtual disk (`papers.operators.semi_stream_costs`).
"""

from pathlib import Path
from typing import Final

from papers.base import Paper
from papers.naeem.admission_runs import ADMISSION
from papers.naeem.experiments import EXPERIMENTS
from papers.naeem.figures import FIGURES
from papers.naeem.judges import JUDGES
from papers.naeem.tables import DISKS

PAPER: Final = Paper(
    name="naeem",
    reference=(
        "M. A. Naeem, G. Dobbie, C. Lutteroth, G. Weber. Skewed Distributions in Semi-Stream "
        "Joins: How much can Caching help? Information Systems 64, 2017"
    ),
    claims_file=Path(__file__).with_name("claims.toml"),
    experiments=EXPERIMENTS,
    judges=JUDGES,
    figures=FIGURES,
    tables=(ADMISSION, DISKS),
)

__all__ = ["PAPER"]
