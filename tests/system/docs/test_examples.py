"""Every example script runs as it is and prints what it promises."""

import re
import runpy
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from scripts.check_docs import ROOT

EXAMPLES = ROOT / "examples"
SAID = {
    "enrich.py": r"6,030 orders, 20 of new customers, 0 without a name",
    "first_join.py": r"(\d{3}) pairs by the stream, \1 in plain Python",
    "fresh_results.py": r"batch 2: 5 results, 0 of them withheld\n"
    r"batch 3: 30 results, 21 of them withheld",
    "under_overload.py": r"selective: 7\d% of the (.*\n)*drop: 3\d% of the",
}
ELSEWHERE = {"kafka_count.py"}  # needs a broker: tests/system/kafka


def test_every_script_is_run() -> None:
    assert {file.name for file in EXAMPLES.glob("*.py")} == set(SAID) | ELSEWHERE


@pytest.mark.slow
@pytest.mark.parametrize("name", SAID)
def test_a_script_prints_what_it_promises(
    name: str,
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(sys, "argv", [name, str(tmp_path / "drawn.png")])
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    runpy.run_path(str(EXAMPLES / name))
    printed = capsys.readouterr().out
    assert re.search(SAID[name], printed), printed
    if name == "under_overload.py":
        assert (tmp_path / "drawn.png").stat().st_size > 10_000
