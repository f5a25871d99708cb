"""Every metric: its name, its type, what it means, and where its numbers come from.

Names keep to Prometheus's rules: base units at the end, counters end in ``_total``. A counter is
over all batches since the process began, a share or a quantile over those of the last minute, a
size is that of the last batch.
"""

from typing import Final

from streamjoin.metrics.prometheus import family as of
from streamjoin.metrics.prometheus.family import Family, Samples
from streamjoin.metrics.prometheus.seen import JoinSeen, QuerySeen


def _counter(name: str, text: str, samples: Samples[JoinSeen], *labels: str) -> Family[JoinSeen]:
    return Family(f"streamjoin_{name}_total", "counter", text, samples, labels)


def _gauge(name: str, text: str, samples: Samples[JoinSeen], *labels: str) -> Family[JoinSeen]:
    return Family(f"streamjoin_{name}", "gauge", text, samples, labels)


QUERY_FAMILIES: Final[tuple[Family[QuerySeen], ...]] = (
    Family(
        "streamjoin_query_running",
        "gauge",
        "1 while the query runs, 0 for a while after it has ended.",
        of.single(lambda seen: float(seen.running)),
    ),
    Family(
        "streamjoin_query_starts_total",
        "counter",
        "Starts of the query.",
        of.single(lambda seen: seen.starts),
    ),
    Family(
        "streamjoin_query_failures_total",
        "counter",
        "Ends of the query by an error.",
        of.single(lambda seen: seen.failures),
    ),
    Family(
        "streamjoin_query_trigger_seconds",
        "gauge",
        "Time from the start of a batch to that of the next, where it is known: of pipeline files.",
        of.single(lambda seen: seen.trigger),
    ),
)

_ROWS = (
    _gauge(
        "join_info",
        "Always 1; its labels say what the join is.",
        of.info, "kind", "algorithm",
    ),
    _counter(
        "rows",
        "Rows that came, whatever became of them.",
        of.of_inputs("total", "rows"), "input",
    ),
    _counter(
        "left_out_rows",
        "Rows left out, each by one cause: late; idle_late (an idle stream was given up on); null "
        "(no key or no time); ahead (a time too far ahead of the clock); dropped (not let in, for "
        "the CPU); cut (forgotten early, for the memory).",
        of.left_out, "input", "cause",
    ),
    _counter(
        "alone_rows",
        "Rows that came out without a partner.",
        of.of_inputs("total", "alone"), "input",
    ),
    _counter("results", "Matches found.", of.plain("total", "pairs")),
    _counter("rows_out", "Rows that came out.", of.plain("total", "rows_out")),
    _counter(
        "stale_results",
        "Matches withheld because a row in them is older than asked for.",
        of.plain("total", "stale"),
    ),
    _counter(
        "missed_results",
        "Matches not found because of a budget, as estimated.",
        of.plain("total", "missed"),
    ),
)  # fmt: skip

_WORK = (
    _gauge(
        "recall_ratio",
        "Share of the matches that was found in the last minute, as estimated; none if not known.",
        of.plain("recent", "recall"),
    ),
    _gauge(
        "recall_low_ratio",
        "Lower bound of that share; with the upper one it is right in 95 of 100 cases.",
        of.single(lambda seen: _bound(seen, 0)),
    ),
    _gauge(
        "recall_high_ratio",
        "Upper bound of that share.",
        of.single(lambda seen: _bound(seen, 1)),
    ),
    _gauge(
        "probed_ratio",
        "Share of the window of an input that was probed in the last minute.",
        of.of_inputs("recent", "fraction"), "input",
    ),
    _counter(
        "comparisons",
        "Where CPU is limited, comparisons with the window of an input (of many streams: tuples "
        "that probe), made or skipped.",
        of.comparisons, "input", "outcome",
    ),
    _counter(
        "planned_comparisons",
        "Comparisons that were chosen, where CPU is limited.",
        of.plain("total", "planned"),
    ),
    _counter(
        "looked_at_candidates",
        "Rows and candidates looked at for the comparisons made; an index makes them fewer.",
        of.plain("total", "looked_at"),
    ),
    _gauge(
        "operation_cost_seconds",
        "CPU time of one operation, as measured.",
        of.by_name("operation", "costs_us", scale=1e-6), "operation",
    ),
    _counter("cpu_seconds", "CPU time of the join itself.", of.in_seconds("cpu_us")),
    _counter(
        "cpu_budget_seconds",
        "CPU time that the join was allowed, where that is limited.",
        of.in_seconds("budget_us"),
    ),
    Family(
        "streamjoin_batch_duration_seconds", "histogram", "How long batches took.", of.durations
    ),
    _gauge(
        "last_batch_duration_seconds", "How long the last batch took.", of.plain("last", "seconds")
    ),
    _gauge(
        "last_batch_timestamp_seconds",
        "When the last batch ended, in seconds since 1970.",
        of.single(lambda seen: seen.last.at + seen.last.seconds),
    ),
    _gauge(
        "behind_seconds",
        "By how much the newest row is older than the end of the last batch.",
        of.plain("last", "behind"),
    ),
    Family(
        "streamjoin_result_age_seconds",
        "summary",
        "Age of the oldest row in a result, in time of the streams, in the last minute.",
        of.ages,
    ),
    _gauge(
        "busiest_shard_ratio",
        "Share of the work of the last batch that the busiest shard did.",
        of.single(lambda seen: seen.last.busiest / seen.last.work if seen.last.work else None),
    ),
    _gauge(
        "selective_shards",
        "Shards that probed their windows in part in the last batch.",
        of.plain("last", "selective"),
    ),
    _gauge(
        "lagging_shards",
        "Shards in which to receive rows took more than the budget of CPU in the last batch.",
        of.plain("last", "lagging"),
    ),
    _counter(
        "decisions",
        "Changes of what the join does; the log and the records say which.",
        of.single(lambda seen: seen.decisions),
    ),
)  # fmt: skip

