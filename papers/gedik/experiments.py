"""Experiments of Gedik et al., in the order of the paper.

`rate_runs`: Figures 1 to 5; `selection_runs`: Figures 6 to 8; `basic_window_runs`: Figure 9;
`overload_runs`: kinds of overload; `optimum`: quality against the possible, which is ours.
"""

from typing import Final

from papers.base import Experiment
from papers.gedik.basic_window_runs import figure_9
from papers.gedik.optimum import optimum
from papers.gedik.overload_runs import overload
from papers.gedik.rate_runs import figure_1, figure_2, figure_4, figure_5, partial
from papers.gedik.selection_runs import figure_7, figure_8

EXPERIMENTS: Final = (
    Experiment("figure 1", figure_1),
    Experiment("figure 2", figure_2),
    Experiment("partial", partial),
    Experiment("figure 4", figure_4),
    Experiment("figure 5", figure_5),
    Experiment("figure 7", figure_7),
    Experiment("figure 8", figure_8),
    Experiment("figure 9", figure_9),
    Experiment("overload", overload),
    Experiment("optimum", optimum),
)
