"""The command line.

Reading order: `app` (the commands and how they fail). What a file may say: `fields` (how keys are
checked, mistakes as sentences), `places` (sources and sinks, also in Spark's words), `sections`
(the join and the run). Files: `pipeline_file` (what all have; two streams), `table_file` (a stream
and a table), `sql_file`. Running one: `run` (from the file to the summary), `display` (progress on
the terminal), `totals` (what it adds up to, and the summary), `comparison` (what others would have
found).
"""

from streamjoin.errors import MissingExtraError


def main() -> None:
    """Entry point of the command ``streamjoin``."""
    import sys

    try:
        from streamjoin.cli.app import run_app
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"typer", "rich", "pydantic", "tomli"}:
            raise
        sys.exit(f"streamjoin: {MissingExtraError.of('cli', error.name or '')}")
    sys.exit(run_app())


__all__ = ["main"]
