import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamjoin.dashboard.feed import LONGEST_LINE, Tail, read_ends
from streamjoin.metrics.records import FILE, Decision, Record, RecordFile, Started, to_line


def decisions(n: int, first: int = 0) -> Iterator[Decision]:
    return (Decision(float(at), "join", at, "x" * 40) for at in range(first, first + n))


def times(records: Iterator[Record]) -> list[float]:
    return [record.at for record in records if isinstance(record, Decision)]


def test_each_record_is_read_once_through_many_rotations(tmp_path: Path) -> None:
    file, tail = RecordFile(tmp_path, most_bytes=1500), Tail(tmp_path)
    file.write(Started("q"))
    seen = []
    for at, record in enumerate(decisions(200)):
        file.write(record)
        if at % 7 == 0:  # a file takes some 13 of them: it is never replaced twice between looks
            seen += times(tail.read())
    seen += times(tail.read())
    assert seen == [float(at) for at in range(200)]
    assert list(tail.read()) == []


def test_the_first_look_reads_both_files(tmp_path: Path) -> None:
    file = RecordFile(tmp_path, most_bytes=1500)
    for record in decisions(20):
        file.write(record)
    assert times(Tail(tmp_path).read()) == [float(at) for at in range(20)]


def test_a_line_that_is_not_complete_waits(tmp_path: Path) -> None:
    tail, line = Tail(tmp_path), to_line(Decision(1.0, "join", 1, "done"))
    with (tmp_path / FILE).open("w") as file:
        for piece in (line[:10], line[10:]):
            file.write(piece)
            file.flush()
            assert list(tail.read()) == []
        file.write("\n")
        file.flush()
        assert times(tail.read()) == [1.0]


def test_a_start_after_a_crash_is_found_on_the_line_that_was_cut(tmp_path: Path) -> None:
    cut = to_line(Decision(1.0, "join", 1, "done"))[:30]
    (tmp_path / FILE).write_text(cut + to_line(Started("again")) + "\n")
    assert list(Tail(tmp_path).read()) == [Started("again")]


def test_a_file_that_was_replaced_is_read_from_its_beginning(tmp_path: Path) -> None:
    tail = Tail(tmp_path)
    for first in (0, 50):
        (tmp_path / FILE).unlink(missing_ok=True)
        assert list(tail.read()) == []
        for record in decisions(10, first):
            RecordFile(tmp_path).write(record)
        assert times(tail.read()) == [float(at) for at in range(first, first + 10)]


@pytest.mark.parametrize("bad", [b"\xff\xfe{}", b"[1, 2]", b'"started"', b"null", b"{" * 50_000])
def test_damaged_lines_are_passed_over(tmp_path: Path, bad: bytes) -> None:
    good = [to_line(record).encode() for record in decisions(2)]
    (tmp_path / FILE).write_bytes(b"\n".join([good[0], bad, good[1], b""]))
    assert times(Tail(tmp_path).read()) == [0.0, 1.0]


def test_a_line_without_end_does_not_fill_the_memory(tmp_path: Path) -> None:
    tail = Tail(tmp_path)
    (tmp_path / FILE).write_bytes(b"x" * (LONGEST_LINE + 100))
    assert list(tail.read()) == []
    with (tmp_path / FILE).open("ab") as file:
        file.write(b"\n" + to_line(Decision(1.0, "join", 1, "")).encode() + b"\n")
    assert times(tail.read()) == [1.0]


def test_the_ends_of_a_file_are_its_first_record_and_the_last_ones(tmp_path: Path) -> None:
    RecordFile(tmp_path).write(Started("q"))
    for record in decisions(100):
        RecordFile(tmp_path).write(record)
    size = len(json.dumps(to_line(Decision(99.0, "join", 99, "x" * 40))))
    first, *rest = read_ends(tmp_path, 3 * size)
    assert first == Started("q")
    assert times(iter(rest))[-2:] == [98.0, 99.0]
    assert len(rest) <= 4
