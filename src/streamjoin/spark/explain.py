"""Explain the joins of a DataFrame or of a pipeline file.

What a pipeline file generates is known before it runs: a sample of it, drawn over about as much
time as the windows need, says how many rows pass the filters and how often rows match.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from streamjoin.errors import ConfigError
from streamjoin.explanations.asked import (
    MAX_SAMPLED_ROWS,
    NOTHING_KNOWN,
    Rates,
    Sample,
    Selectivities,
    Sources,
)
from streamjoin.explanations.explanation import Explanation, explain_plans
from streamjoin.joins.plans import AnyPlan
from streamjoin.spark.generator import FORMAT, as_active, stream_of
from streamjoin.spark.pipeline import Pipeline, Source
from streamjoin.spark.plans import plan_text, plans_of, queries_of
from streamjoin.spark.requirements import n_cores
from streamjoin.spark.sql import input_of
from streamjoin.sql_text.query_plan import stream_name
from streamjoin.workloads import GeneratedStream

if TYPE_CHECKING:
    from streamjoin.sql_text.query_plan import QueryPlan

MIN_PASSED_ROWS: Final = 0.5
"""Rows of a sample of which none passes the filters: few do, but it is not known that none does."""
_OTHER_SEED: Final = 7919
"""Between the seeds of two samples of one stream that is joined with itself."""


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
    plans, queries, cores = plans_of(text), queries_of(text), n_cores(frame.sparkSession)
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
    sources = _sources_of(pipeline, frame, plan)
    if rates is None and sources.samples and plan.inputs:
        by_name = {name: sources.samples[name].rate for name in sources.names}
        left, right, *_ = by_name.values()
        rates = (left, right) if plan.stream_names is None else by_name
    return explain_frame(frame, rates, selectivities, sources)


def _sources_of(pipeline: Pipeline, frame: DataFrame, plan: AnyPlan) -> Sources:
    """What is known of a pipeline's streams; `frame` is what it joined, by `plan`."""
    spark, query = frame.sparkSession, next(iter(queries_of(frame)), None)
    sources = _sources(pipeline)
    filters, samples = {}, {}
    if query is not None:
        filters = {name: tuple(c.text for c in query.at("stream", stream=name)) for name in sources}
    if all(source.format == FORMAT for source in sources.values()):
        streams = {name: stream_of(source.options) for name, source in sources.items()}
        seconds = _span(plan, min(stream.rate_per_second for stream in streams.values()))
        for number, (name, stream) in enumerate(streams.items()):
            n = max(2, min(MAX_SAMPLED_ROWS, round(stream.rate_per_second * seconds)))
            rows = _shaped(
                _generated(stream, number, n, seconds), sources[name], query, name, spark
            )
            passed = max(len(rows), MIN_PASSED_ROWS) / n
            samples[name] = Sample(rows, stream.rate_per_second * passed, seconds, stream)
    return Sources(tuple(sources), filters, samples)


def _sources(pipeline: Pipeline) -> Mapping[str, Source]:
    """The streams by what the join calls them, in its order."""
    query, streams = pipeline.query, pipeline.streams
    if query is None:
        return streams
    used = query.streams.sources
    return {one.alias: streams[stream_name(query, one, list(streams))] for one in used}


def _span(plan: AnyPlan, rate: float) -> float:
    """Seconds that a sample has to cover, at the lowest rate: twice what a row can meet."""
    met = [
        s.window_us / 1e6 if s.window_rows is None else s.window_rows / rate for s in plan.inputs
    ]
    return max(1.0, 2 * sum(met))


def _generated(stream: GeneratedStream, number: int, n: int, seconds: float) -> pa.Table:
    """Rows evenly over some time; fewer than there will be, with the same keys and values."""
    seed = stream.seed + number * _OTHER_SEED
    thinned = replace(stream, rate_per_second=n / seconds, burst=None, seed=seed)
    return pa.Table.from_batches(thinned.batches(0, n))


def _shaped(
    rows: pa.Table, source: Source, query: "QueryPlan | None", name: str, spark: SparkSession
) -> pa.Table:
    """Rows of a stream after what Spark does to them before the join."""
    if query is None and not source.select:
        return rows
    with as_active(spark):  # which making a DataFrame does for good
        frame = spark.createDataFrame(rows)
        frame = frame.selectExpr(*source.select) if source.select else frame
        return (frame if query is None else input_of(query, name, frame)).toArrow()
