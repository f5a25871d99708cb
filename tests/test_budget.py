"""Budgets: what they mean, and what is refused in which words."""

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

import streamjoin as sj
from streamjoin import budget as budget_module
from streamjoin.errors import ConfigError
from streamjoin.joins.routing import ByKey
from streamjoin.joins.table.settings import TableJoin
from streamjoin.joins.window.arguments import resolve
from streamjoin.local import LocalJoin
from streamjoin.shedding.limits import PlanLimits, Shedding

INF, NAN = float("inf"), float("nan")
CPU = (
    "; allowed: a share of the cores above 0 and up to 1, or CPU time for each batch such as"
    ' "200 ms"'
)
RATE = "; allowed: a positive number of tuples per second"
MEMORY = '; allowed: a positive size such as "64 MB", or rows(n) for a number of tuples'
DURATION = '; allowed: a duration such as "30 seconds", "10 minutes" or "1 hour 30 minutes"'

WRONG: list[tuple[dict[str, Any], str]] = [
    ({}, "budget: got no limit; allowed: cpu, rate or memory (or no budget at all)"),
    (
        {"cpu": 0.5, "rate": 10},
        "budget: got cpu=0.5 and rate=10; allowed: one of them",
    ),
    *(
        ({"cpu": cpu}, f"budget: got cpu={cpu!r}{CPU}")
        for cpu in (0, 0.0, -0.5, 1.01, 8, NAN, INF, -INF, True, False, "0 s", "-1 ms", "0.1 us")
    ),
    ({"cpu": "soon"}, f"budget: got 'soon'{DURATION}"),
    ({"cpu": [0.5]}, f"budget: got [0.5]{DURATION}"),
    *(
        ({"rate": rate}, f"budget: got rate={rate!r}{RATE}")
        for rate in (0, -1, NAN, INF, -INF, True, "5", "5/s", [5], 1j)
    ),
    *(
        ({"memory": memory}, f"budget: got memory={memory!r}{MEMORY}")
        for memory in (
            "0 MB", "-1 MB", "0.1 B", "64", "MB", "", "64 XB", "nan MB", "inf MB", "1e3 MB",
            64, 0.5, True, b"64 MB", [1],
        )
    ),
]  # fmt: skip


@pytest.mark.parametrize(("said", "sentence"), WRONG, ids=[str(w[0]) for w in WRONG])
def test_bad_budgets(said: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigError) as refused:
        sj.Budget(**said)
    assert str(refused.value) == sentence


@pytest.mark.parametrize("n", [0, -5, 1.5, True, "7"])
def test_bad_numbers_of_rows(n: Any) -> None:
    with pytest.raises(
        ConfigError, match=r"^window: got rows\(.*\); allowed: rows\(n\), n a whole"
    ):
        sj.Budget(memory=sj.rows(n))


@pytest.mark.parametrize(
    ("memory", "limit"),
    [
        ("64 MB", 64_000_000), ("64MB", 64_000_000), (" 1.5 gb ", 1_500_000_000), ("1 KiB", 1024),
        ("2 GiB", 2 << 30), ("7 b", 7), (sj.rows(12), 12), (None, None),
    ],
)  # fmt: skip
def test_memory_as_a_number(memory: Any, limit: int | None) -> None:
    assert sj.Budget(rate=1, memory=memory).memory_limit == limit


def test_cpu_as_a_share_or_as_time() -> None:
    share, time = sj.Budget(cpu=1), sj.Budget(cpu=timedelta(milliseconds=3))
    assert (share.cpu_share, share.cpu_us_per_batch) == (1.0, None)
    assert (time.cpu_share, time.cpu_us_per_batch) == (None, 3000)
    assert sj.Budget(cpu="200 ms").describe() == "200 milliseconds of CPU time a batch"
    both = sj.Budget(rate=1500.5, memory=sj.rows(100_000))
    assert both.describe() == "1,500.5 tuples/s and 100,000 remembered rows"


SCHEMA = pa.schema({"k": pa.int64(), "t": pa.timestamp("us"), "x": pa.float64()})
GOOD: dict[str, Any] = {"on": "k", "time": "t", "window": "10 s"}
RATE_BUDGET, MEMORY_BUDGET = sj.Budget(rate=5), sj.Budget(memory="1 MB")
BOTH = sj.Budget(rate=5, memory="1 MB")
UNKNOWN = (
    "; allowed: only with 'inner' (of a row without a partner it is not known whether the partner"
    " was left out)"
)
BY_RATE = (
    "allowed with a budget of cpu or rate: best, equal, rate, inverse-rate, window, inverse-wi"
)
BY_MEMORY = "allowed with a budget of memory: best, slower, faster, rate, inverse-rate, equal"
BY_BOTH = (
    "allowed with a budget of cpu or rate and memory: best, left/left, left/right, right/left,"
    " right/right, equal"
)

