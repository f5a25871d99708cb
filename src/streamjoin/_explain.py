"""`streamjoin.explain`: of a DataFrame or of a pipeline file.

Above all layers, since files belong to the command line and DataFrames to Spark.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args, overload

from streamjoin.errors import ConfigError, MissingExtraError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamjoin.explanations.asked import Rates, Selectivities
    from streamjoin.explanations.explanation import Explanation

Format = Literal["text", "json", "svg"]


@overload
def explain(
    frame: "DataFrame | str | Path",
    *,
    format: Literal["text"] = "text",
    rates: "Rates" = None,
    selectivities: "Selectivities" = None,
) -> "Explanation": ...


@overload
def explain(
    frame: "DataFrame | str | Path",
    *,
    format: Literal["json", "svg"],
    rates: "Rates" = None,
    selectivities: "Selectivities" = None,
) -> str: ...


def explain(
    frame: "DataFrame | str | Path",
    *,
    format: Format = "text",
    rates: "Rates" = None,
    selectivities: "Selectivities" = None,
) -> "Explanation | str":
    """Say what the joins of a DataFrame or of a pipeline file will do; nothing is started.

    A few sentences answer: what is joined, what comes out and is remembered, what CPU that takes,
    whether it fits, what to look out for. Then come the operators as a tree, the details (where
    each condition is evaluated, who meets whom in time, how the windows are probed and why, what a
    budget leaves out), what budgets of several sizes would mean, and warnings. Of many streams also
    half-way joins, paths and what each planner would make of a budget; of a join with a table how
    large that is, what reading it costs and what memory would mean.

    How often rows match decides most of it. Of a file's generated streams a sample shows it; else
    give `selectivities`, or one match for each row is assumed, and the text says so.

    Parameters
    ----------
    frame
        What `join`, `multi_join`, `table_join` or `sql` returned, or any DataFrame made from it; or
        the path of a pipeline file.
    format
        ``"text"``: an `Explanation`, to print. ``"json"``: the same as a JSON document.
        ``"svg"``: a drawing of the operators, as a document that needs nothing else.
    rates
        Rows per second (left, right); of many streams by name, such as ``{"a": 300, "b": 200, "c":
        50}``. Of a DataFrame with several joins: such by the name of the join. Without them the
        state is estimated for 1,000 rows/s, and nothing else; a file's generated streams say their
        own.
    selectivities
        The share of the pairs of a join's two inputs that match: a number; of many streams also by
        the streams below a join, such as ``{"a b": 0.01, "a b c": 0.002}``. It is 1 / n where n
        keys are equally frequent. Joins of many streams that are not named have 0.001.

    Returns
    -------
    Explanation or str
        Print an `Explanation`, or take its ``to_dict()``, ``to_json()`` or ``to_svg()``.

    Examples
    --------
    >>> import streamjoin as sj
    >>> spark = getfixture("spark")
    >>> ticks = spark.readStream.format("rate").load().selectExpr("value AS k", "timestamp AS t")
    >>> out = sj.join(ticks, ticks, on="k", time="t", window="1 minute", how="left",
    ...               lateness="4 seconds", idle_timeout="5 minutes")
    >>> sj.explain(out, rates=(50, 20), selectivities=0.01)
    streamjoin: left join of two streams
      Gives each row of left (50 rows/s) with the rows of right (20 rows/s) of the same k up to 1
        minute before or after it, or alone if there is none.
      About 1,200 rows/s come out; about 89.6 KB are remembered (5,600 rows).
      It takes about ... s of CPU for each second of the streams, ... % of ... cores: it fits.
      how it runs    result: about 1,200 rows/s; k, t_left, t_right
                     `- left window join: left.k = right.k
                        |  left -> right, last 1 minute: ...
                        |  right -> left, last 1 minute: ...
                        `- shuffle: ...
                           +- left: 50 rows/s, window of 1 minute; packed into Arrow blocks
                           `- right: 20 rows/s, window of 1 minute; packed into Arrow blocks
      conditions     left.k = right.k  (key)
      ...
      state, about   left 64 KB = 50 rows/s x (1 minute window + 4 seconds lateness + 16 s slice) x
                     16 B
      ...
    >>> sj.explain(out, format="svg")[:4]
    '<svg'
    """
    if format not in get_args(Format):
        raise ConfigError.at("format", repr(format), ", ".join(map(repr, get_args(Format))))
    if isinstance(frame, str | Path):
        explanation = _explain_file(frame, rates, selectivities)
    else:
        from streamjoin.spark.explain import explain_frame

        explanation = explain_frame(frame, rates, selectivities)
    if format == "text":
        return explanation
    return explanation.to_json() if format == "json" else explanation.to_svg()


def _explain_file(
    path: str | Path, rates: "Rates", selectivities: "Selectivities"
) -> "Explanation":
    if Path(path).suffix not in (".toml", ".sql"):
        raise ConfigError.at(
            "frame", repr(str(path)), "a DataFrame or a pipeline file (*.toml, *.sql)"
        )
    try:
        from streamjoin.cli.app import explain_settings
        from streamjoin.cli.sql_file import read
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("streamjoin"):
            raise
        raise MissingExtraError.of(extra="cli", module=error.name or "") from None
    return explain_settings(read(Path(path)), rates, selectivities)
