"""Mukherji, Rundensteiner and Ward 2011: throughput and freshness of plans of many joins (JAQPOT).

Reading order: ``claims.toml``, `workload` (set-ups), `experiments`, `judges`, `figures`; `tables`
goes beyond the paper.
"""

from pathlib import Path
from typing import Final

from papers.base import Paper
from papers.jaqpot.experiments import EXPERIMENTS
from papers.jaqpot.figures import FIGURES
from papers.jaqpot.judges import JUDGES
from papers.jaqpot.tables import GAPS, SETTLED, TIMES

PAPER: Final = Paper(
    name="jaqpot",
    reference=(
        "A. Mukherji, E. A. Rundensteiner, M. O. Ward. Achieving High Freshness and Optimal "
        "Throughput in CPU-Limited Execution of Multi-Join Continuous Queries. BNCOD 2011"
    ),
    claims_file=Path(__file__).with_name("claims.toml"),
    experiments=EXPERIMENTS,
    judges=JUDGES,
    figures=FIGURES,
    tables=(SETTLED, GAPS, TIMES),
)

__all__ = ["PAPER"]
