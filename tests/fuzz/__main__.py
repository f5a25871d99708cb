"""Fuzz targets with atheris, each for some seconds: ``python -m tests.fuzz [TARGET ...]``.

What is found is left in the folder of findings, one file of bytes each; ``--seconds`` says how long
each target is tried. Ends with 1 if something was found, or if there is no atheris to look for it:
but not with ``--if-installed``.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from tests.fuzz.targets import TARGETS

SLOWEST_SECONDS = 30
MOST_MB = 4096


def main() -> int:
    """Fuzz what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--findings", type=Path, default=Path("output/fuzz"))
    parser.add_argument("--if-installed", action="store_true", help="no atheris is no failure")
    said = parser.parse_args()
    unknown = [name for name in said.targets if name not in TARGETS]
    if unknown:
        parser.error(f"TARGET: got {unknown[0]!r}; allowed: {', '.join(TARGETS)}")
    if find_spec("atheris") is None:
        _say(
            "atheris is not installed (it has wheels for CPython on Linux): nothing was fuzzed by"
            " coverage"
        )
        return 0 if said.if_installed else 1
    said.findings.mkdir(parents=True, exist_ok=True)
    failed = [name for name in said.targets or TARGETS if not _fuzz(name, said)]
    return 1 if failed else 0


def _fuzz(name: str, said: argparse.Namespace) -> bool:
    """Whether a target has stood the time."""
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(TARGETS[name].seeds()):
            (Path(corpus) / str(number)).write_bytes(seed)
        flags = [
            f"-max_total_time={said.seconds}",
            f"-timeout={SLOWEST_SECONDS}",
            f"-rss_limit_mb={MOST_MB}",
            f"-artifact_prefix={said.findings}/{name}-",
        ]
        command = [sys.executable, "-m", "tests.fuzz.atheris_run", name, *flags, corpus]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    runs = re.findall(r"#(\d+)\s", done.stderr)
    covered = re.findall(r"cov: (\d+)", done.stderr)
    _say(f"{name}: {runs[-1] if runs else 0} inputs, {covered[-1] if covered else 0} branches")
    if done.returncode:
        _say("\n".join(done.stderr.splitlines()[-40:]))
        _say(f"{name}: FOUND something; the bytes are in {said.findings}")
    return done.returncode == 0


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
