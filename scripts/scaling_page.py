"""Write what `streamjoin bench scale --json` measured into docs/scaling.md.

python scripts/scaling_page.py RESULT.json
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "scaling.md"
START, END = "<!-- measured: streamjoin bench scale -->", "<!-- measured: end -->"
Row = dict[str, Any]


def fill(page: str, result: dict[str, Any]) -> str:
    """The page with these numbers in place of those that it has."""
    if result["quick"]:
        msg = "got numbers of a quick run; allowed: those of `streamjoin bench scale --json`"
        raise ValueError(msg)
    before, _, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not end:
        msg = f"{PAGE.name}: the lines {START!r} and {END!r} are missing"
        raise ValueError(msg)
    return f"{before}{START}\n{_measured(result)}\n{END}{after}"


def _measured(result: dict[str, Any]) -> str:
    parts: dict[str, list[Row]] = {}
    for row in result["rows"]:
        parts.setdefault(row["part"], []).append(row)
    costs, *model = parts["model"]
    return "\n".join(
        [
            "## Two executors\n",
            _table(
                ["Executors", "rows/s", "Rows a batch", "Seconds a batch", "By the model",
                 "Batches"],
                (
                    [r["executors"], f"{r['rows_per_s']:,.0f}", f"{r['batch_rows']:,}",
                     f"{r['batch_s']:.2f}", f"{r['predicted_s']:.2f}", r["batches"]]
                    for r in parts["executors"]
                ),
            ),
            f"\nTwo executors/one: **{result['ratios']['two-executors/one']:.2f}**.\n",
            "## Shards, map tasks, streams\n",
            _table(
                ["Map tasks", "Shards", "Seconds a batch"],
                ([r["map_tasks"], r["shards"], f"{r['seconds']:.3f}"] for r in parts["shards"]),
            ),
            "",
            _table(
                ["Streams", "Seconds a batch"],
                ([r["streams"], f"{r['seconds']:.3f}"] for r in parts["streams"]),
            ),
            "\n## What each thing takes\n",
            _table(
                ["Part", "Seconds of a core"],
                (
                    [f"`{name}`", f"{costs[name]:.3g}"]
                    for name in ("batch", "task", "map_task", "shard", "meeting", "row")
                ),
            ),
            "\n## Up to 1,000 cores, by the model\n",
            _table(
                ["Cores", "rows/s", "Seconds a batch", "The driver's share", "Of linear"],
                (
                    [f"{r['cores']:,}", f"{r['rows_per_s']:,.0f}", f"{r['batch_s']:.2f}",
                     f"{r['driver_share']:.0%}", f"{r['of_linear']:.0%}"]
                    for r in model
                ),
            ),
            f"\n{_limit(costs['driver_limit_cores'])}",
        ]
    )  # fmt: skip


def _limit(cores: int | None) -> str:
    if cores is None:
        return "With batches of this size a core it is not the driver that becomes the limit."
    return (
        f"With batches of this size a core the driver takes as long as all others together from"
        f" about {cores:,} cores on."
    )


def _table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    lines = [names, ["---:"] * len(names), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


if __name__ == "__main__":
    result = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), result), encoding="utf-8")
