"""Experiments of Valsomatzis and Gounaris.

`policy_runs`: Figures 5 to 8, Tables 4 and 5; `elapsed_runs`: time to the last result;
`locality_runs` and `engine_runs`: where draining pays, which is ours.
"""

from typing import Final

from papers.base import Experiment
from papers.valsomatzis.elapsed_runs import elapsed
from papers.valsomatzis.engine_runs import engine
from papers.valsomatzis.locality_runs import locality
from papers.valsomatzis.policy_runs import arrivals, policies

EXPERIMENTS: Final = (
    Experiment("arrivals", arrivals),
    Experiment("policies", policies),
    Experiment("elapsed", elapsed),
    Experiment("locality", locality),
    Experiment("engine", engine),
)
