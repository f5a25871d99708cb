"""The page about budgets keeps its word: its example runs and gives the numbers of its table."""

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "budgets.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n((?:\|[^\n]*\n)+))?", re.MULTILINE | re.DOTALL)


def test_the_page_about_budgets() -> None:
    code, table = next(found for found in BLOCK.findall(PAGE.read_text("utf-8")) if found[1])
    names: dict[str, Any] = {}
    exec(code, names)
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert len(rows) - 2 == len(names["out"])
    for written, (budget, split, found, estimate, error) in zip(
        rows[2:], names["out"], strict=True
    ):
        assert written[:2] == [budget.describe(), f"`{split}`"]
        assert float(written[2]) == pytest.approx(100 * found, abs=1)
        assert float(written[3].partition(" ")[0]) == pytest.approx(100 * estimate, abs=1)
        assert found == pytest.approx(estimate, abs=max(2 * error, 0.01))
