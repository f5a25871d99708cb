"""Explain the join of a pipeline that a file describes."""

from pyspark.sql import SparkSession

from streamjoin.spark.explain import Explanation, explain_frame
from streamjoin.spark.explain_plan_model import Selectivities
from streamjoin.spark.explain_rates import Rates
from streamjoin.spark.explain_samples import sources_of
from streamjoin.spark.pipeline import Pipeline
from streamjoin.spark.plans import JoinPlan, TablePlan, plans_of


def explain_pipeline(
    pipeline: Pipeline,
    spark: SparkSession,
    names: tuple[str, ...],
    rates: Rates = None,
    selectivities: Selectivities = None,
) -> Explanation:
    """Explain a pipeline; of generated streams a sample tells rates and how often rows match.

    Parameters
    ----------
    pipeline
        What would run.
    spark
        Where its streams are opened; nothing is started.
    names
        What the file calls its streams, in the order of the join; a query says so itself.
    rates, selectivities
        As of `streamjoin.explain`; they win over what a sample shows.
    """
    frame = pipeline.joined(spark)
    plan = plans_of(frame)[0]
    sources = sources_of(pipeline, names, frame, plan)
    if rates is None and sources.samples and not isinstance(plan, TablePlan):
        by_name = {name: sources.samples[name].rate for name in sources.names}
        left, right, *_ = by_name.values()
        rates = (left, right) if isinstance(plan, JoinPlan) else by_name
    return explain_frame(frame, rates, selectivities, sources)
