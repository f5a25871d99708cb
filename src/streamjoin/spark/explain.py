"""Explain the joins of a DataFrame, of a plan as Spark writes it, or of a pipeline file."""

from pyspark.sql import DataFrame, SparkSession

from streamjoin.errors import ConfigError
from streamjoin.explanations.asked import NOTHING_KNOWN, Rates, Selectivities, Sources
from streamjoin.explanations.explanation import Explanation, explain_plans
from streamjoin.spark.pipeline import Pipeline
from streamjoin.spark.plans import plan_text, plans_of, queries_of
from streamjoin.spark.requirements import n_cores
from streamjoin.spark.samples import sources_of


def explain_frame(
    frame: DataFrame,
    rates: Rates = None,
    selectivities: Selectivities = None,
    sources: Sources = NOTHING_KNOWN,
) -> Explanation:
    """Explain every join that a DataFrame comes from; `sources` is what its file says besides.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t")
    >>> out = sj.join(ticks, ticks, on="k", time="t", window=("10 minutes", "0 seconds"))
    >>> print(explain_frame(out).reports[0].sections["windows"][0])
    a left row of time t meets right rows from t to t + 10 minutes
    """
    if not isinstance(frame, DataFrame):
        raise ConfigError.at("frame", type(frame).__name__, "a DataFrame or a pipeline file's path")
    text = plan_text(frame)
    if not plans_of(text):
        raise ConfigError(
            "frame: the DataFrame comes from no join of streamjoin; allowed: what sj.join returns"
        )
    cores = n_cores(frame.sparkSession)
    return explain_text(text, cores, rates, selectivities, sources)


def explain_text(
    text: str,
    cores: int,
    rates: Rates = None,
    selectivities: Selectivities = None,
    sources: Sources = NOTHING_KNOWN,
) -> Explanation:
    """Explain every join that is in Spark's text of a plan."""
    plans, queries = plans_of(text), queries_of(text)
    return explain_plans(plans, queries, cores, rates, selectivities, sources)


def explain_pipeline(
    pipeline: Pipeline,
    spark: SparkSession,
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
    rates, selectivities
        As of `streamjoin.explain`; they win over what a sample shows.
    """
    frame = pipeline.joined(spark)
    plan = plans_of(frame)[0]
    sources = sources_of(pipeline, frame, plan)
    if rates is None and sources.samples and plan.inputs:
        by_name = {name: sources.samples[name].rate for name in sources.names}
        left, right, *_ = by_name.values()
        rates = (left, right) if plan.stream_names is None else by_name
    return explain_frame(frame, rates, selectivities, sources)
