"""One quick reproduction for all tests of a paper."""

import pytest

from papers.base import Context
from papers.run import Outcome, reproduce


@pytest.fixture(scope="module")
def quick(request: pytest.FixtureRequest) -> Outcome:
    """Of the paper that the test's module names."""
    return reproduce(request.module.PAPER, Context(quick=True, seeds=(1,)))
