"""The harness, on a paper of one claim: from numbers to verdict, report, table and JSON."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from papers import PAPERS
from papers.base import (
    AllNumbers,
    Claim,
    Context,
    Experiment,
    Figure,
    Judged,
    Paper,
    ResultTable,
)
from papers.measurement import Measurement
from papers.run import reproduce
from papers.table import markdown
from streamjoin.cli.app import run_app
from streamjoin.errors import ConfigError

CLAIMS = """
[[claim]]
id = "TOY-C1"
place = "Figure 1"
kinds = ["simulated"]
stated = "Twice 2 | 4 is <4>."
setup = "2"
judged = "4"
"""


def judge(numbers: AllNumbers) -> Judged:
    found = numbers["figure 1"]["measured"]
    return Judged(found.mean == 4, "4", str(found), f"It is {found.mean:g}.")


def draw(canvas: Any, numbers: AllNumbers) -> None:
    canvas.subplots().plot([0, 1], [0, numbers["figure 1"]["measured"].mean])


@pytest.fixture
def paper(tmp_path: Path) -> Paper:
    file = tmp_path / "claims.toml"
    file.write_text(CLAIMS, encoding="utf-8")
    run = Experiment("figure 1", lambda context: {"measured": Measurement.of([4.0, 4.0])})
    figure = Figure("Figure 1", "A toy", ("TOY-C1",), draw)
    table = ResultTable("Ours", "Of <n>.", ("n", "n | n"), lambda numbers: [("1", "<1>")])
    return Paper("toy", "A. Toy. 2003", file, (run,), {"TOY-C1": judge}, (figure,), (table,))


@pytest.fixture
def toy(paper: Paper, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("toy_paper")
    monkeypatch.setattr(module, "PAPER", paper, raising=False)
    monkeypatch.setitem(sys.modules, "toy_paper", module)
    monkeypatch.setitem(PAPERS, "toy", "toy_paper")


@pytest.mark.usefixtures("toy")
def test_json_is_one_document_and_the_report_needs_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    assert run_app(["reproduce", "toy", "--quick", "--json", "--output", str(output)]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == {
        "claims": [
            {
                "id": "TOY-C1",
                "paper": "toy",
                "verdict": "reproduced",
                "stated": "Twice 2 | 4 is <4>.",
                "model": "4",
                "measured": "4",
                "why": "It is 4.",
            }
        ],
        "tables": [
            {"paper": "toy", "title": "Ours", "rows": [{"n": "1", "n | n": "<1>"}]},
        ],
    }
    assert "report.html" in printed.err.replace("\n", "")
    page = (output / "report.html").read_text(encoding="utf-8")
    HTMLParser().feed(page)
    assert not re.search(r"https?:|\bsrc=|@import|<link|<script", page)
    assert page.count("<svg") == 1
    assert "Twice 2 | 4 is &lt;4&gt;." in page
    assert '<td data-label="n | n">&lt;1&gt;</td>' in page


@pytest.mark.usefixtures("toy")
def test_a_quick_run_leaves_the_document_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for other in set(PAPERS) - {"toy"}:
        monkeypatch.delitem(PAPERS, other)
    (tmp_path / "docs").mkdir()
    (tmp_path / "src" / "streamjoin").mkdir(parents=True)
    document = tmp_path / "docs" / "papers.md"
    assert run_app(["reproduce", "--quick"]) == 0
    assert not document.exists()
    assert run_app(["reproduce"]) == 0
    assert "| TOY-C1 | Figure 1 | Twice 2 \\| 4 is <4>. | 4 | 4 | reproduced | It is 4. |" in (
        document.read_text(encoding="utf-8")
    )


def test_a_judge_can_fail_and_the_known_reason_is_added(paper: Paper) -> None:
    outcome = reproduce(paper, Context(quick=True))
    assert outcome.unexpected == ()
    (result,) = paper.judge({"figure 1": {"measured": Measurement.of([5.0])}})
    assert result.to_dict("toy")["verdict"] == "not reproduced"
    assert result.found.verdict != result.claim.expected
    assert "1 claims: 1 reproduced." in markdown([outcome])
    assert "### Ours\n\nOf <n>.\n\n| n | n \\| n |\n|---|---|\n| 1 | <1> |" in markdown([outcome])


def test_an_unknown_paper_is_answered_with_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["reproduce", "kong"]) == 2
    sentence = f"paper: got 'kong'; allowed: {', '.join(PAPERS)}; did you mean kang?"
    assert capsys.readouterr().err == f"streamjoin: {sentence}\n"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"kinds": ("guess",)}, "C: kinds: got 'guess'; allowed: exact, model"),
        ({"expected": "maybe", "why": "x"}, "C: expected: got 'maybe'; allowed: reproduced"),
        ({"expected": "not reproduced"}, "C: why: allowed exactly where"),
    ],
)
def test_a_bad_claim_is_refused(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)):
        Claim(**{"id": "C", "place": "", "kinds": ("model",), "stated": "", "setup": "",
                 "judged": "", **changed})  # fmt: skip
