"""Some rows of generated streams, as the join will get them.

What a pipeline file generates is known before it runs: a sample of it, drawn over about as much
time as the windows need, says how many rows pass the filters and how often rows match.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from streamjoin.explanations.asked import MAX_SAMPLED_ROWS, Sample, Sources
from streamjoin.explanations.plans import AnyPlan
from streamjoin.spark.generator import FORMAT, as_active, stream_of
from streamjoin.spark.pipeline import Pipeline, Source
from streamjoin.spark.plans import queries_of
from streamjoin.spark.sql import input_of
from streamjoin.sql_text.query_plan import stream_name
from streamjoin.workloads import GeneratedStream

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from streamjoin.sql_text.query_plan import QueryPlan

Shaping = Callable[[pa.Table], pa.Table]
MIN_PASSED_ROWS: Final = 0.5
"""Rows of a sample of which none passes the filters: few do, but it is not known that none does."""
_OTHER_SEED: Final = 7919
"""Between the seeds of two samples of one stream that is joined with itself."""


def sources_of(pipeline: Pipeline, frame: "DataFrame", plan: AnyPlan) -> Sources:
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
            shape = _shaping(sources[name], query, name, spark)
            samples[name] = _sample(stream, number, seconds, shape)
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
    met = 0.0
    for one in plan.inputs:
        rows = one.window_rows
        met += one.window_us / 1e6 if rows is None else rows / rate
    return max(1.0, 2 * met)


def _sample(stream: GeneratedStream, number: int, seconds: float, shape: Shaping | None) -> Sample:
    """Rows evenly over some time; fewer than there will be, with the same keys and values."""
    n = max(2, min(MAX_SAMPLED_ROWS, round(stream.rate_per_second * seconds)))
    seed = stream.seed + number * _OTHER_SEED
    thinned = replace(stream, rate_per_second=n / seconds, burst=None, seed=seed)
    rows = pa.Table.from_batches(thinned.batches(0, n))
    if shape is not None:
        rows = shape(rows)
    passed = max(len(rows), MIN_PASSED_ROWS) / n
    return Sample(rows, stream.rate_per_second * passed, seconds, stream)


def _shaping(
    source: Source, query: "QueryPlan | None", name: str, spark: "SparkSession"
) -> Shaping | None:
    """What Spark does to a stream's rows before the join; None for nothing."""
    if query is None and not source.select:
        return None

    def shape(rows: pa.Table) -> pa.Table:
        with as_active(spark):  # which making a DataFrame does for good
            frame = spark.createDataFrame(rows)
            frame = frame.selectExpr(*source.select) if source.select else frame
            return (frame if query is None else input_of(query, name, frame)).toArrow()

    return shape
