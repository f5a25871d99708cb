"""What a planner decides: the probes that each half-way join may make per second."""

from dataclasses import dataclass

from streamjoin.planning.path_productivity import PathTable
from streamjoin.planning.plan_model import Floats, PlanModel


@dataclass(frozen=True, eq=False)
class Allocation:
    """Allowances, and what the model predicts of them.

    Parameters
    ----------
    planner
        Who decided.
    allowances
        Probes per second that each half-way join may make.
    throughput
        Results per second.
    resources
        What the probes cost per second.
    cover
        Part of the resources that keeps the intermediate states fresh (Delta mu, JAQ-A22).
    paths
        Resources of each path, if the planner thinks in paths.
    infeasible
        Why the freshness asked for cannot be had; then throughput alone decided.
    """

    planner: str
    allowances: Floats
    throughput: float
    resources: float
    cover: float = 0.0
    paths: Floats | None = None
    infeasible: str | None = None

    @classmethod
    def of_allowances(cls, planner: str, model: PlanModel, allowances: Floats) -> "Allocation":
        """Predict from allowances."""
        flow = model.flow(allowances)
        return cls(planner, allowances, flow.throughput, float(model.costs @ flow.probes))

    @classmethod
    def of_paths(
        cls,
        planner: str,
        table: PathTable,
        paths: Floats,
        cover: float = 0.0,
        infeasible: str | None = None,
    ) -> "Allocation":
        """Predict from the resources of each path."""
        return cls(
            planner=planner,
            allowances=table.allowances(paths),
            throughput=float(table.productivity @ paths),
            resources=float(paths.sum()),
            cover=cover,
            paths=paths,
            infeasible=infeasible,
        )
