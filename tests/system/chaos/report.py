"""What a campaign showed: on the terminal, as a page, as JSON."""

import json
import platform
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

from tests.system.chaos.campaign import Campaign, Ran
from tests.system.chaos.faults import KINDS
from tests.system.chaos.scenarios import BY_NAME
from tests.system.chaos.verdict import Verdict

_HEADER: Final = Path(__file__).with_name("page.md")
"""What the page says besides numbers; they go where a name stands in braces."""
_JUDGED: Final = {
    "exact": "the oracle's",
    "replayed": "the same again",
    "selected": "of counted comparisons",
    "dropped": "of the rows kept",
}


def as_text(campaign: Campaign) -> str:
    """The tables, and what was wrong."""
    return "\n\n".join([_faults(campaign), _runs(campaign), _summary(campaign), _wrong(campaign)])


def as_page(campaign: Campaign) -> str:
    """The report that is kept in the documentation."""
    return _HEADER.read_text().format(
        summary=_summary(campaign),
        faults=_faults(campaign),
        runs=_runs(campaign),
        wrong=_wrong(campaign),
        errors=_errors(campaign),
        left_out=_left_out(campaign),
        conditions=_conditions(campaign),
        unreported=sum(run.verdict.unreported for run in campaign.runs),
        kills=campaign.n_kills,
        seed=campaign.seed,
    )


def as_json(campaign: Campaign) -> str:
    """Everything that was counted."""
    runs = [{**asdict(run), "scenario": run.scenario.name} for run in campaign.runs]
    whole: dict[str, Any] = {
        "kills": campaign.n_kills,
        "seed": campaign.seed,
        "seconds": round(campaign.seconds, 1),
        "sessions": campaign.sessions,
        "right": campaign.is_right,
        "versions": _versions(),
        "runs": runs,
        "left_out": campaign.left_out,
    }
    return json.dumps(whole, indent=1) + "\n"


def from_json(text: str) -> Campaign:
    """Read `as_json` back."""
    whole = json.loads(text)
    runs = [
        Ran(
            **{
                **run,
                "scenario": BY_NAME[run["scenario"]],
                "verdict": Verdict(
                    **{**run["verdict"], "complaints": tuple(run["verdict"]["complaints"])}
                ),
                "struck": tuple(map(tuple, run["struck"])),
                "missed": tuple(map(tuple, run["missed"])),
                "errors": tuple(run["errors"]),
            }
        )
        for run in whole["runs"]
    ]
    kept = {key: whole[key] for key in ("seed", "seconds", "sessions", "left_out")}
    return Campaign(**kept, runs=runs)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    line = "|" + "|".join("---" if i == 0 else "---:" for i in range(len(head))) + "|"
    body = ["| " + " | ".join(map(str, row)) + " |" for row in (head, *rows)]
    return "\n".join([body[0], line, *body[1:]])


def _faults(campaign: Campaign) -> str:
    rows = []
    for kind, seconds in campaign.by_kind().items():
        how = "`kill -9`" if KINDS[kind].is_kill else "other"
        rows.append((kind, how, len(seconds), f"{median(seconds):.1f}", f"{max(seconds):.1f}"))
    head = ("What failed", "How", "Times", "Recovery, median s", "longest s")
    return _table(head, rows)


def _runs(campaign: Campaign) -> str:
    names = dict.fromkeys(run.scenario.name for run in campaign.runs)
    rows = []
    for name in names:
        of = [run for run in campaign.runs if run.scenario.name == name]
        rows.append((name, _JUDGED[of[0].scenario.judged], *_sums(of)))
    rows.append(("all", "", *_sums(campaign.runs)))
    head = ("Query", "Results must be", "Runs", "Faults", "Restarts", "Rows in", "Results checked",
            "Lost", "Doubled", "Invented")  # fmt: skip
    return _table(head, rows)


def _sums(runs: Sequence[Ran]) -> list[str]:
    numbers = (
        len(runs),
        sum(len(run.struck) for run in runs),
        sum(run.restarts for run in runs),
        sum(run.rows_fed for run in runs),
        sum(run.verdict.rows for run in runs),
        sum(run.verdict.lost for run in runs),
        sum(run.verdict.doubled for run in runs),
        sum(run.verdict.invented for run in runs),
    )
    return [f"{number:,}" for number in numbers]


def _summary(campaign: Campaign) -> str:
    others = sum(len(run.struck) for run in campaign.runs) - campaign.n_kills
    lost, doubled, invented = (
        sum(getattr(run.verdict, what) for run in campaign.runs)
        for what in ("lost", "doubled", "invented")
    )
    longest = max((s for all_ in campaign.by_kind().values() for s in all_), default=0.0)
    return (
        f"{campaign.n_kills} kills and {others} other faults in {len(campaign.runs)} runs: "
        f"lost {lost}, doubled {doubled}, invented {invented}. "
        f"Longest recovery {longest:.1f} s, {campaign.seconds / 60:.0f} minutes in all."
    )


def _wrong(campaign: Campaign) -> str:
    lines = []
    if campaign.n_kills < campaign.planned_kills:
        lines.append(f"- {campaign.planned_kills - campaign.n_kills} kills found no victim.")
    for run in campaign.runs:
        found = [*run.verdict.complaints]
        found += [f"{what}, such as {row}" for what, row in run.verdict.examples.items()]
        lines += [f"- {run.scenario.name}: {what}" for what in dict.fromkeys(found)]
    return "\n".join(lines) or "Nothing was wrong."


def _errors(campaign: Campaign) -> str:
    seen = Counter(error for run in campaign.runs for error in run.errors)
    rows = [(error.replace("|", "\\|")[:300], n) for error, n in seen.most_common()]
    return _table(("The query ended with", "Times"), rows)


def _left_out(campaign: Campaign) -> str:
    lines = [f"- *{name}*: {why}." for name, why in campaign.left_out.items()]
    missed = Counter(one for run in campaign.runs for one in run.missed)
    lines += [f"- *{kind}*, {n} times: {why}." for (kind, why), n in missed.items()]
    return "\n".join(lines)


def _conditions(campaign: Campaign) -> str:
    told = ", ".join(f"{name} {number}" for name, number in _versions().items())
    return f"{told}; {campaign.sessions} Spark sessions were started."


def _versions() -> dict[str, str]:
    java = subprocess.run(["java", "-version"], capture_output=True, text=True).stderr
    names = ("streamjoin", "pyspark", "pyarrow", "numba")
    found = {name: version(name) for name in names}
    return {
        **found,
        "Python": platform.python_version(),
        "Java": java.split('"')[1] if '"' in java else "unknown",
        "Linux": platform.release(),
    }
