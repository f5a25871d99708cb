"""The command line.

Reading order: `app` (the commands and how they fail). What a pipeline file may say: `fields` (how
keys are checked, mistakes as sentences), `places` (sources, sinks, tables), `sections` (the join
and the run). Files: `plan` (places in Spark's words), `pipeline_file` (two streams), `table_file`
(a stream and a table), `sql_file`. Running one: `session` (Spark as the file asks for it), `run`
(from the file to the summary), `job` (what a run needs and writes down), `totals` (what it adds up
to, in words), `display` and `screen` (progress on the terminal), `summary` and `comparison` (how
it closes). Other commands: `explain`, `calibrate`.
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
