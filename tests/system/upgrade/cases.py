"""All cases, and which of them the archive of each version has."""

from typing import Final

from tests.system.upgrade.multi_cases import MULTI_CASES
from tests.system.upgrade.story import Case
from tests.system.upgrade.table_cases import TABLE_CASES
from tests.system.upgrade.window_cases import WINDOW_CASES

CASES: Final[dict[str, Case]] = {**WINDOW_CASES, **MULTI_CASES, **TABLE_CASES}
KEPT: Final[dict[str, tuple[str, ...]]] = {
    "0.1.0": ("inner", "full", "plan", "nary", "table"),
    "0.2.0": (
        "inner", "full", "semi", "anti", "rows", "rows_left", "asof", "asof_nearest", "grid",
        "hot_keys", "selective", "drop", "rate", "memory", "memory_bytes",
        "plan", "tree", "nary", "nary_grid", "auto", "multi_rows", "states", "multi_cpu",
        "multi_rate", "chain_rate",
        "table", "inlj", "hybridjoin", "meshjoin", "meshjoin_moved", "inlj_spilled",
        "hybridjoin_spilled", "meshjoin_spilled",
    ),
}  # fmt: skip
"""In words, so that a case that gets lost is missed."""
