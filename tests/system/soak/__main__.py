"""Soak: run joins for long and judge whether anything grows.

python -m tests.system.soak --minutes 30 --report docs/soak.md
"""

import argparse
import sys
from pathlib import Path

from tests.system.soak.report import write
from tests.system.soak.runs import from_json, say, soak

KEPT = Path("output/soak")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.system.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long (default: 30)")
    parser.add_argument("--report", type=Path, default=Path("docs/soak.md"), help="the page")
    parser.add_argument(
        "--again", action="store_true", help=f"no run: the page from what {KEPT} has of the last"
    )
    said = parser.parse_args()
    if said.minutes < 1:
        parser.error(f"--minutes: got {said.minutes:g}; allowed: 1 or more")
    if said.again:
        found = [from_json(file.read_text()) for file in sorted(KEPT.glob("*.json"))]
    else:
        found = soak(said.minutes, KEPT)
    judged = write(found, said.report)
    leaks = [(name, one) for name, of in judged.items() for one in of if one.is_leak]
    for name, one in leaks:
        say(f"{name}: {one.line.name} {one.verdict}, {one.per_hour:+.3g} {one.line.unit} an hour")
    say(f"{said.report}: {'all flat' if not leaks else f'{len(leaks)} not flat'}")
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(main())
