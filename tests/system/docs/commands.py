"""Lines of a shell: nothing is run, but what they name must be there."""

import re
import shlex
import sys
from functools import cache

from benchmarks import BENCHES
from papers import PAPERS
from scripts.check_docs import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

OTHERS = {"spark-submit", "git", "cd", "curl", "prometheus", "promtool", "python", "ssh"}
"""Commands that are not this project's: that the line can be read is all that is looked at."""
WORDS = {"bench": BENCHES, "reproduce": PAPERS}
EXTRAS = re.compile(r"\[([a-z,]+)\]")


def check_command(line: str) -> None:
    """Refuse a line that could not work: an unknown target, command, option, file or extra."""
    words = shlex.split(line, comments=True)
    while words and re.match(r"^[A-Z_]+=", words[0]):
        del words[0]
    if not words:
        return
    command = words[0].rpartition("/")[2]
    if command == "make":
        assert set(words[1:]) <= _targets(), line
    elif command == "streamjoin":
        _check_streamjoin(words[1:])
    elif command == "pip":
        named = {extra for found in EXTRAS.findall(line) for extra in found.split(",")}
        assert words[1] == "install", line
        assert named <= _extras(), line
    else:
        assert command in OTHERS, f"{line}: a command that nobody knows; see {__file__}"
    for word in words:
        assert not word.startswith("examples/") or (ROOT / word).exists(), word


def _check_streamjoin(words: list[str]) -> None:
    from typer.main import get_command

    from streamjoin.cli.app import app

    group = get_command(app)
    context = group.make_context("streamjoin", list(words), resilient_parsing=True)
    if words[0].startswith("-"):
        assert {words[0]} <= {name for one in group.params for name in one.opts}, words
        return
    name, command, rest = group.resolve_command(context, list(words))  # type: ignore[attr-defined]
    assert command is not None, words
    parsed = command.make_context(name, list(rest))
    for word in (parsed.params.get("name"), parsed.params.get("paper")):
        assert word in {None, *WORDS.get(str(name), ())}, words


@cache
def _targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


@cache
def _extras() -> set[str]:
    document = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return set(document["project"]["optional-dependencies"])
