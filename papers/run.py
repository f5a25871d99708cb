"""Run a paper's experiments and judge its claims."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module

from papers import PAPERS
from papers.base import AllNumbers, Context, Numbers, Paper, Result
from streamjoin.errors import ConfigError

FULL_SEEDS = (1, 2, 3, 4, 5)
QUICK_SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Outcome:
    """What came of a paper: the numbers of its experiments and the verdicts."""

    paper: Paper
    numbers: AllNumbers
    results: tuple[Result, ...]

    @property
    def unexpected(self) -> tuple[Result, ...]:
        """Claims whose verdict is not the expected one."""
        return tuple(r for r in self.results if r.found.verdict != r.claim.expected)


def find_paper(name: str) -> Paper:
    """Load a paper by name."""
    if name not in PAPERS:
        close = get_close_matches(name, PAPERS, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ConfigError(f"paper: got {name!r}; allowed: {', '.join(PAPERS)}{hint}")
    paper: Paper = import_module(PAPERS[name]).PAPER
    return paper


def reproduce(
    paper: Paper, context: Context, ended: Callable[[], object] = lambda: None
) -> Outcome:
    """Run all experiments of a paper, one after the other, and judge its claims.

    Parameters
    ----------
    paper
        The paper.
    context
        Sizes, seeds and Spark.
    ended
        Called when an experiment has ended.
    """
    numbers: dict[str, Numbers] = {}
    for experiment in paper.experiments:
        told = _prefixed(context.progress, f"{paper.name}, {experiment.name}")
        told("")
        numbers[experiment.name] = experiment.run(replace(context, progress=told))
        ended()
    return Outcome(paper, numbers, paper.judge(numbers))


def _prefixed(progress: Callable[[str], None], name: str) -> Callable[[str], None]:
    return lambda line: progress(f"{name}: {line}" if line else name)
