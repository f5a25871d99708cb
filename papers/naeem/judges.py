"""Verdicts on the claims of Naeem et al.: numbers in, `Judged` out.

`caching_judges`: Figures 5 and 6; `shedding_judges`: Figures 4, 7 and 8 and Section 4;
`design_judges`: printed numbers and Figure 9.
"""

from typing import Final

from papers.base import Judge
from papers.naeem.caching_judges import CACHING_JUDGES
from papers.naeem.design_judges import DESIGN_JUDGES
from papers.naeem.shedding_judges import SHEDDING_JUDGES

JUDGES: Final[dict[str, Judge]] = {**CACHING_JUDGES, **SHEDDING_JUDGES, **DESIGN_JUDGES}
