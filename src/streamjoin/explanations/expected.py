"""What to expect of a join: rows that come out, and CPU time."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import Final

from streamjoin.explanations.matches import Basis, Matches
from streamjoin.explanations.plan_numbers import about
from streamjoin.explanations.plans import JoinPlan
from streamjoin.explanations.selective import need

BASES: Final[dict[Basis, str]] = {
    "sample": "as in a sample of the generated streams",
    "given": "as given",
    "assumed": "assumed: one match for each row; give `selectivities`, the share of pairs that "
    "match, if it is known",
}
ITSELF: Final = "; a stream is joined with itself, and results of a row with itself come on top"
_ALONE: Final = "if matches are spread evenly over the rows"
_BESIDES: Final = "what Spark takes to read, to shuffle and to write rows comes on top"


@dataclass(frozen=True)
class Expected:
    """What comes out and what it takes.

    Parameters
    ----------
    rows_per_second
        Rows that come out, before conditions that are left to Spark.
    selectivity
        Share of the pairs within the windows that match; None of many streams, and for tables.
    basis
        Whether a sample of the streams shows it, the user said it, or it is assumed.
    cpu_s
        CPU time for each second of the streams, in seconds: of the join itself.
    cores
        Cores that Spark has.
    output, cpu
        Both in words.
    """

    rows_per_second: float
    selectivity: float | None
    basis: Basis
    cpu_s: float
    cores: int
    output: str
    cpu: str

    @property
    def share(self) -> float:
        """CPU time as a part of all cores."""
        return self.cpu_s / self.cores

    @property
    def is_assumed(self) -> bool:
        """Whether how often rows match is a guess."""
        return self.basis == "assumed"


def assumed(plan: JoinPlan, rates: tuple[float, float]) -> Matches:
    """One match for each row."""
    pairs = _pairs(plan, rates)
    return Matches(min(1.0, sum(rates) / pairs) if pairs else 0.0, "assumed")


def expected(
    plan: JoinPlan,
    rates: tuple[float, float],
    matches: Matches,
    cores: int,
    *,
    is_reflexive: bool = False,
) -> Expected:
    """What a join of two streams brings, and what it takes."""
    pairs = _pairs(plan, rates)
    found = matches.share * pairs
    rows, how = _rows(plan.resolved.join.how, found, rates, matches)
    needed = need(plan, rates, matches=matches)
    rest = "; Spark then checks the rest" if plan.resolved.rest else ""
    known, itself = BASES[matches.basis], ITSELF if is_reflexive else ""
    return Expected(
        rows_per_second=rows,
        selectivity=matches.share,
        basis=matches.basis,
        cpu_s=needed.receiving + needed.comparing,
        cores=cores,
        output=f"{about(rows)} rows/s{how}: of {about(pairs)} pairs/s within the windows "
        f"{percent(matches.share)} match ({known}){rest}{itself}",
        cpu=cpu_words(needed.receiving, needed.comparing, cores, "to find and hand out results"),
    )


def _pairs(plan: JoinPlan, rates: tuple[float, float]) -> float:
    """Pairs per second that are within the windows."""
    left, right = (
        rate * stream.window_us / 1e6 if stream.window_rows is None else float(stream.window_rows)
        for stream, rate in zip(plan.resolved.join.streams, rates, strict=True)
    )
    return rates[1] * left + rates[0] * right


def _rows(
    how: str, pairs: float, rates: tuple[float, float], matches: Matches
) -> tuple[float, str]:
    """Rows that come out, and what is taken for granted for that."""
    left, right = rates
    known = matches.partnered
    alone_left = left * (exp(-pairs / left) if known is None else 1 - known)
    alone_right = right * exp(-pairs / right)
    guess = "" if known is not None and how not in ("right", "full") else f", {_ALONE}"
    if how == "inner":
        return pairs, ""
    if how == "asof":
        return left, ", one for each left row"
    if how == "semi":
        return left - alone_left, guess
    if how == "anti":
        return alone_left, guess
    alone = (alone_left if how != "right" else 0.0) + (alone_right if how != "left" else 0.0)
    return pairs + alone, f", {about(alone)} of them without a partner{guess}"


def cpu_words(receiving: float, comparing: float, cores: int, what: str) -> str:
    """CPU time in words: all of it, and what for."""
    whole = receiving + comparing
    return (
        f"{whole:.2g} s for each second of the streams, {percent(whole / cores)} of "
        f"{cores} core{'' if cores == 1 else 's'}: {receiving:.2g} s to receive rows, "
        f"{comparing:.2g} s {what}; by first guesses of the costs (they are measured while it "
        f"runs), and {_BESIDES}"
    )


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.0000123), percent(0.25), percent(1.0)
    ('0.0012 %', '25 %', '100 %')
    """
    return f"{100 * share:.2g} %" if share < 0.995 else f"{100 * share:.3g} %"


def sentences(found: Expected | None) -> Sequence[tuple[str, list[str]]]:
    """Titles with their lines."""
    if found is None:
        return ()
    return ("output, about", [found.output]), ("CPU, about", [found.cpu])
