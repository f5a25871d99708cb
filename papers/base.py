"""A claim of a paper, the numbers that judge it, and the verdict.

An experiment gives numbers. A judge, a small function, turns them into a verdict with three
columns: what the paper states, what its model says, what was measured here. ``claims.toml`` only
says what verdict is expected; it is never the source of one.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from papers.sessions import LazySpark
from streamjoin.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

Kind = Literal["exact", "model", "simulated", "hardware"]
Verdict = Literal["reproduced", "not reproduced", "not applicable"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

Numbers: TypeAlias = Mapping[str, Any]
"""What an experiment gives: values, series and `Measurement`s by name."""
AllNumbers: TypeAlias = Mapping[str, Numbers]
"""The numbers of each experiment of a paper, by its name."""


@dataclass(frozen=True)
class Claim:
    """What a paper states, in our words, and how it is judged.

    Parameters
    ----------
    id
        Such as ``KAN-C1``.
    place
        Figure or section of the paper.
    kinds
        ``exact`` (printed arithmetic), ``model``, ``simulated`` (virtual time, seeded data) or
        ``hardware`` (the authors' machine; judged as an ordering or a ratio on this one).
    stated
        One sentence with the paper's numbers.
    setup, judged
        The setting, and what has to hold for ``reproduced``.
    expected
        The verdict that a run should come to.
    why
        Where that is not ``reproduced``: the reason, such that a reader can check it.
    wall_clock
        Whether seconds of this machine decide.
    """

    id: str
    place: str
    kinds: tuple[Kind, ...]
    stated: str
    setup: str
    judged: str
    expected: Verdict = "reproduced"
    why: str = ""
    wall_clock: bool = False

    def __post_init__(self) -> None:
        _refuse_unknown(f"{self.id}: kinds", self.kinds, get_args(Kind))
        _refuse_unknown(f"{self.id}: expected", (self.expected,), VERDICTS)
        if (self.expected != "reproduced") != bool(self.why):
            raise ConfigError(
                f"{self.id}: why: allowed exactly where the expected verdict is not 'reproduced'"
            )


@dataclass(frozen=True)
class Judged:
    """What a judge found.

    Parameters
    ----------
    holds
        Whether the claim holds; None where it cannot apply here.
    model, measured
        The second and third column; ``-`` and a reason where there can be none.
    why
        What decided, with numbers.
    """

    holds: bool | None
    model: str
    measured: str
    why: str

    @property
    def verdict(self) -> Verdict:
        """The verdict.

        Examples
        --------
        >>> Judged(False, "2.0", "3.1", "3.1 is not within 5 % of 2.0").verdict
        'not reproduced'
        """
        if self.holds is None:
            return "not applicable"
        return "reproduced" if self.holds else "not reproduced"


Judge: TypeAlias = Callable[[AllNumbers], Judged]


@dataclass(frozen=True)
class Result:
    """A claim with what was found."""

    claim: Claim
    found: Judged

    @property
    def why(self) -> str:
        """What decided; where the claim fails as expected, also the known reason."""
        known = self.claim.expected == self.found.verdict and self.claim.why
        return f"{self.found.why} {known}" if known else self.found.why

    def to_dict(self, paper: str) -> dict[str, str]:
        """Make the claim's entry in the JSON document."""
        return {
            "id": self.claim.id,
            "paper": paper,
            "verdict": self.found.verdict,
            "stated": self.claim.stated,
            "model": self.found.model,
            "measured": self.found.measured,
            "why": self.why,
        }


@dataclass(frozen=True)
class Context:
    """What an experiment may use.

    Parameters
    ----------
    quick
        Whether to take small sizes.
    seeds
        One run for each, where data are random.
    progress
        Takes a line that says what is being done.
    spark
        Starts Spark when it is first asked for.
    """

    quick: bool
    seeds: tuple[int, ...] = (1, 2, 3)
    progress: Callable[[str], None] = lambda _line: None
    spark: LazySpark = field(default_factory=LazySpark)


@dataclass(frozen=True)
class Experiment:
    """A named source of numbers."""

    name: str
    run: Callable[[Context], Numbers]


@dataclass(frozen=True)
class Figure:
    """A plot that redraws a figure of a paper from our numbers.

    Parameters
    ----------
    name, title
        Such as ``Figure 2``, and what it shows.
    claims
        Claims that stand beside it.
    draw
        Draws onto an empty canvas.
    height
        Of the canvas, in inches; the width is the report's.
    """

    name: str
    title: str
    claims: tuple[str, ...]
    draw: "Callable[[Canvas, AllNumbers], None]"
    height: float = 3.9


@dataclass(frozen=True)
class ResultTable:
    """Numbers of ours beside a paper's claims, as a table of the report.

    Parameters
    ----------
    title, note
        What it shows, and how to read it.
    columns
        Names of the columns.
    rows
        Makes the cells of each row.
    """

    title: str
    note: str
    columns: tuple[str, ...]
    rows: Callable[[AllNumbers], Sequence[tuple[str, ...]]]

    def to_dict(self, paper: str, numbers: AllNumbers) -> dict[str, Any]:
        """Make the table's entry in the JSON document."""
        rows = [dict(zip(self.columns, row, strict=True)) for row in self.rows(numbers)]
        return {"paper": paper, "title": self.title, "rows": rows}


@dataclass(frozen=True)
class Paper:
    """All that is needed to judge a paper."""

    name: str
    reference: str
    claims_file: Path
    experiments: tuple[Experiment, ...]
    judges: Mapping[str, Judge]
    figures: tuple[Figure, ...]
    tables: tuple[ResultTable, ...] = ()

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims, in the order of the file."""
        return load_claims(self.claims_file)

    def judge(self, numbers: AllNumbers) -> tuple[Result, ...]:
        """Judge every claim."""
        return tuple(Result(claim, self.judges[claim.id](numbers)) for claim in self.claims)


def load_claims(file: Path) -> tuple[Claim, ...]:
    """Read a ``claims.toml``."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    rows = tomllib.loads(file.read_text(encoding="utf-8"))["claim"]
    return tuple(Claim(**{**row, "kinds": tuple(row["kinds"])}) for row in rows)


def _refuse_unknown(name: str, came: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    unknown = [value for value in came if value not in allowed]
    if unknown:
        raise ConfigError(f"{name}: got {unknown[0]!r}; allowed: {', '.join(allowed)}")
