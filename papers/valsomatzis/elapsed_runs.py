"""When the last result comes if the join is only active at the end of each period (VAL-C12)."""

from typing import Final

from papers.base import Context, Numbers
from papers.operators.nary_window import NaryRun
from papers.valsomatzis.nary_streams import DATA_SETS, DURATION
from papers.valsomatzis.printed import PERIODS, TIMESTAMP
from papers.valsomatzis.workload import Streams

SPEEDS: Final = (30.0, 0.8)
"""Work that can be done while the streams last, over all that is to be done: fast, and too slow."""


def elapsed(context: Context) -> Numbers:
    """Time units from the last arrival to the last result, less what is allowed."""
    late: dict[float, dict[tuple[str, str], float]] = {speed: {} for speed in SPEEDS}
    for name in DATA_SETS:
        context.progress(f"data set {name}")
        streams = Streams(name, 0.03, context.seeds[0])
        last = max(int(trace.times[-1]) for trace in streams.traces)
        first = min(int(trace.times[0]) for trace in streams.traces)
        for period, units in PERIODS.items():
            run = streams.run(TIMESTAMP, units)
            for speed in SPEEDS:
                late[speed][name, period] = _beyond(run, first, last, units, speed)
    return {"beyond": late}


def _beyond(run: NaryRun, first: int, last: int, period: int, speed: float) -> float:
    """How much later than a period and the largest batch's work the last result comes."""
    work = run.work().sum(axis=1)
    units = work / work.sum() * DURATION / speed
    done = 0.0
    for i, needed in enumerate(units.tolist()):
        done = max(done, first + (i + 1) * period) + needed
    return done - last - period - float(units.max())
