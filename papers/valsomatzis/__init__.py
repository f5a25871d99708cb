"""Valsomatzis and Gounaris 2013: which input drives an n-ary join.

Reading order: ``claims.toml``, `printed` (the paper's tables), `workload` (data sets and runs),
`comparison` (an order against timestamp order, and the model of work), `experiments`, `judges`,
`tables`, `figures`.
"""

from pathlib import Path
from typing import Final

from papers.base import Paper
from papers.valsomatzis.experiments import EXPERIMENTS
from papers.valsomatzis.figures import FIGURES
from papers.valsomatzis.judges import JUDGES
from papers.valsomatzis.tables import TABLES

PAPER: Final = Paper(
    name="valsomatzis",
    reference=(
        "E. Valsomatzis, A. Gounaris. Driver input selection for main-memory multi-way joins. "
        "SAC 2013"
    ),
    claims_file=Path(__file__).with_name("claims.toml"),
    experiments=EXPERIMENTS,
    judges=JUDGES,
    figures=FIGURES,
    tables=TABLES,
)

__all__ = ["PAPER"]
