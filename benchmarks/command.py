"""Run benchmarks and show what they return."""

import json
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks import BENCHES
from streamjoin.errors import ConfigError, MissingExtraError

Result = dict[str, Any]


def bench_command(name: str | None, *, as_json: bool, quick: bool) -> None:
    """Run one benchmark, or all; results on stdout, progress on stderr."""
    names = list(BENCHES) if name is None else [_known(name)]
    progress = Console(stderr=True, highlight=False)
    results = [_run(each, progress, quick) for each in names]
    if as_json:
        found = results if name is None else results[0]
        print(json.dumps(found, indent=2))  # for other programs: no console's folding
        return
    for result in results:
        _show(result, Console())


def _known(name: str) -> str:
    if name in BENCHES:
        return name
    close = get_close_matches(name, BENCHES, n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    raise ConfigError(f"bench: got {name!r}; allowed: {', '.join(BENCHES)}{hint}")


def _run(name: str, progress: Console, quick: bool) -> Result:
    try:
        module = import_module(BENCHES[name])
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("streamjoin"):
            raise
        raise MissingExtraError.of(extra="spark,dev", module=error.name or "") from error
    result: Result = module.run(lambda line: progress.print(line, markup=False), quick=quick)
    return result


def _show(result: Result, console: Console) -> None:
    rows = result["rows"]
    table = Table(title=result["bench"], title_justify="left")
    names = list(dict.fromkeys(key for row in rows for key in row))
    for name in names:
        numeric = all(isinstance(row.get(name, 0), int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_cell(row.get(name)) for name in names))
    console.print(table)
    for name, ratio in result["ratios"].items():
        console.print(f"  {name}: {ratio:.2f}", markup=False)


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