WRONG_JOINS: list[tuple[dict[str, Any], str]] = [
    ({"budget": 5}, "budget: got 5; allowed: a Budget such as Budget(cpu=0.5)"),
    ({"budget": "64 MB"}, "budget: got '64 MB'; allowed: a Budget such as Budget(cpu=0.5)"),
    ({"budget": {"rate": 5}}, "budget: got {'rate': 5}; allowed: a Budget such as Budget(cpu=0.5)"),
    *(
        (
            {"budget": RATE_BUDGET, "how": how},
            f"budget: got 5 tuples/s with how={how!r}{UNKNOWN}",
        )
        for how in ("left", "right", "full", "semi", "anti", "asof")
    ),
    (
        {"budget": MEMORY_BUDGET, "window": (sj.rows(5), "1 s")},
        "budget: got 1 MB of state with a window of rows; allowed: windows of time",
    ),
    ({"budget": RATE_BUDGET, "shed": "delay"}, "shed: got 'delay'; allowed: 'selective', 'drop', "),
    ({"budget": RATE_BUDGET, "shed": ["lag"]}, "shed: got ['lag']; allowed: 'selective', 'drop', "),
    (
        {"budget": RATE_BUDGET, "shed": "selective"},
        "shed: got 'selective' with 5 tuples/s; allowed: 'drop' (only cpu is selective)",
    ),
    ({"budget": RATE_BUDGET, "split": "slower"}, f"split: got 'slower'; {BY_RATE}"),
    (
        {"budget": sj.Budget(cpu=1), "split": "equal"},
        "split: got 'equal'; allowed where comparisons are chosen: best, ra, ra+tc, ra+jd, ",
    ),
    (
        {"budget": sj.Budget(cpu=1), "split": "fair", "shed": "drop"},
        f"split: got 'fair'; {BY_RATE}",
    ),
    ({"budget": MEMORY_BUDGET, "split": "window"}, f"split: got 'window'; {BY_MEMORY}"),
    ({"budget": MEMORY_BUDGET, "split": ("equal", "rate")}, "split: got ('equal', 'rate'); allow"),
    ({"budget": BOTH, "split": "slower"}, f"split: got 'slower'; {BY_BOTH}"),
    ({"budget": BOTH, "split": None}, f"split: got None; {BY_BOTH}"),
    ({"algorithm": "merge"}, "algorithm: got 'merge'; allowed: auto, hash, nested, batch"),
    ({"algorithm": ("hash", "x")}, "algorithm: got 'x'; allowed: auto, hash, nested, batch"),
    ({"algorithm": None}, "algorithm: got None; allowed: one str or a pair (left, right)"),
    (
        {"algorithm": ("hash",)},
        "algorithm: got ('hash',); allowed: one str or a pair (left, right)",
    ),
    (
        {"algorithm": "hash", "where": "abs(left.x - right.x) <= 1"},
        "algorithm: got 'hash' with a band in `where`; allowed: 'auto' or 'batch'",
    ),
    ({"invalidation": "eager"}, "invalidation: got 'eager'; allowed: active, lazy"),
    ({"invalidation": None}, "invalidation: got None; allowed: active, lazy"),
]


@pytest.mark.parametrize(
    ("said", "sentence"), WRONG_JOINS, ids=[str(n) for n in range(len(WRONG_JOINS))]
)
def test_budgets_and_methods_that_do_not_go_with_a_join(
    said: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve((SCHEMA, SCHEMA), **{**GOOD, **said})
    assert str(refused.value).startswith(sentence)
    assert "\n" not in str(refused.value)


def test_more_memory_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget_module, "machine_bytes", lambda: 8_000_000_000)
    LocalJoin(SCHEMA, SCHEMA, **GOOD, budget=sj.Budget(memory="8 GB"))
    LocalJoin(SCHEMA, SCHEMA, **GOOD, budget=sj.Budget(memory=sj.rows(10**12)))
    with pytest.raises(ConfigError) as refused:
        LocalJoin(SCHEMA, SCHEMA, **GOOD, budget=sj.Budget(memory="9 GB"))
    sentence = "budget: got memory='9 GB'; allowed: at most what this machine has, 8 GB"
    assert str(refused.value) == sentence


@pytest.mark.parametrize(("shards", "share"), [(1, 0.25), (8, 0.25), (16, 0.125)])
def test_every_join_divides_a_share_of_the_cores_alike(shards: int, share: float) -> None:
    """A shard has at most its share of one core: with more cores than shards the limit binds."""
    limits: dict[str, Any] = {"cpu_us_per_second": 250_000.0}
    schema = pa.schema({})
    table = TableJoin(schema, schema, ((), ()), (), "inner", "auto", 100, work_share=0.25)
    pair = Shedding(**limits).over_shards(shards, 8, copies=(1, 1))
    assert pair.cpu_us_per_second == share * 1e6
    assert PlanLimits(**limits).over_shards(shards, 8).cpu_us_per_second == share * 1e6
    assert table.over_shards(ByKey(shards), 8).work_share == share


@pytest.mark.parametrize("said", [{"split": "equal"}, {"split": "fair"}, {"shed": "delay"}])
def test_what_only_a_budget_can_use(said: dict[str, Any]) -> None:
    with pytest.raises(
        ConfigError, match=r"^(split|shed): got '\w+' without a budget; allowed: only with one$"
    ):
        resolve((SCHEMA, SCHEMA), **GOOD, **said)
