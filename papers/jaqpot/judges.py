"""Verdicts on the claims of Mukherji et al.: numbers in, `Judged` out.

`example_judges`: worked examples; `run_judges`: Figures 6 and 7, and the solvers;
`freshness_judges`: Figures 8 and 9, and the conclusions.
"""

from typing import Final

from papers.base import Judge
from papers.jaqpot.example_judges import EXAMPLE_JUDGES
from papers.jaqpot.freshness_judges import FRESHNESS_JUDGES
from papers.jaqpot.run_judges import RUN_JUDGES

JUDGES: Final[dict[str, Judge]] = {**EXAMPLE_JUDGES, **RUN_JUDGES, **FRESHNESS_JUDGES}
