import json
from collections.abc import Callable
from pathlib import Path

import pytest

from streamjoin.calibration import Calibration, load
from streamjoin.cli.app import calibrate_command
from streamjoin.errors import EngineError
from tests.test_calibration import FOUND


@pytest.fixture(autouse=True)
def fake_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(quick: bool, progress: Callable[[str], None]) -> Calibration:
        progress(f"measuring, quick={quick}")
        return FOUND

    monkeypatch.setattr("streamjoin.calibration.measuring.measure", measure)
    monkeypatch.setenv("STREAMJOIN_CALIBRATION", str(tmp_path / "costs.json"))
    monkeypatch.setenv("COLUMNS", "120")


def test_json_is_one_document_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calibrate_command(as_json=True, quick=True)
    printed = capsys.readouterr()
    document = json.loads(printed.out)
    assert document["stored_at"] == str(tmp_path / "costs.json")
    assert printed.err == "measuring, quick=True\n"
    assert load() == FOUND


def test_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    calibrate_command(as_json=False, quick=False)
    out = capsys.readouterr().out
    assert "+25%" in out
    assert "4%" in out  # loss near a crossover
    assert "R-squared 0.900, worst error 30%" in out
    assert "costs at most 12% more than the best one" in out
    assert f"stored at {tmp_path / 'costs.json'}" in out


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("STREAMJOIN_CALIBRATION", str(tmp_path / "file" / "costs.json"))
    with pytest.raises(EngineError, match="cannot be stored"):
        calibrate_command(as_json=True, quick=True)
