"""Checkpoints of earlier versions: a query goes on from them as if it had not been stopped."""

from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.system.upgrade.archive import cases_of, unpack, versions
from tests.system.upgrade.cases import CASES, KEPT
from tests.system.upgrade.story import flat, go_on, shape


def test_no_case_of_a_version_is_lost() -> None:
    assert {version: cases_of(version) for version in versions()} == {
        version: set(names) for version, names in KEPT.items()
    }


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version, names in KEPT.items() for name in names]
)
def test_a_query_goes_on(spark: SparkSession, tmp_path: Path, version: str, name: str) -> None:
    case = CASES[name]
    unpack(version, name, tmp_path)
    story = go_on(spark, case, tmp_path)
    assert any(story.before.results)
    for check in case.checks:
        check(story)
    if story.stopped is None:
        return  # 0.1.0 kept no more
    assert {shape(result) for result in flat(story.after.results)} >= set(case.stored)
    assert not case.repeats or Counter(story.after.results[0]) == Counter(story.stopped)
    for need in case.needs:
        need(story)
