"""Gedik, Wu, Yu and Liu 2005: load shedding by selective processing.

Reading order: ``claims.toml``, `rotating_sets` (streams), `workload` (set-ups), `densities` and
`ideal` (what is to be expected), `experiments`, `judges`, `figures`; `optimum` and `quality_table`
go beyond the paper.
"""

from pathlib import Path
from typing import Final

from papers.base import Paper
from papers.gedik.experiments import EXPERIMENTS
from papers.gedik.figures import FIGURES
from papers.gedik.judges import JUDGES
from papers.gedik.quality_table import QUALITY

PAPER: Final = Paper(
    name="gedik",
    reference=(
        "B. Gedik, K.-L. Wu, P. S. Yu, L. Liu. Adaptive Load Shedding for Windowed Stream Joins. "
        "CIKM 2005"
    ),
    claims_file=Path(__file__).with_name("claims.toml"),
    experiments=EXPERIMENTS,
    judges=JUDGES,
    figures=FIGURES,
    tables=(QUALITY,),
)

__all__ = ["PAPER"]
