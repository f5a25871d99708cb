"""Whether a run was right: what is lost, doubled or invented, and whether the counters agree."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.system.chaos import answers
from tests.system.chaos.answers import Fed, Found
from tests.system.chaos.checkpoint import Cuts
from tests.system.chaos.scenarios import Scenario

FOR_BUDGET = ("dropped", "cut", "skipped comparisons")
ROUNDING = 2
"""Comparisons of a batch: made and skipped ones of two directions are rounded apart."""


@dataclass(frozen=True)
class Verdict:
    """What is wrong with the results of a run; nothing if all numbers are 0.

    Parameters
    ----------
    rows, wanted
        How many results there are, and how many the oracle has.
    lost, doubled, invented
        Rows that are missing, there too often, and there without a reason.
    complaints
        What else is wrong, in words.
    unreported
        Batches that were finished but not reported: their process was killed in between.
    """

    rows: int
    wanted: int
    lost: int = 0
    doubled: int = 0
    invented: int = 0
    complaints: tuple[str, ...] = ()
    unreported: int = 0
    examples: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.lost or self.doubled or self.invented or self.complaints)

    def with_complaints(self, more: Sequence[str]) -> "Verdict":
        """The same with more that is wrong."""
        return replace(self, complaints=(*more, *self.complaints))


def compare(found: Found, wanted: Found, *, may_miss: bool = False) -> Verdict:
    """Compare results with what they must be, or be a part of."""
    lost, extra = wanted - found, found - wanted
    doubled = {row: n for row, n in extra.items() if row in wanted}
    invented = {row: n for row, n in extra.items() if row not in wanted}
    shown = {"lost": {} if may_miss else lost, "doubled": doubled, "invented": invented}
    return Verdict(
        rows=found.total(),
        wanted=wanted.total(),
        lost=0 if may_miss else lost.total(),
        doubled=sum(doubled.values()),
        invented=sum(invented.values()),
        examples={what: str(dict(next(iter(rows)))) for what, rows in shown.items() if rows},
    )


def judge(
    scenario: Scenario,
    fed: Fed,
    cuts: Cuts,
    written: Mapping[int, Sequence[Mapping[str, Any]]],
    reports: Mapping[int, Mapping[str, Any]],
) -> Verdict:
    """Judge a run.

    Parameters
    ----------
    fed, cuts
        What was fed, and what each batch took of it.
    written
        Rows in the sink by batch; all of them under -1 where the sink does not tell batches apart.
    reports
        What the join counted, by batch.
    """
    reports = {number: report for number, report in reports.items() if report["ran"]}
    found = answers.counted(row for rows in written.values() for row in rows)
    whole = answers.exact(scenario, fed, cuts)
    if scenario.judged == "replayed":
        verdict = compare(found, answers.replayed(scenario, fed, cuts))
        part = compare(found, whole, may_miss=True)
        doubled, invented = (
            max(getattr(one, what) for one in (verdict, part)) for what in ("doubled", "invented")
        )
    else:
        verdict = compare(found, whole, may_miss=scenario.judged != "exact")
        doubled, invented = verdict.doubled, verdict.invented
    if scenario.judged == "dropped":
        missing = compare(found, answers.of_kept(whole, found))
        lost = {what: row for what, row in missing.examples.items() if what == "lost"}
        verdict = replace(verdict, lost=missing.lost, examples={**verdict.examples, **lost})
    counted = [*_counted(fed, cuts, written, reports)]
    if scenario.judged == "selected":
        counted += _compared(answers.comparisons(scenario, fed, cuts), reports)
    unreported = len(set(cuts.batches) - set(reports))
    for_budget = sum(
        report["left_out"].get(cause, 0) for report in reports.values() for cause in FOR_BUDGET
    )
    if not for_budget and not unreported and found != whole and scenario.judged != "exact":
        counted.append(f"{whole.total() - found.total()} results missing, nothing counted as such")
    if not for_budget and scenario.judged != "exact":
        counted.append("the budget was never short: this run shows nothing")
    return Verdict(
        rows=verdict.rows, wanted=whole.total(), lost=verdict.lost, doubled=doubled,
        invented=invented, complaints=tuple(counted), unreported=unreported,
        examples=verdict.examples,
    )  # fmt: skip


def _compared(wanted: Mapping[int, int], reports: Mapping[int, Mapping[str, Any]]) -> Iterator[str]:
    """Where comparisons, made or not, are not all that the rows of the windows ask for."""
    for number in sorted(set(wanted) & set(reports)):
        said = reports[number]["comparisons"]
        if abs(said - wanted[number]) > ROUNDING:
            yield f"batch {number} has {wanted[number]} comparisons and counted {said}"


def _counted(
    fed: Fed,
    cuts: Cuts,
    written: Mapping[int, Sequence[Mapping[str, Any]]],
    reports: Mapping[int, Mapping[str, Any]],
) -> list[str]:
    """Where counters of a batch are not what the batch took and wrote."""
    wrong = []
    for number, report in sorted(reports.items()):
        batch = cuts.batches.get(number)
        if batch is None:
            wrong.append(f"batch {number} was reported and is not finished")
            continue
        tables = [fed[name][one] for name, numbers in batch.items() for one in numbers]
        rows = sum(table.num_rows for table in tables)
        if report["rows_in"] != rows:
            wrong.append(f"batch {number} took {rows} rows and counted {report['rows_in']}")
        if -1 in written:
            continue
        results = len(written.get(number, ()))
        if report["rows_out"] != results:
            wrong.append(f"batch {number} wrote {results} rows and counted {report['rows_out']}")
    return wrong
