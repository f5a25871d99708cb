"""Verdicts on the claims of Gedik et al.: numbers in, `Judged` out.

`rate_judges`: Figures 1 to 5; `selection_judges`: Figures 6 to 8 and the conclusions;
`basic_window_judges`: Figure 9.
"""

from typing import Final

from papers.base import Judge
from papers.gedik.basic_window_judges import BASIC_WINDOW_JUDGES
from papers.gedik.rate_judges import RATE_JUDGES
from papers.gedik.selection_judges import SELECTION_JUDGES

JUDGES: Final[dict[str, Judge]] = {
    **RATE_JUDGES,
    **SELECTION_JUDGES,
    **BASIC_WINDOW_JUDGES,
}
