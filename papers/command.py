"""Judge the papers' claims, and write the report."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from papers import PAPERS
from papers.base import Context, Paper
from papers.page import html
from papers.plots import require_matplotlib
from papers.run import FULL_SEEDS, QUICK_SEEDS, Outcome, find_paper, reproduce
from papers.sessions import LazySpark
from papers.table import count, markdown
from streamjoin.errors import EngineError

DOCUMENT = Path("docs", "papers.md")
_STYLES = {"not reproduced": "red", "not applicable": "yellow"}


def reproduce_command(paper: str | None, *, quick: bool, as_json: bool, output: Path) -> None:
    """Judge one paper's claims, or all; verdicts on stdout, progress on stderr."""
    papers = [find_paper(name) for name in (PAPERS if paper is None else [paper])]
    require_matplotlib()
    messages = Console(stderr=True, highlight=False)
    outcomes = _run(papers, quick, messages)
    report = output / "report.html"
    _write(report, html(outcomes, quick))
    if not quick and len(papers) == len(PAPERS) and _is_checkout(Path.cwd()):
        _write(DOCUMENT, markdown(outcomes))
        messages.print(f"Table: {DOCUMENT}", markup=False, soft_wrap=True)
    messages.print(f"Report: {report}", markup=False, soft_wrap=True)
    if as_json:
        rows = [r.to_dict(outcome.paper.name) for outcome in outcomes for r in outcome.results]
        document = {"claims": rows, "tables": _tables(outcomes)}
        print(json.dumps(document, indent=2))  # noqa: T201  # no console's folding
        return
    for outcome in outcomes:
        _show(outcome, Console(highlight=False))


def _run(papers: Sequence[Paper], quick: bool, console: Console) -> list[Outcome]:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    spark = LazySpark()
    try:
        with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
            task = bar.add_task("", total=sum(len(paper.experiments) for paper in papers))
            context = Context(
                quick=quick,
                seeds=QUICK_SEEDS if quick else FULL_SEEDS,
                progress=lambda line: bar.update(task, description=line),
                spark=spark,
            )
            return [reproduce(paper, context, lambda: bar.advance(task)) for paper in papers]
    finally:
        spark.stop()


def _tables(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    return [
        table.to_dict(outcome.paper.name, outcome.numbers)
        for outcome in outcomes
        for table in outcome.paper.tables
    ]


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EngineError(
            f"output: cannot write {file}: {error.strerror}; allowed: a folder to write to"
        ) from error


def _is_checkout(folder: Path) -> bool:
    """Whether a folder is the project's own, where the document belongs."""
    return (folder / DOCUMENT.parent).is_dir() and (folder / "src" / "streamjoin").is_dir()


def _show(outcome: Outcome, console: Console) -> None:
    table = Table(title=outcome.paper.reference, title_justify="left")
    for name in ("claim", "where", "model", "measured", "verdict"):
        table.add_column(name, overflow="fold")
    for result in outcome.results:
        claim, found = result.claim, result.found
        verdict = found.verdict + (" (wall clock)" if claim.wall_clock else "")
        cells = (claim.id, claim.place, found.model, found.measured, verdict)
        table.add_row(*map(escape, cells), style=None if found.holds else _STYLES[found.verdict])
    console.print(table)
    console.print(count(outcome.results))
    for result in outcome.unexpected:
        line = f"{result.claim.id}: {result.found.verdict}, expected: {result.claim.expected}"
        console.print(f"  ! {line}; {result.why}", style="red", markup=False, soft_wrap=True)
