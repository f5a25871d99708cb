"""Every metric: its name, its type, what it means, and where its numbers come from.

Names keep to Prometheus's rules: base units at the end, counters end in ``_total``. A counter is
over all batches since the process began, a share or a quantile over those of the last minute, a
size is that of the last batch. First come the ways in which numbers become samples.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import attrgetter
from typing import Any, Final, Generic, Literal, TypeVar

from streamjoin.metrics.details import BasicWindows
from streamjoin.metrics.prometheus.seen import DURATIONS, JoinSeen, QuerySeen

Seen = TypeVar("Seen")
Sample = tuple[str, dict[str, str], float]
"""What is added to the name of the metric, labels, value."""
Samples = Callable[[Seen], Iterable[Sample]]
Kind = Literal["counter", "gauge", "histogram", "summary"]
QUANTILES: Final = (0.5, 0.95, 1.0)


@dataclass(frozen=True)
class Family(Generic[Seen]):
    """A metric; of a histogram and a summary the name is without the endings of its parts."""

    name: str
    kind: Kind
    text: str
    samples: Samples[Seen]  # none where they have no meaning
    labels: tuple[str, ...] = ()  # besides the query and the join


def single(value: Callable[[Seen], float | None]) -> Samples[Seen]:
    """One number, or none."""
    return lambda seen: [] if (number := value(seen)) is None else [("", {}, number)]


def at(path: str) -> Samples[Any]:
    """What is found at a path, such as a field of `JoinMetrics`, of its table or of each input.

    Examples
    --------
    >>> from streamjoin.metrics import InputMetrics, JoinMetrics
    >>> seen = JoinSeen()
    >>> seen.add(JoinMetrics(pairs=7, inputs=(InputMetrics("left", rows=5),)))
    >>> list(at("total.pairs")(seen)), list(at("total.inputs.rows")(seen))
    ([('', {}, 7)], [('', {'input': 'left'}, 5)])
    >>> list(at("last.behind")(seen)), list(at("total.table.hits")(seen))
    ([], [])
    """
    owner, _, of_each = path.partition(".inputs.")
    if of_each:
        inputs = attrgetter(f"{owner}.inputs")
        return lambda seen: (("", {"input": i.name}, getattr(i, of_each)) for i in inputs(seen))
    steps = path.split(".")
    return single(lambda seen: reduce(lambda one, step: getattr(one, step, None), steps, seen))


def in_seconds(name: str) -> Samples[JoinSeen]:
    """A total in microseconds; none where it is 0, which says that nothing is limited."""
    return single(lambda seen: getattr(seen.total, name) / 1e6 or None)


def by_name(label: str, name: str, scale: float = 1.0) -> Samples[JoinSeen]:
    """The numbers of a field that has them by name."""
    return lambda seen: (
        ("", {label: key}, value * scale) for key, value in getattr(seen.last, name).items()
    )


def by_basic_window(values: Callable[[BasicWindows], tuple[float, ...]]) -> Samples[JoinSeen]:
    """A number of each basic window of each input: there are about 20 to a window."""
    return lambda seen: (
        ("", {"input": name, "basic_window": f"{place:02}"}, value)
        for name, strip in seen.last.windows.items()
        for place, value in enumerate(values(strip))
    )


def left_out(seen: JoinSeen) -> Iterator[Sample]:
    """Rows by cause, each under one, so that causes add up."""
    for one in seen.total.inputs:
        causes = {"late": one.late - one.idle_late}
        for name in ("idle_late", "null", "ahead", "dropped", "cut"):
            causes[name] = getattr(one, name)
        for cause, rows in causes.items():
            yield "", {"input": one.name, "cause": cause}, rows


def comparisons(seen: JoinSeen) -> Iterator[Sample]:
    """Comparisons made and skipped; together those of a full join."""
    for one in seen.total.inputs:
        for outcome, n in (("made", one.compared), ("skipped", one.skipped)):
            yield "", {"input": one.name, "outcome": outcome}, n


def durations(seen: JoinSeen) -> Iterator[Sample]:
    """Batches by how long they took: a histogram."""
    bounds = (*map(str, DURATIONS), "+Inf")
    for bound, n in zip(bounds, accumulate(seen.durations), strict=True):
        yield "_bucket", {"le": bound}, n
    yield "_count", {}, seen.total.batches
    yield "_sum", {}, seen.total.seconds


def ages(seen: JoinSeen) -> Iterator[Sample]:
    """How old results are: quantiles, and how many results they are of."""
    recent, total = seen.recent.ages, seen.total.ages
    if recent is not None and recent.n:
        for share in QUANTILES:
            age = recent.most if share == 1.0 else recent.quantile(share)
            yield "", {"quantile": str(share)}, age
    if total is not None:
        yield "_count", {}, total.n


def info(seen: JoinSeen) -> Iterator[Sample]:
    """What the join is, in labels; without numbers of shards, which would change all the time."""
    algorithm = re.sub(r" \d+", "", seen.last.algorithm)
    yield "", {"kind": seen.last.kind, "algorithm": algorithm}, 1


def recall_bound(which: Literal[0, 1]) -> Samples[JoinSeen]:
    """A bound of the recall; of many streams there is none."""

    def bound(seen: JoinSeen) -> float | None:
        interval = seen.recent.recall_interval if seen.recent.has_interval else None
        return None if interval is None else interval[which]

    return single(bound)


def _entry(name: str, text: str, samples: str | Samples[Seen], *labels: str) -> Family[Seen]:
    """A counter, or by its name a gauge, without more labels if its numbers are at a path."""
    if isinstance(samples, str):
        labels = ("input",) if ".inputs." in samples else ()
        samples = at(samples)
    kind: Kind = "counter" if name.endswith("_total") else "gauge"
    return Family(f"streamjoin_{name}", kind, text, samples, labels)


QUERY_FAMILIES: Final[tuple[Family[QuerySeen], ...]] = (
    _entry("query_running", "1 while the query runs, 0 for a while after it has ended.", "running"),
    _entry("query_starts_total", "Starts of the query.", "starts"),
    _entry("query_failures_total", "Ends of the query by an error.", "failures"),
    _entry("query_trigger_seconds",
           "Time from the start of a batch to that of the next, where it is known: of pipeline "
           "files.", "trigger"),
)  # fmt: skip

JOIN_FAMILIES: Final[tuple[Family[JoinSeen], ...]] = (
    # Rows
    _entry("join_info", "Always 1; its labels say what the join is.", info, "kind", "algorithm"),
    _entry("rows_total", "Rows that came, whatever became of them.", "total.inputs.rows"),
    _entry("left_out_rows_total",
           "Rows left out, each by one cause: late; idle_late (an idle stream was given up on); "
           "null (no key or no time); ahead (a time too far ahead of the clock); dropped (not "
           "let in, for the CPU); cut (forgotten early, for the memory).",
           left_out, "input", "cause"),
    _entry("alone_rows_total", "Rows that came out without a partner.", "total.inputs.alone"),
    _entry("results_total", "Matches found.", "total.pairs"),
    _entry("rows_out_total", "Rows that came out.", "total.rows_out"),
    _entry("stale_results_total", "Matches withheld because a row in them is older than asked for.",
           "total.stale"),
    _entry("missed_results_total", "Matches not found because of a budget, as estimated.",
           "total.missed"),
    # Work
    _entry("recall_ratio",
           "Share of the matches that was found in the last minute, as estimated; none if not "
           "known.", "recent.recall"),
    _entry("recall_low_ratio",
           "Lower bound of that share; with the upper one it is right in 95 of 100 cases.",
           recall_bound(0)),
    _entry("recall_high_ratio", "Upper bound of that share.", recall_bound(1)),
    _entry("probed_ratio", "Share of the window of an input that was probed in the last minute.",
           "recent.inputs.fraction"),
    _entry("comparisons_total",
           "Where CPU is limited, comparisons with the window of an input (of many streams: "
           "tuples that probe), made or skipped.", comparisons, "input", "outcome"),
    _entry("planned_comparisons_total", "Comparisons that were chosen, where CPU is limited.",
           "total.planned"),
    _entry("looked_at_candidates_total",
           "Rows and candidates looked at for the comparisons made; an index makes them fewer.",
           "total.looked_at"),
    _entry("operation_cost_seconds", "CPU time of one operation, as measured.",
           by_name("operation", "costs_us", scale=1e-6), "operation"),
    _entry("cpu_seconds_total", "CPU time of the join itself.", in_seconds("cpu_us")),
    _entry("cpu_budget_seconds_total", "CPU time that the join was allowed, where that is limited.",
           in_seconds("budget_us")),
    Family("streamjoin_batch_duration_seconds", "histogram", "How long batches took.", durations),
    _entry("last_batch_duration_seconds", "How long the last batch took.", "last.seconds"),
    _entry("last_batch_timestamp_seconds", "When the last batch ended, in seconds since 1970.",
           single(lambda seen: seen.last.at + seen.last.seconds)),
    _entry("behind_seconds", "By how much the newest row is older than the end of the last batch.",
           "last.behind"),
    Family("streamjoin_result_age_seconds", "summary",
           "Age of the oldest row in a result, in time of the streams, in the last minute.", ages),
    _entry("busiest_shard_ratio", "Share of the work of the last batch that the busiest shard did.",
           single(lambda seen: seen.last.busiest / seen.last.work if seen.last.work else None)),
    _entry("selective_shards", "Shards that probed their windows in part in the last batch.",
           "last.selective"),
    _entry("lagging_shards",
           "Shards in which to receive rows took more than the budget of CPU in the last batch.",
           "last.lagging"),
    _entry("decisions_total", "Changes of what the join does; the log and the records say which.",
           "decisions"),
    # State
    _entry("state_rows", "Rows that are remembered.", "last.state_rows"),
    _entry("state_bytes", "Size of what is remembered.", "last.state_bytes"),
    _entry("input_state_rows", "Rows of an input that are remembered.", "last.inputs.state_rows"),
    _entry("input_state_bytes", "Size of what is remembered of an input.",
           "last.inputs.state_bytes"),
    _entry("held_rows", "Rows that wait for their place in the order of all rows.",
           "last.held_rows"),
    _entry("hot_keys", "Keys whose rows are spread over several shards.", "last.hot_keys"),
    # Basic windows
    _entry("basic_window_probed_ratio",
           "Share of a basic window, 00 the newest, that was probed in the last batch.",
           by_basic_window(lambda strip: strip.fractions), "input", "basic_window"),
    _entry("basic_window_match_density",
           "Matches for each comparison with a basic window, were all made.",
           by_basic_window(lambda strip: strip.density), "input", "basic_window"),
    _entry("basic_window_results_per_cpu_second",
           "Results for the CPU time that probing a basic window takes: the most come first.",
           by_basic_window(lambda strip: tuple(1e6 * value for value in strip.priority)),
           "input", "basic_window"),
    _entry("allowance_tuples_per_second",
           "Of many streams on a budget, tuples that may probe, by half-way join.",
           by_name("halfway", "allowances"), "halfway"),
    # Tables
    _entry("cache_hits_total", "Rows that the cache of a table answered.", "total.table.hits"),
    _entry("looked_up_rows_total", "Rows looked up in a table.", "total.table.looked_up"),
    _entry("partition_loads_total", "Partitions of a table that were loaded.", "total.table.loads"),
    _entry("put_off_rows_total", "Rows that were put off, for the CPU.", "total.table.shed"),
    _entry("reloaded_rows_total", "Rows put off that came again.", "total.table.reloaded"),
    _entry("cached_rows", "Rows of a table in its cache.", "total.table.cached_rows"),
    _entry("waiting_rows", "Rows that wait in memory for the table.", "total.table.waiting_rows"),
    _entry("spilled_rows", "Rows that are put off now.", "total.table.spilled_rows"),
)  # fmt: skip
