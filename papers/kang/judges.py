"""Verdicts on the claims of Kang et al.: numbers in, `Judged` out.

`cost_judges`: Figures 2 to 6; `output_judges`: Figure 7; `split_judges`: Figures 8 to 11.
"""

from typing import Final

from papers.base import Judge
from papers.kang.cost_judges import COST_JUDGES
from papers.kang.output_judges import OUTPUT_JUDGES
from papers.kang.split_judges import SPLIT_JUDGES

JUDGES: Final[dict[str, Judge]] = {**COST_JUDGES, **OUTPUT_JUDGES, **SPLIT_JUDGES}
