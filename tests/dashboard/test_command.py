import os
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from streamjoin.cli.app import run_app
from tests.dashboard.recordings import overloaded, write


def test_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    write(tmp_path / "q", overloaded(5))
    program = "from streamjoin.cli import main; main()"
    command = [sys.executable, "-u", "-c", program, "dashboard", "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        url = process.stdout.readline().removeprefix("Live page: ").strip()
        with urllib.request.urlopen(f"{url}queries") as answer:
            assert b"calls_and_trades" in answer.read()
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.read() == "Ctrl-C ends it.\nEnded.\n"
        assert process.stderr.read() == ""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["absent"], "FOLDER: got absent; allowed: a folder that exists"),
        (["--port", "99999"], "port: got 99999; allowed: 0 to 65535"),
        (["--host", "no.such.host.invalid"], "host: got 'no.such.host.invalid' ("),
    ],
)
def test_refuses_in_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_app(["dashboard", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"streamjoin: {sentence}")
    assert said.count("\n") == 1


def test_says_what_it_means_to_let_others_in(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamjoin.cli.app.wait_for_interrupt", lambda: None)
    assert run_app(["dashboard", str(tmp_path), "--host", "0.0.0.0", "--port", "0"]) == 0
    said = capsys.readouterr().out
    assert "whoever reaches this machine can read the page, without a password" in said
