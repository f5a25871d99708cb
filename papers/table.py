"""``docs/papers.md``: every claim in a table."""

from collections import Counter
from collections.abc import Sequence

from papers.base import VERDICTS, Result, ResultTable
from papers.run import Outcome

_HEAD = """\
# The papers' claims

Written by `streamjoin reproduce` (full sizes); do not edit. *Stated* is what the paper says,
*model* what its formulas give, *measured* what ran here: a mean with its 95 % interval over seeds
where data are random. Counts and model values decide wherever they can; a claim that seconds of
the machine decide is marked *wall clock*.
"""
_COLUMNS = ("Id", "Where", "Stated", "Model", "Measured", "Verdict", "Why")


def markdown(outcomes: Sequence[Outcome]) -> str:
    """Write the document."""
    parts = [_HEAD]
    for outcome in outcomes:
        rows = [_row(_COLUMNS), "|" + "---|" * len(_COLUMNS)]
        rows += [_row(_cells(result)) for result in outcome.results]
        parts.append(f"## {outcome.paper.reference}\n\n{count(outcome.results)}.\n")
        parts.append("\n".join(rows) + "\n")
        parts += [_result_table(table, outcome) for table in outcome.paper.tables]
    return "\n".join(parts)


def _result_table(table: ResultTable, outcome: Outcome) -> str:
    rows = [_row(table.columns), "|" + "---|" * len(table.columns)]
    rows += [_row(cells) for cells in table.rows(outcome.numbers)]
    return f"### {table.title}\n\n{table.note}\n\n" + "\n".join(rows) + "\n"


def count(results: Sequence[Result]) -> str:
    """Say how many claims have which verdict.

    Examples
    --------
    >>> count(())
    '0 claims'
    """
    counts = Counter(result.found.verdict for result in results)
    found = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    return ": ".join([f"{len(results)} claims", *([", ".join(found)] if found else [])])


def _cells(result: Result) -> tuple[str, ...]:
    claim, found = result.claim, result.found
    verdict = found.verdict + (" (wall clock)" if claim.wall_clock else "")
    return claim.id, claim.place, claim.stated, found.model, found.measured, verdict, result.why


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
