import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import streamjoin as sj
from benchmarks import BENCHES
from streamjoin.cli.app import run_app
from streamjoin.errors import EngineError

RESULT = {
    "bench": "kernel",
    "rows": [{"system": "streamjoin", "rows_per_s": 1234567.8}, {"system": "duckdb", "n": 3}],
    "ratios": {"streamjoin/duckdb": 2.5},
}


@pytest.fixture
def fake_bench(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
        report(f"measuring, quick={quick}")
        return RESULT

    module = ModuleType("fake_bench")
    monkeypatch.setattr(module, "run", run, raising=False)
    monkeypatch.setitem(sys.modules, "fake_bench", module)
    for name in BENCHES:
        monkeypatch.setitem(BENCHES, name, "fake_bench")


@pytest.mark.usefixtures("fake_bench")
def test_bench_json_is_one_document_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["bench", "kernel", "--json", "--quick"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out) == RESULT
    assert "measuring, quick=True" in printed.err


@pytest.mark.usefixtures("fake_bench")
def test_all_benches_as_one_json_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["bench", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [RESULT] * len(BENCHES)


@pytest.mark.usefixtures("fake_bench")
def test_bench_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["bench", "kernel"]) == 0
    out = capsys.readouterr().out
    assert "1,234,568" in out
    assert "streamjoin/duckdb: 2.50" in out


@pytest.mark.parametrize("command", ["bench", "reproduce"])
def test_what_an_installed_package_lacks_says_where_it_is(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("streamjoin.cli.app.find_spec", lambda name: None)
    assert run_app([command]) == 2
    assert capsys.readouterr().err == (
        f"streamjoin: {command}: not part of the installed package; allowed: in a clone of "
        f"streamjoin's repository, after `make install`, as `.venv/bin/streamjoin {command}`\n"
    )


def test_an_unknown_bench_is_answered_with_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["bench", "window-jion"]) == 2
    sentence = (
        f"streamjoin: bench: got 'window-jion'; allowed: {', '.join(BENCHES)}; "
        "did you mean window-join?\n"
    )
    assert capsys.readouterr().err == sentence


GENERATED = """
[sources.calls]
type = "generator"
rate = 400
[sources.trades]
type = "generator"
workload = "trades"
rate = 250
[join]
how = "left"
on = "person"
time = ["called_at", "traded_at"]
window = { rows = 50 }
[sink]
type = "noop"
[run]
trigger = "1 second"
"""


def explain(folder: Path, text: str, *options: str) -> int:
    file = folder / "p.toml"
    file.write_text(text, encoding="utf-8")
    return run_app(["explain", str(file), *options])


@pytest.mark.usefixtures("spark")
def test_explain_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert explain(tmp_path, GENERATED) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("streamjoin: left join of two streams\n  Gives each row of calls")
    assert "  ! a window counts rows" in printed.out
    assert printed.err == "Starting Spark ...\n"
    assert explain(tmp_path, GENERATED, "--json") == 0
    join = json.loads(capsys.readouterr().out)["joins"][0]
    assert [side["rows_per_second"] for side in join["state"]] == [400, 250]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("old", "new", "code", "sentence"),
    [
        ('"left"', '"lift"', 2, "key `join.how`: got 'lift'; allowed: inner, left, right, full"),
        ('"person"', '"persn"', 2, "on: the left stream has no column 'persn' (did you mean 'per"),
        ('"generator"\nrate = 400', '"nonsense"', 1, "Failed to find the data source: nonsense"),
    ],
)
def test_explain_says_what_is_wrong(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    old: str,
    new: str,
    code: int,
    sentence: str,
) -> None:
    assert old in GENERATED
    assert explain(tmp_path, GENERATED.replace(old, new)) == code
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("streamjoin: ")
    assert sentence in last


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["--version"]) == 0
    assert capsys.readouterr().out == f"streamjoin {sj.__version__}\n"


@pytest.mark.parametrize("arguments", [["frob"], ["run"], ["run", "a.toml", "--frob"]])
def test_wrong_use_ends_with_2(arguments: list[str]) -> None:
    assert run_app(arguments) == 2


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (EngineError("disk full"), 1, "streamjoin: disk full\n"),
        (
            RuntimeError("odd\nat line 3"),
            1,
            "streamjoin: odd (RuntimeError; set STREAMJOIN_DEBUG=1 to see the traceback)\n",
        ),
        (KeyboardInterrupt(), 130, ""),
    ],
)
def test_errors_are_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: BaseException,
    code: int,
    sentence: str,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.delenv("STREAMJOIN_DEBUG", raising=False)
    monkeypatch.setattr("streamjoin.cli.run.read", fail)
    assert run_app(["run", "a.toml"]) == code
    assert capsys.readouterr().err == sentence


def test_debug_shows_the_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STREAMJOIN_DEBUG", "1")
    assert run_app(["bench", "none"]) == 2
    assert "Traceback" in capsys.readouterr().err
