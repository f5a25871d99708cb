"""Costs that are found are positive and predict; what is stored comes back."""

import json
import logging
import sys
from pathlib import Path

import pytest

from streamjoin.calibration import Calibration, Crossover, load, save
from streamjoin.calibration.fitting import Fit, crossing, fit_costs
from streamjoin.calibration.many_streams import TUPLE_COSTS
from streamjoin.calibration.measuring import METHODS, Case, Filled, Stored, Timed, loss_of, measure
from streamjoin.calibration.store import stored_at
from streamjoin.errors import EngineError
from streamjoin.planning.two.algorithm_choice import OperationCosts

FOUND = Calibration(
    operations=OperationCosts(),
    batch_fit=Fit(0.9, 0.3, 24),
    batch_loss=0.12,
    crossovers=(
        Crossover("nested|hash", 128, 2.5, 2.0),
        Crossover("hash|batch", 9, None, 7.0, 0.04),
    ),
)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "folder" / "costs.json"
    monkeypatch.setenv("STREAMJOIN_CALIBRATION", str(path))
    return path


def test_quick_measurement() -> None:
    told: list[str] = []
    found = measure(quick=True, progress=told.append)
    assert len(told) == 2
    assert min(found.operations.compare, found.operations.probe, found.operations.window) > 0
    assert min(getattr(found.operations, name) for name in ("gather", "visit", "store")) > 0
    assert "nested|hash" in {each.methods for each in found.crossovers}
    # Not tighter: other work on the machine of a test disturbs.
    assert found.batch_fit.r_squared > 0.8
    assert found.batch_loss >= 0
    assert Calibration.from_dict(json.loads(json.dumps(found.to_dict()))) == found


def test_what_is_known_of_a_calibration() -> None:
    assert [each.error for each in FOUND.crossovers] == [0.25, None]


def test_a_file_without_costs_of_several_streams_is_read() -> None:
    values = FOUND.to_dict()
    for name in TUPLE_COSTS:
        del values["operations"][name]
    assert Calibration.from_dict(values) == FOUND


def test_fit_and_crossing() -> None:
    costs = fit_costs([[1000, 1], [2000, 1], [4000, 1]], [2100.0, 4100.0, 8100.0])
    assert costs == pytest.approx([2.0, 100.0])
    assert crossing([1, 2, 4, 8, 16], [5, 6, 8, 12, 20], [1, 2, 4, 8, 16]) is None
    assert crossing([1, 2, 4, 8], [10, 10, 10, 10], [4, 8, 16, 32]) == pytest.approx(2.5)


def test_fit_of_logarithms_counts_small_times_as_large_ones() -> None:
    predicted, measured = [2.0, 1e6], [1.0, 1e6]
    assert Fit.of(predicted, measured).r_squared == pytest.approx(1)
    assert Fit.of(predicted, measured, logs=True).r_squared < 0.995


def test_the_work_of_all_methods_finds_the_same_pairs(tmp_path: Path) -> None:
    stored = Stored(rows=500, n_keys=100, n_windows=3, grows=True)
    found = {Filled(stored, tmp_path, seed=1).work(method, 50)() for method in METHODS}
    assert len(found) == 1
    assert found.pop() == pytest.approx(stored.load(50).matches, rel=0.3)


def test_a_wrong_choice_loses() -> None:
    right = Timed(Case(Stored(1, 1, 1), 1, "hash"), predicted=3, measured=10)
    wrong = Timed(Case(Stored(1, 1, 1), 1, "batch"), predicted=2, measured=12)
    assert loss_of([right, wrong]) == pytest.approx(0.2)
    assert loss_of([right]) == 0


def test_saved_and_loaded(file: Path) -> None:
    assert load() is None
    assert save(FOUND) == file
    assert load() == FOUND
    save(FOUND)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_where_it_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STREAMJOIN_CALIBRATION", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert stored_at() == tmp_path / "streamjoin" / "calibration.json"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert stored_at() == tmp_path / ".cache" / "streamjoin" / "calibration.json"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "3", '{"version": 2}', '{"version": 1}', '{"version": 2, "operations": 7}'],
)
def test_other_files_are_not_used(file: Path, text: str, caplog: pytest.LogCaptureFixture) -> None:
    file.parent.mkdir()
    file.write_text(text, encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        assert load() is None
    assert str(file) in caplog.text


def test_files_with_wrong_values_are_not_used(file: Path) -> None:
    save(FOUND)
    values = json.loads(file.read_text(encoding="utf-8"))
    for name in values:
        if name != "version":
            file.write_text(json.dumps({**values, name: "odd"}), encoding="utf-8")
            assert load() is None


@pytest.mark.skipif(sys.platform == "win32", reason="folders are files nowhere else")
def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("STREAMJOIN_CALIBRATION", str(tmp_path / "file" / "costs.json"))
    with pytest.raises(EngineError, match=r"cannot be stored at .*costs\.json: "):
        save(FOUND)
    assert load() is None
