"""The command line.

Reading order: `app` (the commands and how they fail), `sections` and `pipeline_file` (what a
pipeline file may say), `problems` (its mistakes as sentences), `plan` (the file in Spark's words),
`table_sections` and `table_file` (the same with a table), `session` (Spark as the file asks for
it), `run` (from the file to the summary), `job` (what it needs), `interrupts` (Ctrl-C), `recording`
(what others may read of it), `display`, `screen` and `sparks` (progress on the terminal), `totals`,
`left_out`, `from_table` and `units` (numbers in words), `closing`, `summary`, `comparison` and
`random_drop` (how it closes), `dashboard`, `explain`, and `beside` (commands that the repository
adds: `bench`, `reproduce`).
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
