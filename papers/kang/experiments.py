"""The experiments of Kang et al., one for each figure, and the worked examples.

`costs`: Figures 2 to 6; `output_rates`: Figure 7; `splits`: Figures 8 to 10; `examples`: Figure 11
and what needs no data; `ratio` and `validation`: the costs of this machine.
"""

from typing import Final

from papers.base import Experiment
from papers.kang.costs import (
    figure_2,
    figure_3,
    figure_4,
    figure_5,
    figure_6,
    lazy,
    symmetry,
)
from papers.kang.examples import examples, surface
from papers.kang.output_rates import figure_7
from papers.kang.ratio import ratio
from papers.kang.splits import figure_8, figure_9, figure_10, resources
from papers.kang.validation import validation

EXPERIMENTS: Final = (
    Experiment("examples", examples),
    Experiment("symmetry", symmetry),
    Experiment("lazy", lazy),
    Experiment("figure 2", figure_2),
    Experiment("figure 3", figure_3),
    Experiment("figure 4", figure_4),
    Experiment("figure 5", figure_5),
    Experiment("ratio", ratio),
    Experiment("figure 6", figure_6),
    Experiment("figure 7", figure_7),
    Experiment("figure 8", figure_8),
    Experiment("figure 9", figure_9),
    Experiment("figure 10", figure_10),
    Experiment("resources", resources),
    Experiment("figure 11", surface),
    Experiment("validation", validation),
)
