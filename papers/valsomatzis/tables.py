"""Tables 4 and 5 redone, what was counted, and where draining pays."""

from collections.abc import Callable
from typing import Final

from papers.base import AllNumbers, ResultTable
from papers.measurement import Measurement
from papers.valsomatzis.comparison import Compared
from papers.valsomatzis.engine_runs import Engine
from papers.valsomatzis.locality_runs import Sized
from papers.valsomatzis.nary_streams import DATA_SETS
from papers.valsomatzis.parts import mean, of
from papers.valsomatzis.printed import HALVES, PERIODS, TIMES, Cases, average
from papers.valsomatzis.workload import NAMES
from streamjoin.planning.many.nary import Order

Rows = list[tuple[str, ...]]
_NONE: Final = "-"


def _cell(printed: float, model: float, measured: Measurement) -> str:
    half = (measured.high - measured.low) / 2
    return f"{printed:g}; {model:.3f}; {measured.mean:.3f} ± {half:.3f}"


def _redone(
    table: dict[Order, Cases],
    model: Callable[[Compared], float],
    measured: Callable[[Compared], Measurement],
) -> Callable[[AllNumbers], Rows]:
    """Rows of a table of the paper: printed, by the model, and measured."""

    def rows(numbers: AllNumbers) -> Rows:
        found: Rows = []
        for name in DATA_SETS:
            for period in PERIODS:
                case = of(numbers, name, period)
                cells = [
                    _cell(table[o][name, period], model(case[o]), measured(case[o]))
                    if o in case
                    else _NONE
                    for o in table
                ]
                found.append((name, period, *cells))
        for period in PERIODS:
            cells = []
            for order, printed in table.items():
                column = [each[order] for each in _of(numbers, period) if order in each]
                cells.append(
                    f"{average(printed, period):.3f}; {mean(map(model, column)):.3f}; "
                    f"{mean(measured(each).mean for each in column):.3f}"
                )
            found.append(("average", period, *cells))
        return found

    return rows


def _of(numbers: AllNumbers, period: str) -> list[dict[Order, Compared]]:
    return [found for (_, p), found in numbers["policies"]["compared"].items() if p == period]


def _counts(numbers: AllNumbers) -> Rows:
    return [
        (
            name,
            period,
            *(
                f"{found[o].probes.mean:.4f}; {found[o].changes:,.0f}; "
                f"{found[o].half_counted.mean:.2f}"
                if o in found
                else _NONE
                for o in HALVES
            ),
        )
        for (name, period), found in numbers["policies"]["compared"].items()
    ]


def _sizes(numbers: AllNumbers) -> Rows:
    sized: list[Sized] = numbers["locality"]["sized"]
    return [
        (
            f"{each.scale:g}",
            f"{each.megabytes:.1f}",
            f"{each.tuple_ns:.0f}",
            str(each.round_robin),
            str(each.drained),
        )
        for each in sized
    ]


def _live(numbers: AllNumbers) -> Rows:
    found: list[Engine] = numbers["engine"]["found"]
    return [
        (each.data_set, each.period, NAMES[each.order], f"{each.turns:,}", str(each.time))
        for each in found
    ]


TIMES_REDONE: Final = ResultTable(
    title="Table 4 redone: time over timestamp order's",
    note=(
        "Each cell: printed; model; measured with half of its interval. The model counts probes, "
        "results and changes of the driver and has one constant, fitted to the printed times of "
        "data set I at 1M. It knows what the orders do, and not what a processor makes of it: on V "
        "and VI, where the driver changes once in ten tuples, it leaves little to gain."
    ),
    columns=("data set", "batch", *(NAMES[order] for order in TIMES)),
    rows=_redone(TIMES, lambda each: each.time_model, lambda each: each.time["all"]),
)
HALVES_REDONE: Final = ResultTable(
    title="Table 5 redone: share of a batch's results by half of timestamp order's time",
    note="Each cell: printed; model; measured with half of its interval.",
    columns=("data set", "batch", *(NAMES[order] for order in HALVES)),
    rows=_redone(HALVES, lambda each: each.half_model.mean, lambda each: each.half),
)
COUNTED: Final = ResultTable(
    title="What was counted",
    note=(
        "Each cell: probes over timestamp order's; changes of the driver; share of a batch's "
        "results by half of timestamp order's probes and results. The number of results, and the "
        "results themselves, are the same in all orders."
    ),
    columns=("data set", "batch", *(NAMES[order] for order in HALVES)),
    rows=_counts,
)
SIZES: Final = ResultTable(
    title="Where draining pays: the size of the tables",
    note=(
        "Data set I at 1M, cardinalities scaled. Times over timestamp order's. To take turns by "
        "position spares the comparison of times, and that is all there is to gain with small "
        "tables. What draining gains beyond it with larger ones is likely the cache, where two "
        "tables are used in turn instead of three; caches were not measured."
    ),
    columns=("scale", "tables (MB)", "timestamp order (ns a tuple)", "round-robin", "drained"),
    rows=_sizes,
)
LIVE: Final = ResultTable(
    title="Where draining pays: the live join",
    note=(
        "The join of this library processes the tuples of a turn together. A turn costs what many "
        "tuples cost, so streams that take turns do so in rounds of some thousand tuples; a "
        "drained buffer is one turn. Time over that of timestamp order in rounds."
    ),
    columns=("data set", "batch", "order", "turns", "time"),
    rows=_live,
)
TABLES: Final = (TIMES_REDONE, HALVES_REDONE, COUNTED, SIZES, LIVE)
