"""What `streamjoin run` does before and beside a query; queries themselves: tests/system."""

import signal
from pathlib import Path

import pytest

from streamjoin.cli.app import run_app
from streamjoin.cli.places import KafkaSourceSection
from streamjoin.cli.run import signals
from streamjoin.cli.table_file import load_toml

EXAMPLES = Path(__file__).parents[2] / "examples"
PIPELINE = """
[sources.calls]
type = "generator"
seconds = 6
[sources.trades]
type = "generator"
workload = "trades"
seconds = 6
[join]
on = "person"
time = ["called_at", "traded_at"]
window = "3 seconds"
[sink]
type = "noop"
"""


def test_an_interrupted_run_says_so_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.toml"
    file.write_text(PIPELINE, encoding="utf-8")

    def interrupt(*_: object) -> None:
        with signals() as caught:
            signal.raise_signal(signal.SIGINT)
            assert caught == [signal.SIGINT]
            signal.raise_signal(signal.SIGINT)
            pytest.fail("the second one does not interrupt")

    monkeypatch.setattr("streamjoin.cli.run.start", interrupt)
    assert run_app(["run", str(file)]) == 130
    assert capsys.readouterr().err == "streamjoin: interrupted\n"


def test_a_port_is_for_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_app(["run", str(tmp_path / "p.toml"), "--port", "1"]) == 2
    assert capsys.readouterr().err == (
        "streamjoin: --port: got 1; allowed: with --dashboard only\n"
    )


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.stem)
def test_the_examples_are_good_files(file: Path) -> None:
    settings = load_toml(file)
    stream = next(iter(settings.sources.values()))
    has_end = settings.run.duration or getattr(stream, "seconds", None)
    assert has_end or isinstance(stream, KafkaSourceSection)  # a topic has none
