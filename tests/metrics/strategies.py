"""Draws metrics of batches, with and without each of their parts."""

from typing import Any

from hypothesis import strategies as st

from streamjoin.metrics import Ages, BasicWindows, InputMetrics, JoinMetrics, TableMetrics

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
COUNTS = st.integers(0, 2**40)
SHARES = st.floats(0, 1e9, allow_nan=False)


def counts(*names: str) -> dict[str, st.SearchStrategy[Any]]:
    return dict.fromkeys(names, COUNTS)


def ages() -> st.SearchStrategy[Ages]:
    return st.builds(Ages, st.dictionaries(st.integers(0, 255), st.integers(1, 1000)), SHARES)


def inputs(name: str) -> st.SearchStrategy[InputMetrics]:
    """Late rows, some of them for an idle time-out."""
    fields = counts("rows", "null", "dropped", "cut", "alone", "compared", "skipped", "state_rows")
    late = (
        st.tuples(COUNTS, COUNTS).map(sorted).map(lambda two: {"idle_late": two[0], "late": two[1]})
    )
    return st.builds(lambda late, **rest: InputMetrics(name, **late, **rest), late, **fields)


@st.composite
def strips(draw: st.DrawFn) -> BasicWindows:
    n = draw(st.integers(0, 4))
    few = st.lists(st.integers(0, 9999).map(float), min_size=n, max_size=n).map(tuple)
    return BasicWindows(draw(st.floats(0.1, 60)), draw(few), draw(few), draw(few), draw(few))


def batches(names: tuple[str, ...] = ("left", "right")) -> st.SearchStrategy[JoinMetrics]:
    """Batches of one join, whose inputs are the same in all."""
    return st.builds(
        JoinMetrics,
        name=st.just("join"),
        kind=st.sampled_from(["window", "plan", "table"]),
        batch=st.integers(0, 10**6),
        at=st.floats(0, 2e9),
        seconds=st.floats(0, 1000),
        inputs=st.tuples(*map(inputs, names)),
        missed=st.one_of(COUNTS, SHARES),
        missed_variance=SHARES,
        unmet=SHARES,
        unmet_weight=SHARES,
        costs_us=st.dictionaries(NAMES, SHARES, max_size=3),
        behind=st.none() | st.floats(-10, 1e6),
        ages=st.none() | ages(),
        windows=st.dictionaries(NAMES, strips(), max_size=2),
        allowances=st.dictionaries(NAMES, SHARES, max_size=3),
        algorithm=NAMES,
        driver=NAMES,
        table=st.none() | st.builds(TableMetrics, *[COUNTS] * 8),
        **counts(
            "pairs", "rows_out", "stale", "state_rows", "state_bytes", "held_rows", "work",
            "busiest", "selective", "lagging", "cpu_us", "budget_us", "planned", "looked_at",
        ),
    )  # fmt: skip
