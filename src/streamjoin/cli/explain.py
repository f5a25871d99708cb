"""Explain the join of a pipeline file or of a SQL file."""

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from streamjoin.cli.pipeline_file import Settings
from streamjoin.cli.session import borrowed
from streamjoin.cli.sql_file import read
from streamjoin.errors import ConfigError, EngineError, StreamJoinError

if TYPE_CHECKING:
    from streamjoin.explanations.asked import Rates, Selectivities
    from streamjoin.explanations.explanation import Explanation


def explain_command(file: Path, *, as_json: bool, svg: Path | None = None) -> None:
    """Print what the join of a file will do: the text, or one JSON document; draw it if asked."""
    settings = read(file)
    Console(stderr=True, highlight=False).print("Starting Spark ...")
    explanation = _explain(settings, None)
    if svg is not None:
        try:
            svg.write_text(explanation.to_svg(), encoding="utf-8")
        except OSError as error:
            raise ConfigError.at(
                "--svg", f"{str(svg)!r}: {error.strerror}", "a file that can be written"
            ) from None
    if as_json:
        print(explanation.to_json())  # noqa: T201  # no console's folding
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
    from streamjoin.spark.explain import explain_pipeline
    from streamjoin.spark.failures import root_cause

    # The time does not matter, and the folder only for the index of a table: nothing is started.
    with tempfile.TemporaryDirectory(prefix="streamjoin-") as scratch:
        pipeline = settings.plan(now=0.0, scratch=Path(scratch))
        with borrowed(settings) as spark:
            try:
                return explain_pipeline(pipeline, spark, rates, selectivities)
            except StreamJoinError:
                raise
            except Exception as error:
                raise EngineError(root_cause(error)) from error