_STATE = (
    _gauge("state_rows", "Rows that are remembered.", of.plain("last", "state_rows")),
    _gauge("state_bytes", "Size of what is remembered.", of.plain("last", "state_bytes")),
    _gauge(
        "input_state_rows",
        "Rows of an input that are remembered.",
        of.of_inputs("last", "state_rows"), "input",
    ),
    _gauge(
        "input_state_bytes",
        "Size of what is remembered of an input.",
        of.of_inputs("last", "state_bytes"), "input",
    ),
    _gauge(
        "held_rows",
        "Rows that wait for their place in the order of all rows.",
        of.plain("last", "held_rows"),
    ),
    _gauge(
        "hot_keys",
        "Keys whose rows are spread over several shards.",
        of.plain("last", "hot_keys"),
    ),
)  # fmt: skip

_BASIC_WINDOWS = (
    _gauge(
        "basic_window_probed_ratio",
        "Share of a basic window, 00 the newest, that was probed in the last batch.",
        of.of_basic_windows(lambda strip: strip.fractions), "input", "basic_window",
    ),
    _gauge(
        "basic_window_match_density",
        "Matches for each comparison with a basic window, were all made.",
        of.of_basic_windows(lambda strip: strip.density), "input", "basic_window",
    ),
    _gauge(
        "basic_window_results_per_cpu_second",
        "Results for the CPU time that probing a basic window takes: the most come first.",
        of.of_basic_windows(lambda strip: tuple(1e6 * value for value in strip.priority)),
        "input", "basic_window",
    ),
    _gauge(
        "allowance_tuples_per_second",
        "Of many streams on a budget, tuples that may probe, by half-way join.",
        of.by_name("halfway", "allowances"), "halfway",
    ),
)  # fmt: skip

_TABLE = (
    _counter("cache_hits", "Rows that the cache of a table answered.", of.of_table("hits")),
    _counter("looked_up_rows", "Rows looked up in a table.", of.of_table("looked_up")),
    _counter("partition_loads", "Partitions of a table that were loaded.", of.of_table("loads")),
    _counter("put_off_rows", "Rows that were put off, for the CPU.", of.of_table("shed")),
    _counter("reloaded_rows", "Rows put off that came again.", of.of_table("reloaded")),
    _gauge("cached_rows", "Rows of a table in its cache.", of.of_table("cached_rows")),
    _gauge("waiting_rows", "Rows that wait in memory for the table.", of.of_table("waiting_rows")),
    _gauge("spilled_rows", "Rows that are put off now.", of.of_table("spilled_rows")),
)


def _bound(seen: JoinSeen, which: int) -> float | None:
    """A bound of the recall; of many streams there is none."""
    interval = seen.recent.recall_interval if seen.recent.has_interval else None
    return None if interval is None else interval[which]


JOIN_FAMILIES: Final[tuple[Family[JoinSeen], ...]] = (
    *_ROWS, *_WORK, *_STATE, *_BASIC_WINDOWS, *_TABLE,
)  # fmt: skip
