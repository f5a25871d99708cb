"""The report: one HTML file that needs nothing else."""

from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Final

from papers.base import VERDICTS, Figure, Result, ResultTable, Verdict
from papers.plots import svg
from papers.run import Outcome
from papers.table import count

_SIGNS: Final[dict[Verdict, str]] = {
    "reproduced": "✓",
    "not reproduced": "✗",
    "not applicable": "o",
}
_CLASSES: Final[dict[Verdict, str]] = {
    "reproduced": "yes",
    "not reproduced": "no",
    "not applicable": "na",
}
_COLUMNS: Final = ("Claim", "Paper", "Model", "Measured", "Verdict")


def html(outcomes: Sequence[Outcome], quick: bool) -> str:
    """Write the report."""
    style = files("papers").joinpath("page.css").read_text(encoding="utf-8")
    body = "\n".join([_summary(outcomes, quick), *(_paper(outcome) for outcome in outcomes)])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>The papers' claims</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _summary(outcomes: Sequence[Outcome], quick: bool) -> str:
    results = [result for outcome in outcomes for result in outcome.results]
    size = "Reduced sizes (--quick)" if quick else "The papers' sizes"
    tiles = "".join(_tile(verdict, results) for verdict in VERDICTS)
    chips = "".join(_chip(result) for result in results)
    return (
        "<header><h1>The papers' claims</h1>"
        f"<p>{size}. Counts and model values decide wherever they can; a claim that seconds of "
        "this machine decide is marked <i>wall clock</i>. Lines are the model, points are "
        "measured, bars their 95 % interval over seeds.</p>"
        f'<div class="tiles">{tiles}</div><p class="chips">{chips}</p></header>'
    )


def _tile(verdict: Verdict, results: Sequence[Result]) -> str:
    n = sum(result.found.verdict == verdict for result in results)
    return f'<div class="tile {_CLASSES[verdict]}"><b>{n}</b> {verdict}</div>'


def _chip(result: Result) -> str:
    verdict = result.found.verdict
    name = result.claim.id
    return (
        f'<a class="chip {_CLASSES[verdict]}" href="#{name}" title="{verdict}">'
        f"{_SIGNS[verdict]} {name}</a> "
    )


def _paper(outcome: Outcome) -> str:
    parts = [
        f"<h2>{escape(outcome.paper.reference)}</h2>",
        f"<p>{count(outcome.results)}.</p>",
        *(_figure(figure, outcome) for figure in outcome.paper.figures),
        *(_result_table(table, outcome) for table in outcome.paper.tables),
        "<h3>All claims</h3>",
        _table(outcome.results),
    ]
    return f'<section id="{outcome.paper.name}">' + "\n".join(parts) + "</section>"


def _figure(figure: Figure, outcome: Outcome) -> str:
    beside = [result for result in outcome.results if result.claim.id in figure.claims]
    verdicts = "".join(
        f"<li>{_badge(result)}<p>{escape(result.claim.stated)}</p>"
        f'<p class="why">{escape(result.why)}</p></li>'
        for result in beside
    )
    return (
        f"<article><h3>{escape(figure.name)}. {escape(figure.title)}</h3>"
        f'<div class="pair"><figure>{svg(figure, outcome.numbers)}</figure>'
        f"<ul>{verdicts}</ul></div></article>"
    )


def _result_table(table: ResultTable, outcome: Outcome) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in table.columns)
    rows = "".join(
        "<tr>"
        + "".join(
            f'<td data-label="{escape(name)}">{escape(cell)}</td>'
            for name, cell in zip(table.columns, row, strict=True)
        )
        + "</tr>"
        for row in table.rows(outcome.numbers)
    )
    return (
        f"<article><h3>{escape(table.title)}</h3><p>{escape(table.note)}</p>"
        f'<table class="even"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></article>'
    )


def _badge(result: Result) -> str:
    verdict = result.found.verdict
    clock = ", wall clock" if result.claim.wall_clock else ""
    return (
        f'<span class="badge {_CLASSES[verdict]}">{_SIGNS[verdict]} {result.claim.id} '
        f"{verdict}{clock}</span>"
    )


def _table(results: Sequence[Result]) -> str:
    head = "".join(f"<th>{name}</th>" for name in _COLUMNS)
    rows = "".join(f'<tr id="{r.claim.id}">{"".join(_cells(r))}</tr>' for r in results)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _cells(result: Result) -> Iterator[str]:
    claim, found = result.claim, result.found
    name = f"<b>{claim.id}</b><br>{escape(claim.place)}<br><small>{', '.join(claim.kinds)}</small>"
    more = f"<details><summary>set-up and rule</summary>{escape(claim.setup)}. Holds if: "
    stated = f"{escape(claim.stated)}{more}{escape(claim.judged)}.</details>"
    verdict = f'{_badge(result)}<p class="why">{escape(result.why)}</p>'
    cells = (name, stated, escape(found.model), escape(found.measured), verdict)
    for column, cell in zip(_COLUMNS, cells, strict=True):
        yield f'<td data-label="{column}">{cell}</td>'
