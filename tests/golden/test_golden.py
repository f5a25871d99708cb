"""What users see is as the golden files have it: explanations, help pages, names, counters."""

import tempfile
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from streamjoin.joins.table import measuring
from streamjoin.joins.table.measuring import Measured
from tests.golden import counters, explained, helps, names
from tests.golden.explained import Inputs
from tests.golden.files import golden_files

GOLDEN = golden_files(Path(__file__).parent)
SCAN_MS, LOOK_UP_US = 2.0, 20.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp(explained.LONGER_THAN_A_LINE)
    explained.write_people(made)
    return made


@pytest.fixture
def inputs(spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    # What reading a table costs is measured when the join is made.
    monkeypatch.setattr(measuring, "measure", lambda *_: Measured(SCAN_MS, LOOK_UP_US, 0))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return Inputs(spark, folder)


@pytest.mark.parametrize("case", explained.CASES)
def test_joins_are_explained_as_before(inputs: Inputs, case: str) -> None:
    GOLDEN.check(explained.explained(case, inputs))


@pytest.mark.parametrize("join", counters.JOINS)
def test_joins_count_the_same_as_before(inputs: Inputs, join: str) -> None:
    GOLDEN.check(counters.counters_of(join, inputs))


def test_prometheus_is_given_the_same_as_before() -> None:
    GOLDEN.check(counters.prometheus_names())


def test_commands_say_the_same_of_themselves_as_before() -> None:
    GOLDEN.check(helps.help_pages())


def test_public_names_take_the_same_as_before() -> None:
    GOLDEN.check(names.public_names())


def test_no_golden_file_is_left_over() -> None:
    of_joins = [name for case in explained.CASES for name in explained.files_of(case)]
    of_counters = [counters.file_of(join) for join in counters.JOINS]
    others = [*helps.help_pages(), *names.public_names(), *counters.prometheus_names()]
    GOLDEN.check_no_others([*of_joins, *of_counters, *others])
