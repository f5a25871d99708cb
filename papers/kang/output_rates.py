"""Figure 7: results a second on a processor of limited speed, in virtual time."""

from typing import Final

from papers.base import Context, Numbers
from papers.kang.cost_model import thrashing_rate
from papers.kang.operator import (
    CAPACITY,
    FULL,
    ONE_WAY,
    RATE_A,
    model_cost,
    model_output,
    run_join,
)
from papers.kang.workload import Streams
from papers.measurement import Measurement

KEYS: Final = 10
SHOWN: Final = ("HHJ", "HNJ", "HJ", "NLJ")
FEEDER_US: Final = 1000.0
"""What the authors' feeder adds to a gap: their peaks are Eq. 9 at gaps 1.04 and 1.07 ms longer."""
OVERLOADED: Final = 0.01
"""Share of tuples that wait at the end, from which on a join no longer keeps up."""
BEYOND: Final = 1.25
"""How far beyond its own peak a join's loss is measured."""


def figure_7(context: Context) -> Numbers:
    """Output against the rate of B, and where each join is overloaded (KAN-C10 to C13)."""
    rates = [float(rate) for rate in range(20, 241, 20 if context.quick else 10)]
    measured = {}
    for join in SHOWN:
        context.progress(f"{join} from 20 to 240 tuples/s")
        measured[join] = [_output(context, join, rate) for rate in rates]
    predicted = {join: _predicted(join) for join in (*FULL, *ONE_WAY)}
    peaks = {join: _overload(context, join) for join in (*FULL, *ONE_WAY)}
    fed = {join: _overload(context, join, FEEDER_US) for join in ("HHJ", "HNJ")}
    at_peak = {join: _output(context, join, peaks[join].mean) for join in ("HHJ", "HNJ")}
    beyond = {join: _output(context, join, BEYOND * peaks[join].mean) for join in ("HHJ", "HNJ")}
    return {
        "rates": rates,
        "model": {join: [_model(join, rate) for rate in rates] for join in SHOWN},
        "offered": {join: [model_output(join, rate, KEYS) for rate in rates] for join in SHOWN},
        "measured": measured,
        "predicted": predicted,
        "peaks": peaks,
        "fed": fed,
        "at_peak": at_peak,
        "lost": {join: 1 - beyond[join].mean / at_peak[join].mean for join in beyond},
    }


def _predicted(join: str) -> float:
    """The rate at which the model's cost reaches the capacity."""
    return thrashing_rate(lambda b: model_cost(join, b, KEYS), CAPACITY, 10, 400)


def _model(join: str, rate: float) -> float:
    """Eq. 9, and of an overloaded join the share of it that the capacity pays for."""
    share = min(1.0, CAPACITY / float(model_cost(join, rate, KEYS)))
    return share * model_output(join, rate, KEYS)


def _output(context: Context, join: str, rate: float) -> Measurement:
    begin, end = _span(context)
    found = []
    for seed in context.seeds:
        traces = Streams((RATE_A, rate), (KEYS, KEYS), end, seed).traces()
        run = run_join(join, traces, (KEYS, KEYS), (begin, end), capacity=CAPACITY)
        found.append(run.outputs / (end - begin))
    return Measurement.of(found)


def _overload(context: Context, join: str, delay_us: float = 0.0) -> Measurement:
    context.progress(f"overload of {join}")
    return Measurement.of([_overload_once(context, join, seed, delay_us) for seed in context.seeds])


def _overload_once(context: Context, join: str, seed: int, delay_us: float) -> float:
    """The lowest rate at which tuples pile up, to a tuple a second or better."""
    begin, end = _span(context)
    low, high = 0.9 * _predicted(join), 1.3 * _predicted(join)
    while high - low > (1.0 if context.quick else 0.3):
        rate = (low + high) / 2
        traces = Streams((RATE_A, rate), (KEYS, KEYS), end, seed, delay_us=delay_us).traces()
        run = run_join(join, traces, (KEYS, KEYS), (begin, end), capacity=CAPACITY)
        if run.waiting > OVERLOADED * sum(map(len, traces)):
            high = rate
        else:
            low = rate
    return (low + high) / 2


def _span(context: Context) -> tuple[float, float]:
    return (65, 125) if context.quick else (120, 300)
