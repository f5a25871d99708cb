"""Explain the join of a pipeline file or of a SQL file."""

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from streamjoin.cli.sections import GeneratorSource
from streamjoin.cli.session import borrowed
from streamjoin.cli.sql_file import Settings, SqlFile, plan_of, read
from streamjoin.cli.table_file import TableFile
from streamjoin.errors import EngineError, StreamJoinError

if TYPE_CHECKING:
    from streamjoin.spark.explain import Explanation
    from streamjoin.spark.explain_plan_model import Selectivities
    from streamjoin.spark.explain_rates import OfJoin, Rates


def explain_command(file: Path, *, as_json: bool) -> None:
    """Print what the join of a file will do: the text, or one JSON document."""
    settings = read(file)
    Console(stderr=True, highlight=False).print("Starting Spark ...")
    explanation = _explain(settings, None)
    if as_json:
        print(json.dumps(explanation.to_dict(), indent=2))  # noqa: T201  # no console's folding
        return
    console = Console(highlight=False)
    for line in str(explanation).splitlines():
        style = None if line.startswith("  ") else "bold"
        warns = line.startswith("  ! ")
        console.print(line, style="yellow" if warns else style, markup=False, soft_wrap=True)


def explain_file(
    file: Path, rates: "Rates", selectivities: "Selectivities" = None
) -> "Explanation":
    """Explain the join of a file, in the Spark of this process or in one of its own."""
    return _explain(read(file), rates, selectivities)


def _explain(
    settings: Settings, rates: "Rates", selectivities: "Selectivities" = None
) -> "Explanation":
    from streamjoin.spark.explain import explain_frame
    from streamjoin.spark.failures import root_cause

    # The time does not matter, and the folder only for the index of a table: nothing is started.
    with tempfile.TemporaryDirectory(prefix="streamjoin-") as scratch:
        pipeline = plan_of(settings, now=0.0, scratch=Path(scratch))
        with borrowed(settings) as spark:
            try:
                known = rates or _generated(settings)
                return explain_frame(pipeline.joined(spark), known, selectivities)
            except StreamJoinError:
                raise
            except Exception as error:
                raise EngineError(root_cause(error)) from error


def _generated(settings: Settings) -> "OfJoin | None":
    """Rows per second of generated streams."""
    if isinstance(settings, SqlFile):
        return settings.rates
    if isinstance(settings, TableFile):
        return None
    left, right = settings.left, settings.right
    if isinstance(left, GeneratorSource) and isinstance(right, GeneratorSource):
        return left.rate, right.rate
    return None
