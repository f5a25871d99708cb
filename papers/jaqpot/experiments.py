"""Experiments of Mukherji et al., in the order of the paper.

`examples`: what the paper works out; `fluctuation_runs`: Figure 6; `resource_runs`: Figure 7;
`sensor_runs`: Figures 8 and 9.c; `staleness_runs`: the rest of Figure 9; `solver_runs`: the solvers
by themselves, and JAQPOT against the optimum, which is ours.
"""

from typing import Final

from papers.base import Experiment
from papers.jaqpot.examples import examples
from papers.jaqpot.fluctuation_runs import figure_6, variation
from papers.jaqpot.resource_runs import figure_7
from papers.jaqpot.sensor_runs import figure_8, figure_9c
from papers.jaqpot.solver_runs import gaps, steps, times
from papers.jaqpot.staleness_runs import cover_costs, figure_9, guarantee

EXPERIMENTS: Final = (
    Experiment("examples", examples),
    Experiment("steps", steps),
    Experiment("figure 6", figure_6),
    Experiment("variation", variation),
    Experiment("figure 7", figure_7),
    Experiment("figure 8", figure_8),
    Experiment("figure 9", figure_9),
    Experiment("figure 9.c", figure_9c),
    Experiment("covers", cover_costs),
    Experiment("guarantee", guarantee),
    Experiment("gaps", gaps),
    Experiment("times", times),
)
