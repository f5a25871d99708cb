from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamjoin.metrics import JoinMetrics
from streamjoin.metrics.records import (
    BEFORE,
    FILE,
    BatchDone,
    Decision,
    Ended,
    Record,
    RecordFile,
    Started,
    from_line,
    read_records,
    to_line,
)
from tests.metrics.batches import selective
from tests.metrics.strategies import NAMES, batches

TIMES = st.floats(0, 2e9)
RECORDS: st.SearchStrategy[Record] = st.one_of(
    st.builds(Started, NAMES, NAMES, TIMES, NAMES, NAMES, st.none() | TIMES, NAMES),
    st.builds(BatchDone, batches()),
    st.builds(Decision, TIMES, NAMES, st.integers(0, 10**9), NAMES),
    st.builds(Ended, TIMES, NAMES),
)


@given(RECORDS)
def test_a_record_survives_its_line(record: Record) -> None:
    line = to_line(record)
    assert "\n" not in line
    assert from_line(line) == record


@given(RECORDS, st.data())
def test_a_cut_line_is_no_record(record: Record, data: st.DataObject) -> None:
    line = to_line(record)
    assert from_line(line[: data.draw(st.integers(0, len(line) - 1))]) is None


@pytest.mark.parametrize(
    "line",
    [
        "", "\n", "null", "[]", "7", '"batch"', "{}", '{"record":[]}',
        '{"record":"batch","ages":1}', '{"record":"batch","inputs":3}',
        '{"record":"batch","inputs":[{}]}',
        '{"record":"decision","at":1.0}', '{"record":"later version","at":1.0}',
    ],
)  # fmt: skip
def test_a_damaged_line_is_no_record(line: str) -> None:
    assert from_line(line) is None


def test_what_a_later_version_adds_is_passed_over() -> None:
    assert from_line('{"record":"ended","version":9,"at":2.0,"why":"?"}') == Ended(2.0)


def test_readers_pass_over_what_is_damaged(tmp_path: Path) -> None:
    file = RecordFile(tmp_path)
    file.write(Started("calls"))
    with file.path.open("ab") as damaged:
        damaged.write(b'{"record":"batch","name":"\xff\xfe\n\x00\x00\n{"record":"ended","at"\n')
    file.write(Ended(3.0))
    assert list(read_records(tmp_path)) == [Started("calls"), Ended(3.0)]


def test_a_restart_is_appended(tmp_path: Path) -> None:
    story: list[Record] = [Started("calls", "1"), Ended(1.0, "disk full"), Started("calls", "2")]
    for record in story:
        RecordFile(tmp_path).write(record)  # as another process would
    assert list(read_records(tmp_path)) == story


def test_no_file_has_no_records(tmp_path: Path) -> None:
    assert list(read_records(tmp_path / "none")) == []


def test_files_stay_bounded_and_begin_with_the_start(tmp_path: Path) -> None:
    line = len(to_line(BatchDone(selective(0)))) + 1
    file = RecordFile(tmp_path, most_bytes=10 * line)
    start = Started("calls", plan="a window join")
    file.write(start)
    for batch in range(100):
        file.write(BatchDone(selective(batch)))
    sizes = [(tmp_path / name).stat().st_size for name in (BEFORE, FILE)]
    assert all(size <= 12 * line for size in sizes)
    kept = list(read_records(tmp_path))
    assert kept[0] == start
    numbers = [one.metrics.batch for one in kept if isinstance(one, BatchDone)]
    assert numbers == list(range(numbers[0], 100))  # none is missing up to the last
    assert len(numbers) >= 10


def test_a_batch_ends_when_it_has_taken_its_time() -> None:
    assert BatchDone(JoinMetrics(at=10.0, seconds=1.5)).at == 11.5


def test_after_a_line_that_was_cut_off_records_go_on(tmp_path: Path) -> None:
    RecordFile(tmp_path).write(Started("first"))
    with (tmp_path / FILE).open("a") as file:
        file.write('{"record":"bat')
    RecordFile(tmp_path).write(Started("again"))
    assert list(read_records(tmp_path)) == [Started("first"), Started("again")]
