"""What holds for the reproduction of every paper."""

from papers.base import Paper
from papers.page import html
from papers.run import Outcome


def claims_without_figure(paper: Paper, prefix: str, n: int) -> set[str]:
    """Those of all claims, each of which is there once with a judge."""
    ids = [claim.id for claim in paper.claims]
    assert ids == [f"{prefix}-C{number}" for number in range(1, n + 1)]
    assert sorted(paper.judges) == sorted(ids)
    shown = {name for figure in paper.figures for name in figure.claims}
    assert shown <= set(ids)
    return set(ids) - shown


def flipped(quick: Outcome, *, wall_clock: bool = False) -> dict[str, tuple[str, str]]:
    """Verdicts that are not the expected ones; seconds prove nothing where other programs run."""
    unexpected = (r for r in quick.unexpected if r.claim.wall_clock == wall_clock)
    return {r.claim.id: (r.found.verdict, r.why) for r in unexpected}


def report(quick: Outcome, paper: Paper, n_figures: int) -> str:
    """The page, which shows every figure and loads nothing."""
    page = html([quick], quick=True)
    assert page.count("<svg") == len(paper.figures) == n_figures
    assert "http" not in page
    assert "src=" not in page
    return page
