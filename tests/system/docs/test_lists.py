"""Lists in the documents are complete: counters, warnings."""

import re
from pathlib import Path

from scripts.check_docs import ROOT
from streamjoin.explanations.explainer import WARNINGS
from streamjoin.metrics import METRIC_NAMES
from streamjoin.metrics.catalogue import TABLE_COUNTERS as TABLE_NAMES
from streamjoin.metrics.catalogue import many_stream_counters as names

WARNED = re.compile(r'\bwarn\("(\w+)"')


def listed(document: Path, heading: str) -> set[str]:
    """Names in the first column of the tables below a heading."""
    text = document.read_text(encoding="utf-8")
    part = re.split(r"^## ", text.partition(f"\n## {heading}\n")[2], maxsplit=1, flags=re.M)[0]
    cells = [line.split("|")[1] for line in part.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([\w<>]+)`", cell)}


def test_every_counter_is_listed() -> None:
    page = ROOT / "docs" / "reference" / "metrics.md"
    assert listed(page, "Of a join of two streams") == set(METRIC_NAMES)
    assert listed(page, "Of a join of many streams") == set(names(["<stream>"]))
    assert listed(page, "Of a join with a table") == set(TABLE_NAMES)


def test_every_warning_is_listed() -> None:
    room = ROOT / "src" / "streamjoin" / "explanations"
    code = [file.read_text(encoding="utf-8") for file in room.rglob("*.py")]
    page = ROOT / "docs" / "how_to" / "operate.md"
    assert listed(page, "What each warning means") == set(WARNINGS)
    assert set(WARNINGS) == {code for text in code for code in WARNED.findall(text)}
