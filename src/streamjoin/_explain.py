"""`streamjoin.explain`: of a DataFrame or of a pipeline file.

Above all layers, since files belong to the command line and DataFrames to Spark.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from streamjoin.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamjoin.spark.explain import Explanation
    from streamjoin.spark.explain_plan_model import Selectivities
    from streamjoin.spark.explain_rates import Rates


def explain(
    frame: "DataFrame | str | Path",
    *,
    rates: "Rates" = None,
    selectivities: "Selectivities" = None,
) -> "Explanation":
    """Say what the joins of a DataFrame or of a pipeline file will do; nothing is started.

    Where each condition is evaluated, who meets whom in time, when rows come out, shards and index,
    an estimate of the state, and warnings: a cross join, one shard, no lateness, state that a
    silent input makes grow. Of many streams also the plan, its operators, half-way joins and paths,
    and what each planner would make of a budget. Of a join with a table: how large that is and what
    reading it costs, how the memory is divided, and what that means.

    Parameters
    ----------
    frame
        What `join`, `multi_join`, `table_join` or `sql` returned, or any DataFrame made from it; or
        the path of a pipeline file.
    rates
        Rows per second (left, right), for the estimate of the state; of many streams by name, such
        as ``{"a": 300, "b": 200, "c": 50}``. Of a DataFrame with several joins: such by the name of
        the join. Without them the estimate is for 1,000 rows/s, and of many streams there is none;
        a file's generated streams say their own.
    selectivities
        Of many streams: the share of the pairs of a join's two inputs that match, by the streams
        below it, such as ``{"a b": 0.01, "a b c": 0.002}``, or one for all; 1 / n where n keys are
        equally frequent. Joins that are not named have 0.001.

    Returns
    -------
    Explanation
        Print it, or take its ``to_dict()``.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t")
    >>> out = sj.join(ticks, ticks, on="k", time="t", window="1 minute", how="left",
    ...               lateness="4 seconds", idle_timeout="5 minutes")
    >>> sj.explain(out, rates=(50, 20))
    streamjoin: left join of two streams
      conditions     left.k = right.k  (key)
      windows        a left row of time t meets right rows from t - 1 minute to t + 1 minute
                     rows are remembered for 1 minute
      comes out      pairs at once
                     left rows without a partner in the batch whose watermark is past t + 1 minute;
                     ...
      index          hash index by key of the rows that arrive; what is remembered is streamed past
                     it
      columns        k, t_left, t_right
      state, about   left 64 KB = 50 rows/s x (1 minute window + 4 seconds lateness + 16 s slice) x
                     16 B
                     ...
                     together 89.6 KB, and more while one input is ahead of the other
    """
    if isinstance(frame, str | Path):
        return _explain_file(frame, rates, selectivities)
    from streamjoin.spark.explain import explain_frame

    return explain_frame(frame, rates, selectivities)


def _explain_file(
    path: str | Path, rates: "Rates", selectivities: "Selectivities"
) -> "Explanation":
    if Path(path).suffix not in (".toml", ".sql"):
        msg = f"frame: got {str(path)!r}; allowed: a DataFrame or a pipeline file (*.toml, *.sql)"
        raise ConfigError(msg)
    try:
        from streamjoin.cli.explain import explain_file
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("streamjoin"):
            raise
        raise MissingExtraError.of(extra="cli", module=error.name or "") from None
    return explain_file(Path(path), rates, selectivities)
