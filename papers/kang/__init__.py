"""Kang, Naughton and Viglas 2003: cost model, choice of algorithm, splits of CPU and memory.

Reading order: ``claims.toml``, `workload`, `operator` (the paper's joins by name), `experiments`,
`judges`, `figures`.
"""

from pathlib import Path
from typing import Final

from papers.base import Paper
from papers.kang.experiments import EXPERIMENTS
from papers.kang.figures import FIGURES
from papers.kang.judges import JUDGES

PAPER: Final = Paper(
    name="kang",
    reference=(
        "J. Kang, J. F. Naughton, S. D. Viglas. Evaluating Window Joins over Unbounded Streams. "
        "ICDE 2003"
    ),
    claims_file=Path(__file__).with_name("claims.toml"),
    experiments=EXPERIMENTS,
    judges=JUDGES,
    figures=FIGURES,
)

__all__ = ["PAPER"]
