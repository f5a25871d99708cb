"""Verdicts on the claims of Valsomatzis and Gounaris: numbers in, `Judged` out.

`time_judges`: running times and causes; `result_judges`: when results come and buffers empty;
`burst_judges`: both, for the data sets with bursts.
"""

from typing import Final

from papers.base import Judge
from papers.valsomatzis.burst_judges import BURST_JUDGES
from papers.valsomatzis.result_judges import RESULT_JUDGES
from papers.valsomatzis.time_judges import TIME_JUDGES

JUDGES: Final[dict[str, Judge]] = {**TIME_JUDGES, **RESULT_JUDGES, **BURST_JUDGES}
