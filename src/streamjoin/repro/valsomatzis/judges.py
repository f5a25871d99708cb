"""Verdicts on the claims of Valsomatzis and Gounaris: numbers in, `Judged` out.

`time_judges`: running times and causes; `result_judges`: when results come and buffers empty;
`burst_judges`: both, for the data sets with bursts.
"""

from typing import Final

from streamjoin.repro.base import Judge
from streamjoin.repro.valsomatzis.burst_judges import BURST_JUDGES
from streamjoin.repro.valsomatzis.result_judges import RESULT_JUDGES
from streamjoin.repro.valsomatzis.time_judges import TIME_JUDGES

JUDGES: Final[dict[str, Judge]] = {**TIME_JUDGES, **RESULT_JUDGES, **BURST_JUDGES}
