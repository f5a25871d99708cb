"""``python -m tests.system.chaos``: kill what can be killed; are results still right?"""

import argparse
import sys
from pathlib import Path

from tests.system.chaos.campaign import carry_out, plan
from tests.system.chaos.report import as_json, as_page, as_text, from_json
from tests.system.chaos.scenarios import BY_NAME, SCENARIOS
from tests.system.chaos.stage import missing


def main() -> int:
    """Carry out a campaign; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.system.chaos", description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="processes to kill")
    parser.add_argument("--seed", type=int, default=7, help="of all that is drawn")
    parser.add_argument(
        "--scenario", action="append", choices=[*BY_NAME], help="only this one; may be repeated"
    )
    parser.add_argument("--report", type=Path, help="page to write; a log in JSON goes beside it")
    parser.add_argument("--log", type=Path, default=Path("chaos.jsonl"), help="what happens")
    parser.add_argument(
        "--go-on",
        action="store_true",
        help="with the campaign of the report: only the kills that it lacks, in new runs",
    )
    parser.add_argument("--keep", action="store_true", help="keep the files of all runs")
    said = parser.parse_args()
    chosen = [BY_NAME[name] for name in said.scenario] if said.scenario else SCENARIOS
    left_out = {one.name: lacking for one in chosen if (lacking := missing(one)) is not None}
    possible = [one for one in chosen if one.name not in left_out]
    before = None
    if said.go_on:
        before = from_json(said.report.with_suffix(".json").read_text())
    kills = said.kills - (before.n_kills if before else 0)
    rounds = 1 + max((run.round for run in before.runs), default=-1) if before else 0
    runs = plan(kills, said.seed, possible, rounds)
    campaign = carry_out(runs, said.seed, said.log, keep=said.keep, before=before)
    campaign.left_out = left_out
    sys.stdout.write(as_text(campaign) + "\n")
    if said.report is not None:
        said.report.write_text(as_page(campaign))
        said.report.with_suffix(".json").write_text(as_json(campaign))
    return 0 if campaign.is_right else 1


if __name__ == "__main__":
    sys.exit(main())
