"""What a longer window costs: throughput and state from 10 to 100 seconds at a constant yield.

The number of keys grows with the window, so each row finds two partners on average whatever the
window. What grows is only what must be remembered and looked through.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from benchmarks.recorded import ROWS_PER_FILE, SECONDS_PER_FILE, record
from benchmarks.systems import Task, measure

KEYS_PER_SECOND: Final = 20_000
WARM: Final = 8
LONGEST: Final = 100


def run(report: Callable[[str], None], quick: bool = False) -> dict[str, Any]:
    """Time the join at 400k rows a micro-batch over growing windows; `quick` at two short ones."""
    windows = (10, 20) if quick else (10, 25, 50, LONGEST)
    # The longest window must be full, and all must have warmed up for the same number of batches.
    cold = windows[-1] // SECONDS_PER_FILE + 4
    rates: dict[int, float] = {}
    state: dict[int, tuple[int, int]] = {}
    with tempfile.TemporaryDirectory(prefix="sj-data-") as work:
        for window in windows:
            folder = Path(work) / str(window)
            record(folder, cold + WARM, KEYS_PER_SECOND * window)
            timing = measure(Task("streamjoin", str(folder), 1, window))
            rates[window] = timing.rows_per_second(cold)
            state[window] = timing.state_rows, timing.state_bytes
            report(
                f"window {window:>3} s: {rates[window]:>9,.0f} rows/s, "
                f"{timing.state_bytes / 1e6:,.0f} MB in state"
            )
    rows = [
        {
            "system": "streamjoin",
            "batch_rows": 2 * ROWS_PER_FILE,
            "window_s": window,
            "rows_per_s": rates[window],
            "state_rows": state[window][0],
            "state_bytes": state[window][1],
        }
        for window in windows
    ]
    short, long = windows[0], windows[-1]
    ratios = {
        f"throughput-{long}s/{short}s": rates[long] / rates[short],
        f"state-bytes-{long}s/{short}s": state[long][1] / state[short][1],
    }
    return {"bench": "window-growth", "rows": rows, "ratios": ratios}
