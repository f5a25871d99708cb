"""Experiments of Naeem et al., in the order of the paper.

`arithmetic`: printed numbers, and Section 4.2 on partitions; `shedding_runs`: Figures 4, 7 and 8;
`caching_runs`: Figures 5 and 6; `design_runs`: Figure 9; `admission_runs`: ours.
"""

from typing import Final

from papers.base import Experiment
from papers.naeem.admission_runs import admission
from papers.naeem.arithmetic import arithmetic, partitions
from papers.naeem.caching_runs import (
    disks,
    figure_5a,
    figure_5b,
    figure_5c,
    figure_5d,
    figure_5e,
    figure_5f,
    figure_5g,
)
from papers.naeem.design_runs import (
    figure_9a,
    figure_9b,
    figure_9c,
    figure_9d,
    figure_9e,
    figure_9f,
)
from papers.naeem.shedding_runs import figure_4, figure_7, figure_8, queue

EXPERIMENTS: Final = (
    Experiment("arithmetic", arithmetic),
    Experiment("partitions", partitions),
    Experiment("figure 4", figure_4),
    Experiment("queue", queue),
    Experiment("figure 5a", figure_5a),
    Experiment("figure 5b", figure_5b),
    Experiment("figure 5c", figure_5c),
    Experiment("figure 5d", figure_5d),
    Experiment("figure 5e", figure_5e),
    Experiment("figure 5f", figure_5f),
    Experiment("figure 5g", figure_5g),
    Experiment("figure 7", figure_7),
    Experiment("figure 8", figure_8),
    Experiment("figure 9a", figure_9a),
    Experiment("figure 9b", figure_9b),
    Experiment("figure 9c", figure_9c),
    Experiment("figure 9d", figure_9d),
    Experiment("figure 9e", figure_9e),
    Experiment("figure 9f", figure_9f),
    Experiment("disks", disks),
    Experiment("admission", admission),
)
