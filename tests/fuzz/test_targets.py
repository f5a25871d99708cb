"""Whatever bytes come, nothing is raised but sentences: the targets with damaged examples."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.__main__ import main
from tests.fuzz.target import Choices, damaged
from tests.fuzz.targets import TARGETS

DIGITS = b"9" * 5000  # more than Python makes a number of
TABLE = b'[sources.a]\ntype = "rate"\n[table]\n'
FOUND = {
    "an exponent without digits": ("where", b"left.x > 1e"),
    "a number of 5000 digits": ("where", b"left.k = " + DIGITS),
    "a sum of 2000": ("where", b"left.k = 1" + b" + 1" * 2000),
    "a time before the year 1": ("where", b"left.t > TIMESTAMP'0001-01-01 00:00:00+14:00'"),
    "a window of 5000 digits": ("query", b"SELECT a.x FROM a, b WINDOW %b SECONDS" % DIGITS),
    "5000 digits of rows": ("query", b"SELECT a.x FROM a, b WINDOW %b ROWS" % DIGITS),
    "a type that is a list": ("pipeline_file", TABLE + b"type = []"),
    "a name too long for a file": (
        "pipeline_file",
        TABLE
        + b'type = "generator"\npath = "%b"\n[join]\non = "value"\n[sink]\ntype = "noop"' % DIGITS,
    ),
    "brackets in brackets": ("pipeline_file", b"a = " + b"[" * 5000),
    "a setting of 5000 digits": ("pipeline_file", b"a = " + DIGITS),
    "a gate that is a number": ("decisions", b"1.1"),
    "decisions in brackets in brackets": ("decisions", b"[" * 100_000),
    "a gate beyond all numbers": ("decisions", b"[1" + b"0" * 400 + b", 1]"),
    "waiting rows that wait for nothing": ("state", bytes([7, 0, 3, 0, 1, 0, 2, 0])),
}


@pytest.mark.parametrize("found", FOUND)
def test_what_was_found_once(found: str) -> None:
    name, data = FOUND[found]
    TARGETS[name].one(data)


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_and_examples(name: str) -> None:
    for data in (b"", b"\0", *TARGETS[name].seeds()):
        TARGETS[name].one(data)


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=settings().max_examples // 2)
@given(data=st.data())
def test_damaged_examples(name: str, data: st.DataObject) -> None:
    target = TARGETS[name]
    example = data.draw(st.sampled_from(target.seeds()))
    target.one(damaged(example, Choices(data.draw(st.binary(max_size=32)))))


@pytest.mark.parametrize(("asked", "code"), [([], 1), (["--if-installed"], 0)])
def test_without_atheris_nothing_is_said_to_be_fuzzed(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    asked: list[str],
    code: int,
) -> None:
    monkeypatch.setattr("tests.fuzz.__main__.find_spec", lambda _: None)
    monkeypatch.setattr("sys.argv", ["tests.fuzz", *asked])
    assert main() == code
    assert "nothing was fuzzed by coverage" in capsys.readouterr().out
